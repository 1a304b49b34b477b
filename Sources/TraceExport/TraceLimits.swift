/// The bounds of this target, each with its reason and the behaviour when it is reached.
public enum TraceLimits {
  /// The spans that wait for the collector, some 4 MB. At the bound a span is dropped, and counted.
  public static let queuedMax = 8_192
  /// The spans of one request, as the SDKs of OpenTelemetry have it: a body of about 256 KB. The others follow.
  public static let batchMax = 512
  /// The time between two looks at the queue. It is what an operator waits for a trace.
  static let interval: Duration = .seconds(1)
  /// The number of times that a batch is sent that the collector does not take; then its spans are lost, and counted.
  static let attemptsMax = 4
  /// The wait before the second attempt, doubled with each, and the longest that a collector may ask for.
  static let retryWait: Duration = .seconds(1)
  static let retryWaitMax: Duration = .seconds(30)
  /// The time of a request, and of the one that is made while the server stops.
  static let timeout: Duration = .seconds(10)
  static let stopTimeout: Duration = .seconds(2)
  /// The attributes, events and links of a span; further ones are left out.
  static let attributesMax = 32
  static let eventsMax = 8
  static let linksMax = 8
  /// The characters of a text; the rest is cut off.
  static let textMax = 256
  /// The bytes of a caller's `tracestate`, as many as W3C Trace Context 3.3.1.5 wants passed on; a longer one is not.
  static let stateBytesMax = 512
}
