import NIOCore

/// The bounds of this target, each with its number, its reason, and what happens at it.
package enum DNSLimits {
  /// The bytes of an answer over UDP that are asked for: more is split into fragments on common paths (RFC 6891 6.2.5,
  /// the value of DNS Flag Day 2020). A longer answer comes truncated, and is fetched over TCP.
  static let datagramBytesMax = 1_232
  /// The bytes of an answer over TCP. Records of a host have a few hundred; a longer answer is `malformed`, so that the
  /// cache stays small.
  static let messageBytesMax = 16_384
  /// The records of a message, of all types; one with more is `malformed`.
  static let recordsMax = 256
  /// The aliases that are followed from a name to its records; a longer chain is `malformed`.
  static let aliasesMax = 8
  /// The time for which answers are kept, whatever the DNS says: less would let a domain make the server ask for each
  /// message, more would keep it from a moved host for too long.
  static let keptSecondsMin: UInt32 = 30
  static let keptSecondsMax: UInt32 = 3_600
  /// The answers that are kept; at the bound the oldest is forgotten.
  static let answersMax = 4_096
  /// The questions under way, each with a socket; the next one fails with `overloaded`.
  package static let questionsMax = 1_024
  /// The share of them that names of one zone have, their last two labels: whoever has a zone whose name servers do not answer can make
  /// others ask for any number of names in it. The next one of the zone fails with `overloaded`.
  static let zoneShare = 8
  /// The datagrams to one question that are no answer to it, after which it is asked over TCP: somebody guesses.
  static let strayDatagramsMax = 16
  /// The name servers that are used; resolv.conf(5) has at most 3.
  static let serversMax = 3
  /// The time that a name server has for its first answer, doubled in each round, and the rounds; `timeout` and
  /// `attempts` of resolv.conf(5) replace them, up to its own bounds. A resolver on the same network has what is asked
  /// often, and tries others for about two seconds for the rest.
  static let timeout: TimeAmount = .seconds(2)
  static let timeoutMax: TimeAmount = .seconds(30)
  static let attempts = 3
  static let attemptsMax = 5
  /// The time for which a name server that did not answer is asked after the others.
  static let penalty: TimeAmount = .seconds(60)
  /// The interval at which `resolv.conf` is read anew, as networks change.
  static let configurationAge: TimeAmount = .seconds(10)
  /// The bytes of `resolv.conf` that are read; a longer file counts as absent.
  static let configurationBytesMax = 65_536
}
