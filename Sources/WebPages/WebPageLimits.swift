/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum WebPageLimits {
  /// The maximum length of a form in bytes: the longest name and password fit percent-encoded. A longer one is answered
  /// with 413.
  static let formBytesMax = 8_192
}
