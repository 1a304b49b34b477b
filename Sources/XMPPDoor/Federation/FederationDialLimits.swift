import NIOCore

/// The bounds of finding and connecting servers. Each states its number, its reason and what happens at it.
enum FederationDialLimits {
  /// The servers of a domain that are tried, and the addresses of each; the others are passed over. Domains have one or
  /// two, and a domain must not make this server knock at many doors.
  static let serversMax = 8
  static let addressesMax = 4
  /// The time to a connection, look-ups included; then `timedOut`, and what is not connected is closed.
  static let connecting: TimeAmount = .seconds(30)
  /// The times of RFC 8305 8: for which IPv4 waits for IPv6 to be known; from one attempt to the next; the least of
  /// that, which is kept after a failure, too; the most, which a server of a lower priority waits.
  static let resolutionDelay: TimeAmount = .milliseconds(50)
  static let attemptDelay: TimeAmount = .milliseconds(250)
  static let attemptDelayMin: TimeAmount = .milliseconds(10)
  static let attemptDelayMax: TimeAmount = .seconds(2)
  /// The time in which the DNS has to tell the addresses and certificates of a server, if there is another to be tried.
  /// It is longer than a name server's first two seconds, so that one lost datagram does not cost a server its turn.
  static let answerDelayMax: TimeAmount = .seconds(3)
  /// The port of servers without SRV records (RFC 6120 14.7).
  static let port = 5269
}
