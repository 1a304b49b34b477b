import NIOCore

/// The bounds of streams to and from other servers beside those of `FederationLimits`. Each states its number, its reason
/// and the behaviour at the bound.
enum FederationStreamLimits {
  /// The number of servers of a domain that one attempt to open a stream tries, if the first ones fail.
  static let serversTriedMax = 4
  /// The number of remembered verdicts on dialback keys, and their lifetime: a stream may send its key repeatedly. At the
  /// bound the oldest is forgotten.
  static let verdictsMax = 1_024
  static let verdictKept: TimeAmount = .minutes(5)
  /// The number of pairs of a domain and a network for which the last refusal of a stream is remembered. At the bound the network
  /// with the most forgets its oldest.
  static let refusalsMax = 1_000
  /// The lines of the log about refused streams in a minute, of one network and of all, some 50 MB in a day of attacks; further ones have
  /// the level `debug`. A server that is refused tries again after seconds, and then less and less often.
  static let refusalLogInterval: Duration = .seconds(60)
  static let refusalLinesOfNetworkMax = 5
  static let refusalLinesMax = 100
  /// The stanzas that wait for the other server's acknowledgement (XEP-0198). At the bound it acknowledges nothing, and
  /// the stream ends with `policy-violation`.
  static let unacknowledgedMax = 4_096
  /// The time without writes after which a keep-alive is sent: networks drop mappings after some minutes.
  static let keepAlive: TimeAmount = .seconds(120)
  /// The time without reads or writes after which the buffers of TLS are released: most streams are idle, and a conversation
  /// that continues within this time keeps them.
  static let buffersKept: TimeAmount = .seconds(5)
  /// The time in which a request for an acknowledgement is answered; then the connection counts as lost.
  static let acknowledgement: TimeAmount = .seconds(60)
}
