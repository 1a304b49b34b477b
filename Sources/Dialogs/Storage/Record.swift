// The administrative records: what accounts, backends and operators have besides the log. Theory:
//
// A record is a row of plain values under a key. Its type says everything that a store must know of it: the name of
// its kind, the names of its fields in order, and the fields of its key. A store therefore keeps all kinds by the same
// few functions, and a new kind changes no store. A store with tables has one for each kind; a store of keys and values
// keeps a record's fields under its kind and key, with an index for each field that conditions name.
//
// What is more than a row (a report with its messages, a login with the registrations that end with it) is composed of
// verbs, next to the type. Everything inside one transaction is atomic and sees its own changes, so that a composition
// needs no verb of its own. The log, rooms, members, marks, nodes and files are not records: their functions have
// names, because they are on the path of a message or read more than one table.

public import Basics

/// A value of a field, as a store keeps it.
public enum FieldValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case text(String)
  case bytes([UInt8])
}

/// A type that a field of a record may have.
public protocol FieldCodable: Sendable {
  /// Decodes a stored value; `nil` if it is none of this type.
  init?(field: FieldValue)
  var field: FieldValue { get }
}

/// A row of plain values under a key.
///
///     let grants = try reader.records(Grant.self, .equal(.user, user.id))
public protocol Record: Sendable {
  /// The names of the fields, in the order of `fields`. They are stored: never change.
  associatedtype Field: RawRepresentable<String>, CaseIterable, Hashable, Sendable
  /// The name of the kind. It is stored: never change.
  static var kind: String { get }
  /// The fields that identify a record of this kind, in the order in which records are listed.
  static var key: [Field] { get }
  /// Whether the key is one number, the first field, that the store assigns to a record that has 0. The store never
  /// assigns a number twice, unless the type says that it may.
  static var isNumbered: Bool { get }
  /// The values, in the order of `Field.allCases`.
  var fields: [FieldValue] { get }
  /// Creates the record from its stored values, which it takes one after another.
  init(_ fields: inout FieldReader) throws
}

extension Record {
  public static var isNumbered: Bool { false }

  fileprivate var values: [Field: FieldValue] { Dictionary(uniqueKeysWithValues: zip(Field.allCases, fields)) }
}

/// The error of a stored record that is none of its type.
public struct UnreadableRecord: Error, Sendable {
  public let kind: String
}

/// The stored values of one record, in order.
public struct FieldReader {
  private let kind: String
  private var rest: ArraySlice<FieldValue>

  public init(_ kind: String, _ fields: [FieldValue]) {
    self.kind = kind
    rest = fields[...]
  }

  public mutating func next<Value: FieldCodable>() throws(UnreadableRecord) -> Value {
    guard let field = rest.popFirst(), let value = Value(field: field) else { throw unreadable }
    return value
  }

  public var unreadable: UnreadableRecord { UnreadableRecord(kind: kind) }
}

/// A condition of a query on one field. A comparison by size with `nil`, or of a field that is `nil`, is not met.
public struct RecordCondition<Kind: Record>: Sendable {
  public enum Comparison: Sendable { case equal, above, atLeast, below, atMost, present }
  public let field: Kind.Field
  public let comparison: Comparison
  public let value: FieldValue

  /// The field has the value, which may be `nil`.
  public static func equal(_ field: Kind.Field, _ value: some FieldCodable) -> Self {
    Self(field: field, comparison: .equal, value: value.field)
  }
  public static func above(_ field: Kind.Field, _ value: some FieldCodable) -> Self {
    Self(field: field, comparison: .above, value: value.field)
  }
  public static func atLeast(_ field: Kind.Field, _ value: some FieldCodable) -> Self {
    Self(field: field, comparison: .atLeast, value: value.field)
  }
  public static func below(_ field: Kind.Field, _ value: some FieldCodable) -> Self {
    Self(field: field, comparison: .below, value: value.field)
  }
  public static func atMost(_ field: Kind.Field, _ value: some FieldCodable) -> Self {
    Self(field: field, comparison: .atMost, value: value.field)
  }
  /// The field has any value but `nil`.
  public static func present(_ field: Kind.Field) -> Self {
    Self(field: field, comparison: .present, value: .null)
  }
}

/// A selection of the records of one kind.
public struct RecordQuery<Kind: Record>: Sendable {
  /// The conditions, all of which a record meets.
  public var conditions: [RecordCondition<Kind>]
  /// The field by which records are listed; `nil` for the key.
  public var order: Kind.Field?
  public var isDescending = false
  /// The number of records that are listed; `nil` for all.
  public var limit: Int?

  public init(_ conditions: [RecordCondition<Kind>]) { self.conditions = conditions }

  /// Selects the record with the key of this one.
  init(_ record: Kind) {
    let values = record.values
    self.init(Kind.key.map { RecordCondition(field: $0, comparison: .equal, value: values[$0] ?? .null) })
  }
}

/// Reads records.
public protocol RecordReader {
  func records<Kind: Record>(_ query: RecordQuery<Kind>) throws -> [Kind]
  /// Returns the number of records that meet the conditions, at most `limit`: no more are looked at.
  func count<Kind: Record>(_ query: RecordQuery<Kind>) throws -> Int
}

/// Changes records.
public protocol RecordWriter: RecordReader {
  /// Inserts a record, or replaces the one with its key. Returns it with its number.
  @discardableResult
  func put<Kind: Record>(_ record: Kind) throws -> Kind
  /// Sets fields of the records that meet the conditions; `limit` does not count. Returns their number.
  @discardableResult
  func update<Kind: Record>(_ query: RecordQuery<Kind>, _ changes: [Kind.Field: FieldValue]) throws -> Int
  /// Removes the records that meet the conditions; `limit` does not count. Returns their number.
  @discardableResult
  func remove<Kind: Record>(_ query: RecordQuery<Kind>) throws -> Int
}

extension RecordReader {
  /// Returns the first record that meets the conditions.
  public func record<Kind: Record>(_ kind: Kind.Type, _ conditions: RecordCondition<Kind>...) throws -> Kind? {
    var query = RecordQuery(conditions)
    query.limit = 1
    return try records(query).first
  }

  public func records<Kind: Record>(
    _ kind: Kind.Type, _ conditions: RecordCondition<Kind>..., by order: Kind.Field? = nil, isDescending: Bool = false,
    limit: Int? = nil
  ) throws -> [Kind] {
    var query = RecordQuery(conditions)
    (query.order, query.isDescending, query.limit) = (order, isDescending, limit)
    return try records(query)
  }

  public func count<Kind: Record>(
    _ kind: Kind.Type, _ conditions: RecordCondition<Kind>..., limit: Int? = nil
  ) throws -> Int {
    var query = RecordQuery(conditions)
    query.limit = limit
    return try count(query)
  }
}

extension RecordWriter {
  @discardableResult
  public func update<Kind: Record>(
    _ kind: Kind.Type, _ conditions: RecordCondition<Kind>..., to changes: [Kind.Field: FieldValue]
  ) throws -> Int {
    try update(RecordQuery(conditions), changes)
  }

  @discardableResult
  public func remove<Kind: Record>(_ kind: Kind.Type, _ conditions: RecordCondition<Kind>...) throws -> Int {
    try remove(RecordQuery(conditions))
  }

  /// Replaces the record with the key of this one; does nothing if there is none.
  public func replace<Kind: Record>(_ record: Kind) throws {
    try update(RecordQuery(record), record.values.filter { !Kind.key.contains($0.key) })
  }

  /// Removes the record with the key of this one.
  public func remove<Kind: Record>(_ record: Kind) throws { try remove(RecordQuery(record)) }
}

// MARK: The types of fields

extension Int64: FieldCodable {
  public init?(field: FieldValue) {
    guard case .integer(let value) = field else { return nil }
    self = value
  }
  public var field: FieldValue { .integer(self) }
}

extension Int: FieldCodable {
  public init?(field: FieldValue) {
    guard case .integer(let value) = field else { return nil }
    self = Int(value)
  }
  public var field: FieldValue { .integer(Int64(self)) }
}

extension UInt8: FieldCodable {
  public init?(field: FieldValue) {
    guard case .integer(let value) = field else { return nil }
    self.init(exactly: value)
  }
  public var field: FieldValue { .integer(Int64(self)) }
}

extension Bool: FieldCodable {
  public init?(field: FieldValue) {
    guard case .integer(let value) = field else { return nil }
    self = value != 0
  }
  public var field: FieldValue { .integer(self ? 1 : 0) }
}

extension String: FieldCodable {
  public init?(field: FieldValue) {
    guard case .text(let value) = field else { return nil }
    self = value
  }
  public var field: FieldValue { .text(self) }
}

extension [UInt8]: FieldCodable {
  public init?(field: FieldValue) {
    guard case .bytes(let value) = field else { return nil }
    self = value
  }
  public var field: FieldValue { .bytes(self) }
}

extension Optional: FieldCodable where Wrapped: FieldCodable {
  public init?(field: FieldValue) {
    if field == .null {
      self = .none
    } else {
      guard let value = Wrapped(field: field) else { return nil }
      self = .some(value)
    }
  }
  public var field: FieldValue { self?.field ?? .null }
}

extension FieldCodable where Self: RawRepresentable, RawValue: FieldCodable {
  public init?(field: FieldValue) {
    guard let raw = RawValue(field: field) else { return nil }
    self.init(rawValue: raw)
  }
  public var field: FieldValue { rawValue.field }
}

/// An id that is stored as its number.
public protocol NumberedID: FieldCodable {
  init(_ number: Int64)
  var number: Int64 { get }
}

extension NumberedID {
  public init?(field: FieldValue) {
    guard case .integer(let value) = field else { return nil }
    self.init(value)
  }
  public var field: FieldValue { .integer(number) }
}

extension RealmID: NumberedID {}
extension UserID: NumberedID {}
extension DialogID: NumberedID {}
extension Position: NumberedID {}

extension Timestamp: FieldCodable {
  public init?(field: FieldValue) {
    guard case .integer(let value) = field else { return nil }
    self.init(milliseconds: value)
  }
  public var field: FieldValue { .integer(milliseconds) }
}

extension BlobID: FieldCodable {
  public init?(field: FieldValue) {
    guard case .text(let value) = field else { return nil }
    self.init(value)
  }
  public var field: FieldValue { .text(description) }
}
