import NIOCore

/// The bounds of the compliance check.
enum ProbeLimits {
  /// How long the compliance check waits for one connection's answers; an answer longer than this is not read on.
  static let wait: TimeAmount = .seconds(10)
  static let answerBytesMax = 65_536
}
