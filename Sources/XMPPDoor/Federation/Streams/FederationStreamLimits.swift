import NIOCore

/// The bounds of streams to and from other servers beside those of `FederationLimits`. Each states its number, its reason
/// and what happens at it.
enum FederationStreamLimits {
  /// The servers of a domain that one attempt to open a stream negotiates with, if the first ones are of no use.
  static let serversTriedMax = 4
  /// The verdicts on dialback keys that are remembered, and for how long: a stream may send its key again and again. At
  /// the bound the oldest is forgotten.
  static let verdictsMax = 1_024
  static let verdictKept: TimeAmount = .minutes(5)
  /// The domains of which is remembered why their last stream was refused, for each network that it came from; at the bound the network
  /// with the most gives up its oldest.
  static let refusalsMax = 1_000
  /// The lines of the log about refused streams in a minute, of one network and of all, some 50 MB in a day of attacks; further ones have
  /// the level `debug`. A server that is refused tries again after seconds, and then less and less often.
  static let refusalLogInterval: Duration = .seconds(60)
  static let refusalLinesOfNetworkMax = 5
  static let refusalLinesMax = 100
  /// The stanzas that wait for the other server's acknowledgement (XEP-0198). At the bound it acknowledges nothing, and
  /// the stream ends with `policy-violation`.
  static let unacknowledgedMax = 4_096
  /// The time without anything written after which a sign of life is sent: networks drop mappings after some minutes.
  static let keepAlive: TimeAmount = .seconds(120)
  /// The time without anything read or written after which the buffers of TLS are released: most streams are idle, and a
  /// conversation that goes on soon has them still.
  static let buffersKept: TimeAmount = .seconds(5)
  /// The time in which a request for an acknowledgement is answered; then the connection counts as lost.
  static let acknowledgement: TimeAmount = .seconds(60)
}
