import NIOCore

/// The bounds of the compliance check.
enum ProbeLimits {
  /// The time for one connection's answers, and the maximum length of an answer in bytes, which is not read further.
  static let wait: TimeAmount = .seconds(10)
  static let answerBytesMax = 65_536
}
