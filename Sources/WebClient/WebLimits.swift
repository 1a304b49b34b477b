/// The bounds of requests to other servers.
public enum WebLimits {
  /// The time of a request without one of its own: other servers are slow, and no caller waits longer for them.
  public static let timeout: Duration = .seconds(10)
  /// The time to find the host and connect to it, TLS included; a slower one counts as unreachable.
  public static let connectTimeout: Duration = .seconds(5)
  /// The bytes of an answer, if a request does not say: answers are read for a few fields.
  public static let answerBytesMax = 65_536
  /// The bytes of an answer's header lines in all; the rest is not read.
  public static let headerBytesMax = 16_384
  /// The requests that wait or run; the next fails at once (`overloaded`).
  public static let requestsMax = 4_096
  /// The connections in all, and to one host; requests wait for one.
  public static let connectionsMax = 128
  public static let connectionsPerHostMax = 16
  /// The time to send a mail: mail servers take long to check it.
  public static let mailTimeout: Duration = .seconds(30)
  /// The mails that are sent at the same time, each on a thread; others wait.
  public static let mailsAtOnce = 4
  /// The bytes of a URL.
  public static let urlBytesMax = 4_096
}
