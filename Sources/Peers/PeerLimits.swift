import Glibc
package import NIOCore

/// The bounds of what finds, connects and judges other servers. Each states its number, its reason and what happens at it.
package enum PeerLimits {
  // Finding and connecting.
  /// The servers of a domain that are tried, and the addresses of each; the others are passed over. Domains have one or
  /// two, and a domain must not make this server knock at many doors.
  package static let serversMax = 8
  package static let addressesMax = 4
  /// The time to a connection, look-ups included; then `timedOut`, and what is not connected is closed.
  package static let connecting: TimeAmount = .seconds(30)
  /// The times of RFC 8305 8: for which IPv4 waits for IPv6 to be known; from one attempt to the next; the least of
  /// that, which is kept after a failure, too; the most, which a server of a lower priority waits.
  package static let resolutionDelay: TimeAmount = .milliseconds(50)
  package static let attemptDelay: TimeAmount = .milliseconds(250)
  package static let attemptDelayMin: TimeAmount = .milliseconds(10)
  package static let attemptDelayMax: TimeAmount = .seconds(2)
  /// The time in which the DNS must answer with the addresses and certificates of a server, if there is another to be tried.
  /// It is longer than a name server's first two seconds, so that one lost datagram does not cost a server its attempt.
  package static let answerDelayMax: TimeAmount = .seconds(3)
  /// The port of servers without SRV records (RFC 6120 14.7).
  package static let port = 5269
  /// The milliseconds in which the kernel of the other machine acknowledges what was sent; then the connection is lost.
  /// With `FederationStreamLimits.keepAlive`, a network that swallows everything is noticed after three minutes at the latest, where the
  /// kernel would go on for a quarter of an hour.
  ///
  /// Linux also counts the time for which the receive window stays closed, although the other machine answers its probes. So a server
  /// that reads less than some 100 to 250 kB in this time while more waits for it loses its stream as well; less than half a
  /// megabyte where its buffer has grown. It is accepted here, and not for components (`DoorLimits.componentKeepAlive`), since a
  /// longer time would hardly keep such a stream: it ends when rows of the outbox have no proof (`FederationLimits.proofTime`), or a
  /// request for acknowledgement no answer (`FederationStreamLimits.acknowledgement`), and these stand behind what is not read. What
  /// neither concerns is stored nowhere, and is of no use to anybody after a minute: requests have failed, and presence has changed.
  /// Servers that read at a pace by intention take 30 kB a second and more (Prosody, ejabberd). Rows are sent again by the next stream.
  package static let transmission = 60_000

  // Certificates.
  /// The bytes of the key of a peer's first certificate (SubjectPublicKeyInfo): those of RSA with 8,192 bits and the usual exponent, the
  /// largest that a judgement reads. The peer's signature over the handshake is checked on the event loop, which takes half a
  /// millisecond with such a key, and up to four with the largest ones of TLS. A larger key ends the handshake.
  package static let keyBytesMax = 1_062
  /// The time for which dialback alone does not prove a domain that had a valid certificate: certificates are renewed
  /// in that time. It is stored again after a day.
  package static let certificateRemembered: Duration = .seconds(30 * 86_400)
  package static let certificateNoted: Duration = .seconds(86_400)
  /// The domains whose valid certificates are remembered, some 300 bytes each, of one zone (`DomainZone`) and in all: those with which
  /// users here have to do, which are also stored, and the others. A busy server exchanges stanzas with a few thousand domains; anybody
  /// makes subdomains with a wildcard certificate. At a bound the oldest ones of the zone, or of the one with the most of them, are
  /// forgotten: where dialback is believed at all, it proves these again.
  package static let certificatesKnownMax = 16_384
  package static let certificatesPerKnownZoneMax = 2_048
  package static let certificatesMax = 8_192
  package static let certificatesPerZoneMax = 1_024
  /// The pairs that one commit removes from the store because they are not remembered any more, some milliseconds; a later commit removes
  /// the others.
  package static let certificatesForgottenAtOnce = 256

  // Checks.
  /// The time in which a server that an operator tests has to begin TLS, or to answer a ping.
  package static let testAnswer: Duration = .seconds(20)

  // Block lists.
  /// The block lists that are followed, each of which takes up to 10 MB of memory; more are an error of the configuration.
  package static let blocklistsMax = 8
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
  /// The time after which a connection is lost whose data is not acknowledged (RFC 5482), in milliseconds.
  package static var userTimeout: Self { .init(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)) }
}
