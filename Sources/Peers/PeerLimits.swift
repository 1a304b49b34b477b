import Glibc
package import NIOCore

/// The bounds on finding, connecting and judging other servers. Each states its number, its reason and the behaviour at the bound.
package enum PeerLimits {
  // Finding and connecting.
  /// The number of servers of a domain that are tried, and of addresses of each; others are skipped. Domains have one or two,
  /// and a domain must not make this server connect to many targets.
  package static let serversMax = 8
  package static let addressesMax = 4
  /// The time to a connection, including look-ups; then it fails as `timedOut`, and pending attempts are closed.
  package static let connecting: TimeAmount = .seconds(30)
  /// The times of RFC 8305 8: the wait of IPv4 for IPv6 addresses; the time between two attempts; its minimum, which also
  /// applies after a failure; its maximum, after which a server of a lower priority is tried.
  package static let resolutionDelay: TimeAmount = .milliseconds(50)
  package static let attemptDelay: TimeAmount = .milliseconds(250)
  package static let attemptDelayMin: TimeAmount = .milliseconds(10)
  package static let attemptDelayMax: TimeAmount = .seconds(2)
  /// The time in which the DNS must answer with the addresses and certificates of a server, if there is another to be tried.
  /// It is longer than a name server's first two seconds, so that one lost datagram does not cost a server its attempt.
  package static let answerDelayMax: TimeAmount = .seconds(3)
  /// The port of servers without SRV records (RFC 6120 14.7).
  package static let port = 5269
  /// The milliseconds in which the kernel of the other machine must acknowledge sent data; then the connection is lost. With
  /// `FederationStreamLimits.keepAlive`, a network that drops everything is noticed after three minutes at the latest, while the
  /// kernel's own limit is a quarter of an hour.
  ///
  /// Linux also counts the time for which the receive window stays closed, although the other machine answers its probes. So a server
  /// that reads less than some 100 to 250 kB in this time while more waits for it also loses its stream; with a grown buffer, less
  /// than half a megabyte. This is accepted here, but not for components (`DoorLimits.componentKeepAlive`), since a longer time would
  /// hardly save such a stream: it ends when outbox rows have no proof (`FederationLimits.proofTime`), or a request for
  /// acknowledgement no answer (`FederationStreamLimits.acknowledgement`), and both are queued behind the unread data. Other stanzas
  /// are not stored, and useless after a minute: requests have failed, and presence has changed. Servers that limit their reading
  /// rate still read 30 kB a second and more (Prosody, ejabberd). Rows are sent again by the next stream.
  package static let transmission = 60_000

  // Certificates.
  /// The maximum bytes of the key of a peer's first certificate (SubjectPublicKeyInfo): those of RSA with 8,192 bits and the usual
  /// exponent, the largest key that judgements support. The peer's signature over the handshake is checked on the event loop, which
  /// takes half a millisecond with such a key, and up to four with the largest ones of TLS. A larger key ends the handshake.
  package static let keyBytesMax = 1_062
  /// The time after a valid certificate for which dialback alone does not prove the domain: certificates are renewed in that
  /// time. The time of the certificate is stored again after a day.
  package static let certificateRemembered: Duration = .seconds(30 * 86_400)
  package static let certificateNoted: Duration = .seconds(86_400)
  /// The number of domains whose valid certificates are remembered, some 300 bytes each, for one zone (`DomainZone`) and in total:
  /// those with which local users communicate, which are also stored, and the others. A busy server exchanges stanzas with a few
  /// thousand domains; anybody can create subdomains with a wildcard certificate. At a bound the oldest domains of the zone, or of the
  /// zone with the most, are forgotten: then dialback proves them again, if it is accepted at all.
  package static let certificatesKnownMax = 16_384
  package static let certificatesPerKnownZoneMax = 2_048
  package static let certificatesMax = 8_192
  package static let certificatesPerZoneMax = 1_024
  /// The number of forgotten pairs that one commit deletes from the store, which takes some milliseconds; a later commit deletes the
  /// others.
  package static let certificatesForgottenAtOnce = 256

  // Checks.
  /// The time in which a server that an operator tests must begin TLS, or answer a ping.
  package static let testAnswer: Duration = .seconds(20)

  // Block lists.
  /// The number of block lists, each of which takes up to 10 MB of memory; more are an error of the configuration.
  package static let blocklistsMax = 8
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
  /// The time after which a connection is lost whose data is not acknowledged (RFC 5482), in milliseconds.
  package static var userTimeout: Self { .init(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)) }
}
