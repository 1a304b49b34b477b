/// The servers of a domain by its SRV records, for a service with a form over TLS (RFC 2782, XEP-0368 3).
public enum Services: Hashable, Sendable {
  /// Nothing is said: the domain itself is the server's host (RFC 6120 3.2.2).
  case unspecified
  /// The domain says that it has no such service.
  case notAvailable
  /// The servers in the order in which they are tried.
  case servers([Server])

  public struct Server: Hashable, Sendable {
    public let record: ServiceRecord
    public let isDirectTLS: Bool
    /// Whether the record is authentic.
    public let isSecure: Bool

    public init(_ record: ServiceRecord, isDirectTLS: Bool, isSecure: Bool) {
      self.record = record
      self.isDirectTLS = isDirectTLS
      self.isSecure = isSecure
    }
  }

  /// Puts the records of both services into one order, by priority and weight (XEP-0368 3).
  ///
  /// A target of "." says that the service is not available (RFC 2782). If it is the only one of both services, or the
  /// other has no records, the domain's own address must not be tried instead (XEP-0368 5).
  ///
  /// - Parameters:
  ///   - direct: the answer for the service that begins with TLS, `_xmpps-server`.
  ///   - upgraded: the answer for the service that begins without, `_xmpp-server`.
  ///   - pick: returns a random number of a range.
  public init(
    direct: Answer, upgraded: Answer, pick: (ClosedRange<Int>) -> Int = { Int.random(in: $0) }
  ) {
    var unordered: [Server] = []
    for (answer, isDirectTLS) in [(direct, true), (upgraded, false)] {
      for record in answer.services where !record.target.isRoot && record.port != 0 {
        unordered.append(Server(record, isDirectTLS: isDirectTLS, isSecure: answer.isSecure))
      }
    }
    if unordered.isEmpty {
      self = direct.services.isEmpty && upgraded.services.isEmpty ? .unspecified : .notAvailable
    } else {
      self = .servers(Self.ordered(unordered, pick: pick))
    }
  }

  /// Orders by priority, and servers of one priority at random by their weights, as RFC 2782 ("Weight") has it.
  private static func ordered(_ servers: [Server], pick: (ClosedRange<Int>) -> Int) -> [Server] {
    var ordered: [Server] = []
    for (_, equals) in Dictionary(grouping: servers, by: \.record.priority).sorted(by: { $0.key < $1.key }) {
      // Those of weight 0 come first, and so are chosen by a 0 alone.
      var left = equals.filter { $0.record.weight == 0 } + equals.filter { $0.record.weight != 0 }
      while !left.isEmpty {
        let chosen = pick(0...left.reduce(0) { $0 + Int($1.record.weight) })
        var sum = 0
        let index = left.firstIndex { server in
          sum += Int(server.record.weight)
          return sum >= chosen
        }
        ordered.append(left.remove(at: index ?? 0))
      }
    }
    return ordered
  }
}
