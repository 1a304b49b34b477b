public import Basics

/// An operator's rule for a domain elsewhere, written while the server runs. It stands before the lists of the
/// configuration (`federation.allow` and `.deny`).
public struct FederationRule: Hashable, Sendable {
  /// The domain in normal form, or `*.` and a domain for all its subdomains.
  public let domain: String
  public let isAllowed: Bool
  /// The operator's own remark.
  public let note: String?
  public let changedAt: Timestamp

  public init(domain: String, isAllowed: Bool, note: String?, changedAt: Timestamp) {
    self.domain = domain
    self.isAllowed = isAllowed
    self.note = note
    self.changedAt = changedAt
  }
}

extension FederationRule: Record {
  public enum Field: String, CaseIterable, Sendable {
    case domain, isAllowed = "allowed", note, changedAt = "changed_at"
  }
  public static let kind = "federation_rules"
  public static let key: [Field] = [.domain]
  public var fields: [FieldValue] { [domain.field, isAllowed.field, note.field, changedAt.field] }
  public init(_ fields: inout FieldReader) throws {
    domain = try fields.next()
    isAllowed = try fields.next()
    note = try fields.next()
    changedAt = try fields.next()
  }
}

extension RecordReader {
  /// Returns the operator's rules by domain.
  public func federationRules() throws -> [FederationRule] {
    try records(RecordQuery<FederationRule>([]))
  }
}
