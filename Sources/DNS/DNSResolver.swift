public import Basics

/// A source of DNS answers. `StubResolver` asks the system's; another may validate by itself.
public protocol DNSResolver: Sendable {
  /// Returns what the DNS says about a name, aliases followed.
  func lookUp(_ name: DomainName, _ type: RecordType) async throws(LookupFailure) -> Answer
  /// Forgets all answers, so that an operator sees what the DNS says now.
  func forget()
}

/// An answer, also that there is none.
public struct Answer: Hashable, Sendable {
  public enum Outcome: Hashable, Sendable {
    case found
    /// The name has no records of this type.
    case noRecords
    /// There is no such name.
    case noSuchName
  }

  public let outcome: Outcome
  /// The name that the records belong to: the one asked for, or the last of its aliases.
  public let name: DomainName
  public let records: [RecordData]
  /// Whether the resolver has validated the answer by DNSSEC and is trusted to say so (RFC 4035 3.2.3).
  public let isSecure: Bool
  /// The time for which the answer holds.
  public let seconds: UInt32

  public init(_ outcome: Outcome, name: DomainName, records: [RecordData] = [], isSecure: Bool, seconds: UInt32) {
    self.outcome = outcome
    self.name = name
    self.records = records
    self.isSecure = isSecure
    self.seconds = seconds
  }

  public var addresses: [IPAddress] {
    records.compactMap { if case .address(let address) = $0 { address } else { nil } }
  }

  public var services: [ServiceRecord] {
    records.compactMap { if case .service(let service) = $0 { service } else { nil } }
  }

  public var tlsaRecords: [TLSARecord] {
    records.compactMap { if case .tlsa(let record) = $0 { record } else { nil } }
  }
}

/// The reason why there is no answer. A validating resolver says `serverFailure` for forged answers, too
/// (RFC 4035 5.5).
public enum LookupFailure: Error, Hashable, Sendable {
  case serverFailure
  /// The resolver refuses to answer, by a code of RFC 1035 4.1.1.
  case refused(code: UInt8)
  case timedOut
  case malformed
  /// Too many questions wait already.
  case overloaded
}

extension LookupFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .serverFailure: "the name server could not answer, or the answer's signatures are wrong"
    case .refused(let code): "the name server refused to answer (code \(code))"
    case .timedOut: "no name server answered in time"
    case .malformed: "the name server's answer is malformed"
    case .overloaded: "too many names are being looked up"
    }
  }
}
