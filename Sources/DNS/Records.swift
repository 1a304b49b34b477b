public import Basics

/// The types of records that are asked for or understood (IANA's registry of DNS parameters).
public enum RecordType: UInt16, Sendable {
  case a = 1
  case cname = 5
  case soa = 6
  case aaaa = 28
  case srv = 33
  case opt = 41
  case tlsa = 52
}

/// A host and port of a service (RFC 2782).
public struct ServiceRecord: Hashable, Sendable {
  public let priority: UInt16
  public let weight: UInt16
  public let port: UInt16
  /// The host; the root where the service is not available.
  public let target: DomainName

  public init(priority: UInt16, weight: UInt16, port: UInt16, target: DomainName) {
    self.priority = priority
    self.weight = weight
    self.port = port
    self.target = target
  }
}

/// The description of a certificate that a server has (RFC 6698 2.1). The numbers are kept as they are: unknown ones
/// make a record unusable, not an answer malformed.
public struct TLSARecord: Hashable, Sendable {
  /// 0 PKIX-TA, 1 PKIX-EE, 2 DANE-TA, 3 DANE-EE (RFC 7218 2.1).
  public let usage: UInt8
  /// 0 the whole certificate, 1 its public key (RFC 7218 2.2).
  public let selector: UInt8
  /// 0 the data itself, 1 its SHA-256, 2 its SHA-512 (RFC 7218 2.3).
  public let matching: UInt8
  public let data: [UInt8]

  public init(usage: UInt8, selector: UInt8, matching: UInt8, data: [UInt8]) {
    self.usage = usage
    self.selector = selector
    self.matching = matching
    self.data = data
  }
}

/// The content of a record of one of the types that are understood.
public enum RecordData: Hashable, Sendable {
  case address(IPAddress)
  case alias(DomainName)
  case service(ServiceRecord)
  case tlsa(TLSARecord)
  /// The start of a zone, of which only the time is of use for which absent names may be remembered (RFC 2308 4).
  case zone(minimum: UInt32)
}
