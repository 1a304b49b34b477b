public import Basics

/// Reads the rows of the outbox from a store.
public protocol OutboxReader {
  /// Returns the rows of a pair behind a position, ascending. A row whose entry was removed meanwhile is left out.
  func outbox(of pair: DomainPair, after: Position, limit: Int) throws -> [OutboxRow]
  /// Returns how many rows each author has for each pair, by `DomainPairState.id`, and when the first of them expires.
  /// It reads all rows.
  func outboxTotals() throws -> [OutboxTotal]
  /// Returns the pairs whose oldest rows expire first, and these times, ascending. It looks at one row of each pair that has some, and
  /// at no other pairs.
  func nextOutboxExpiries(limit: Int) throws -> [(pair: DomainPair, at: Timestamp)]
}

/// Changes the rows of the outbox.
public protocol OutboxWriter: OutboxReader {
  /// Inserts a row. That of an entry refers to the entry, which must be in the log.
  func insert(_ row: OutboxRow, by author: UserID, pair: Int64) throws
  /// Removes the rows of a pair at these positions. Returns their authors, one for each row.
  func removeOutbox(_ positions: ClosedRange<Position>, pair: Int64) throws -> [UserID]
}

/// The rows of one author for one pair.
public struct OutboxTotal: Hashable, Sendable {
  public let pair: Int64
  public let author: UserID
  public let rows: Int
  public let expiresAt: Timestamp

  public init(pair: Int64, author: UserID, rows: Int, expiresAt: Timestamp) {
    self.pair = pair
    self.author = author
    self.rows = rows
    self.expiresAt = expiresAt
  }
}

/// A pair of domains with its number, by which rows name it, and with what is known of the attempts to connect. There is one while rows
/// wait, a certificate of the domain is remembered, or the pair has just been emptied (`Limits.outboxPairsEmptiedMax`): anybody makes
/// any number of domains. Only rows of the outbox name it, so that its number may be given again.
public struct DomainPairState: Hashable, Sendable {
  public var id: Int64
  public let pair: DomainPair
  public var failures = 0
  public var nextAttemptAt: Timestamp?
  public var reason: String?
  /// The time at which a certificate of the domain was last found valid, to a day: for some time after it, a weaker proof
  /// of identity is refused.
  public var verifiedAt: Timestamp?

  public init(id: Int64 = 0, _ pair: DomainPair) {
    self.id = id
    self.pair = pair
  }
}

extension DomainPairState: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, local, remote, failures
    case nextAttemptAt = "next"
    case reason
    case verifiedAt = "verified"
  }
  public static let kind = "domain_pairs"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, pair.local.field, pair.remote.field, failures.field, nextAttemptAt.field, reason.field,
      verifiedAt.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    id = try fields.next()
    pair = try DomainPair(local: fields.next(), remote: fields.next())
    failures = try fields.next()
    nextAttemptAt = try fields.next()
    reason = try fields.next()
    verifiedAt = try fields.next()
  }
}

extension RecordReader {
  /// Returns what is known of a pair; `nil` if nothing is.
  public func state(of pair: DomainPair) throws -> DomainPairState? {
    try record(DomainPairState.self, .equal(.local, pair.local), .equal(.remote, pair.remote))
  }
}

extension StoreReader {
  /// Returns the pairs for which rows wait, by their domains, with the number of rows. It reads all rows, and no other pairs.
  public func outboxPairs() throws -> [OutboxPair] {
    var pairs: [Int64: OutboxPair] = [:]
    for total in try outboxTotals() {
      if let known = pairs[total.pair] {
        pairs[total.pair]?.rows += total.rows
        pairs[total.pair]?.expiresAt = min(known.expiresAt, total.expiresAt)
      } else if let state = try record(DomainPairState.self, .equal(.id, total.pair)) {
        pairs[total.pair] = OutboxPair(
          pair: state.pair, rows: total.rows, expiresAt: total.expiresAt, failures: state.failures,
          nextAttemptAt: state.nextAttemptAt, reason: state.reason)
      }
    }
    return pairs.values.sorted { ($0.pair.remote, $0.pair.local) < ($1.pair.remote, $1.pair.local) }
  }
}
