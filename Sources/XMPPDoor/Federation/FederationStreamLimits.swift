import Glibc
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
  /// The milliseconds in which the kernel of the other machine acknowledges what was sent; then the connection is lost.
  /// With `keepAlive`, a network that swallows everything is noticed after three minutes at the latest, where the kernel
  /// would go on for a quarter of an hour.
  ///
  /// Linux also counts the time for which the receive window stays closed, although the other machine answers its probes. So a server
  /// that reads less than some 100 to 250 kB in this time while more waits for it loses its stream as well; less than half a
  /// megabyte where its buffer has grown. It is accepted here, and not for components (`DoorLimits.componentKeepAlive`), since a
  /// longer time would hardly keep such a stream: it ends when rows of the outbox have no proof (`FederationLimits.proofTime`), or a
  /// request for acknowledgement no answer (`acknowledgement`), and these stand behind what is not read. What neither concerns is
  /// stored nowhere, and is of no use to anybody after a minute: requests have failed, and presence has changed. Servers that read
  /// at a pace by intention take 30 kB a second and more (Prosody, ejabberd). Rows are sent again by the next stream.
  static let transmission = 60_000
  /// The time without anything read or written after which the buffers of TLS are released: most streams are idle, and a
  /// conversation that goes on soon has them still.
  static let buffersKept: TimeAmount = .seconds(5)
  /// The time in which a request for an acknowledgement is answered; then the connection counts as lost.
  static let acknowledgement: TimeAmount = .seconds(60)
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
  /// The time after which a connection is lost whose data is not acknowledged (RFC 5482), in milliseconds.
  static var userTimeout: Self { .init(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)) }
}
