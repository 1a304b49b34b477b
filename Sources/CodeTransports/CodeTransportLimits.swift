/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum CodeTransportLimits {
  /// The maximum number of codes and links that are being delivered, in memory; further ones are dropped and logged.
  static let outgoingCodesMax = 1_000
  /// The waits before each attempt to deliver a code. Some mail servers defer unknown senders at first (greylisting);
  /// after more time a user has requested another code.
  static let outgoingCodeWaits: [Duration] = [.zero, .seconds(3), .seconds(15), .seconds(60)]
  /// The maximum length of a mail template in bytes. A larger file is refused.
  static let mailTemplateBytesMax = 65_536
}
