import Addresses
import Basics
import Dialogs

/// The rows that wait for remote servers.
extension Reader {
  func outbox(of pair: DomainPair, after: Position, limit: Int) throws -> [OutboxRow] {
    try connection(.outbox, pair.local, pair.remote, after, bound(limit)).all { row in
      let item: OutboxRow.Item =
        row.isNull(Self.outboxStanza)
        ? .entry(try entry(row)) : .stanza(try FactCoding.relayed(row.bytes(Self.outboxStanza), for: self))
      return OutboxRow(
        position: Position(row.int(Self.outboxStanza + 1)),
        expiresAt: Timestamp(milliseconds: row.int(Self.outboxStanza + 2)), item: item)
    }
  }

  func outboxTotals() throws -> [OutboxTotal] {
    try connection(.outboxTotals).all { row in
      OutboxTotal(
        pair: row.int(0), author: UserID(row.int(1)), rows: Int(row.int(2)),
        expiresAt: Timestamp(milliseconds: row.int(3)))
    }
  }

  func nextOutboxExpiries(limit: Int) throws -> [(pair: DomainPair, at: Timestamp)] {
    try connection(.nextOutboxExpiries, bound(limit)).all { row in
      (pair: DomainPair(local: row.text(0), remote: row.text(1)), at: Timestamp(milliseconds: row.int(2)))
    }
  }

  /// The column of the stanza, after those of the entry.
  private static let outboxStanza: Int32 = 22
}

extension Writer {
  func insert(_ row: OutboxRow, by author: UserID, pair: Int64) throws {
    let stanza: [UInt8]? = if case .stanza(let stanza) = row.item { FactCoding.encode(stanza) } else { nil }
    try connection(.insertOutbox, pair, row.position, author, row.expiresAt, stanza).run()
  }

  func removeOutbox(_ positions: ClosedRange<Position>, pair: Int64) throws -> [UserID] {
    try connection(.removeOutbox, pair, positions.lowerBound, positions.upperBound).all { UserID($0.int(0)) }
  }

  /// Returns the rows of all pairs behind a pair and position, since there is no index by author.
  func outbox(
    after: (pair: Int64, position: Int64), limit: Int
  ) throws -> [(pair: Int64, position: Int64, author: Int64, isEntry: Bool)] {
    try connection(.outboxBehind, after.pair, after.position, limit).all {
      (pair: $0.int(0), position: $0.int(1), author: $0.int(2), isEntry: $0.int(3) == 1)
    }
  }

  /// Removes a row, and its pair if no state of it is left.
  func removeOutbox(at position: Int64, pair: Int64) throws {
    try connection(.deleteOutbox, pair, position).run()
    try connection(.deleteEmptyPair, pair).run()
  }
}

extension FactCoding {
  /// Encodes a relayed stanza without what only sessions of this server need.
  static func encode(_ stanza: RelayedStanza) -> [UInt8] {
    var out = ByteWriter()
    out.write(version)
    switch stanza.name {
    case .message(let type):
      out.write(Int64(1))
      out.write(Int64(type.rawValue))
    case .iq(let type):
      out.write(Int64(2))
      out.write(type)
    case .presence(let type):
      out.write(Int64(3))
      out.write(type)
    }
    out.write(stanza.from.id.number)
    out.write(stanza.fromResource) { $0.write($1) }
    out.write(stanza.room) { $0.write($1.dialog.number) }
    out.write(stanza.to.description)
    for text in [stanza.toResource, stanza.id, stanza.language] { out.write(text) { $0.write($1) } }
    out.write(stanza.extras)
    // Rows of earlier versions end here.
    if let server = stanza.server { out.write(server.description) }
    return out.bytes
  }

  static func relayed(_ bytes: [UInt8], for reader: Reader) throws -> RelayedStanza {
    var from = ByteReader(bytes)
    guard try from.int() == version else { throw damaged }
    let name: RelayedStanza.Name
    switch try from.int() {
    case 1:
      guard let type = Envelope.MessageType(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
      name = .message(type)
    case 2: name = .iq(try from.text())
    case 3: name = .presence(try from.text())
    default: throw damaged
    }
    let sender = try reader.known(UserID(try from.int()))
    let fromResource = try from.optional(text)
    let room = try from.optional { from throws(StoreFailure) in DialogID(try from.int()) }
    let to = try Reader.address(try from.text())
    let (toResource, id) = (try from.optional(text), try from.optional(text))
    let language = try from.optional(text)
    let extras = try from.array()
    return RelayedStanza(
      name: name, from: sender, fromResource: fromResource, room: try room.map { try reader.known($0) },
      server: from.isAtEnd ? nil : try Reader.address(try from.text()), to: to, toResource: toResource, id: id,
      language: language, extras: extras)
  }

  // MARK: Undelivered messages

  static func write(_ undelivered: Undelivered, _ out: inout ByteWriter) {
    out.write(undelivered.dialog.number)
    out.write(undelivered.target.number)
    out.write(undelivered.peer.id.number)
    out.write(undelivered.fromResource) { $0.write($1) }
    out.write(undelivered.toResource) { $0.write($1) }
    out.write(undelivered.stanzaID)
    write(undelivered.failure, &out)
  }

  static func undelivered(_ from: inout ByteReader, party: (UserID) throws -> Party) throws -> Undelivered {
    Undelivered(
      dialog: DialogID(try from.int()), target: Position(try from.int()), peer: try party(UserID(try from.int())),
      fromResource: try from.optional(text), toResource: try from.optional(text), stanzaID: try from.text(),
      failure: try failure(&from))
  }

  static func write(_ failure: FederationFailure, _ out: inout ByteWriter) {
    out.write(Int64(failure.kind.rawValue))
    out.write(failure.condition)
    out.write(failure.text)
  }

  static func failure(_ from: inout ByteReader) throws(StoreFailure) -> FederationFailure {
    guard let kind = FederationFailure.Kind(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
    return FederationFailure(kind, try from.text(), try from.text())
  }
}

extension Query {
  /// It omits rows whose entry was removed meanwhile.
  fileprivate static let outbox = Query(
    """
    SELECT \(Reader.payloadColumns), o.stanza, o.position, o.expires
    FROM domain_pairs d CROSS JOIN outbox o ON o.pair = d.id LEFT JOIN payloads p ON p.position = o.position
    WHERE d.local = ?1 AND d.remote = ?2 AND o.position > ?3 AND (o.stanza IS NOT NULL OR p.position IS NOT NULL)
    ORDER BY o.position LIMIT ?4
    """)
  fileprivate static let outboxTotals = Query(
    "SELECT pair, author, count(*), min(expires) FROM outbox GROUP BY pair, author")
  /// The first row of each pair is the oldest: the query reads one row of each pair with rows, stepping from pair to pair by the key.
  static let nextOutboxExpiries = Query(
    """
    WITH RECURSIVE waiting (pair) AS (
      SELECT min(pair) FROM outbox
      UNION ALL
      SELECT (SELECT min(pair) FROM outbox WHERE pair > waiting.pair) FROM waiting WHERE waiting.pair IS NOT NULL)
    SELECT d.local, d.remote, o.expires FROM waiting w
    CROSS JOIN outbox o ON o.pair = w.pair AND o.position = (SELECT min(position) FROM outbox WHERE pair = w.pair)
    CROSS JOIN domain_pairs d ON d.id = o.pair
    ORDER BY o.expires LIMIT ?1
    """)
  fileprivate static let insertOutbox = Query(
    "INSERT INTO outbox (pair, position, author, expires, stanza) VALUES (?1, ?2, ?3, ?4, ?5)")
  fileprivate static let removeOutbox = Query(
    "DELETE FROM outbox WHERE pair = ?1 AND position >= ?2 AND position <= ?3 RETURNING author")
  fileprivate static let outboxBehind = Query(
    """
    SELECT pair, position, author, stanza IS NULL FROM outbox
    WHERE (pair, position) > (?1, ?2) ORDER BY pair, position LIMIT ?3
    """)
  fileprivate static let deleteOutbox = Query("DELETE FROM outbox WHERE pair = ?1 AND position = ?2")
  fileprivate static let deleteEmptyPair = Query(
    "DELETE FROM domain_pairs WHERE id = ?1 AND verified IS NULL AND NOT EXISTS (SELECT 1 FROM outbox WHERE pair = ?1)")
}
