/// What asking others is bounded by.
public enum WebLimits {
  /// A request without a time of its own: other servers are slow, and nobody waits longer for them.
  public static let timeout: Duration = .seconds(10)
  /// To find the host and connect to it, TLS included: who takes longer is not there.
  public static let connectTimeout: Duration = .seconds(5)
  /// Bytes of an answer, where a request does not say: they are read for a few fields.
  public static let answerBytesMax = 65_536
  /// Bytes of an answer's header lines in all; the rest is not read.
  public static let headerBytesMax = 16_384
  /// Requests that wait or run; the next fails at once (`overloaded`).
  public static let requestsMax = 4_096
  /// Connections in all, and to one host; requests wait for one.
  public static let connectionsMax = 128
  public static let connectionsPerHostMax = 16
  /// To hand over a mail: mail servers think while they look for what is wrong with it.
  public static let mailTimeout: Duration = .seconds(30)
  /// Mails that are handed over at the same time, each on a thread; others wait.
  public static let mailsAtOnce = 4
  /// Bytes of a URL.
  public static let urlBytesMax = 4_096
}
