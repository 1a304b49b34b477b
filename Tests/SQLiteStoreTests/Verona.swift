import Addresses
import Basics
import Dialogs
import SQLiteStore
import StoreConformance

/// Two users and their dialog in a fresh store; every message has 100 bytes of content, so that stores fill quickly.
struct Verona {
  let romeo: Party
  let juliet: Party
  let dialog: Dialog
  /// Each message also waits for another server.
  static let pair = DomainPair(local: "verona.example", remote: "mantua.example")
  let number: Int64

  init(_ store: SQLiteStore) throws {
    (romeo, juliet, dialog, number) = try store.write { writer in
      let realm = try writer.insertRealm(
        domain: "verona.example", rooms: "rooms.verona.example", key: [UInt8](0..<32), epoch: 1)
      func party(_ name: String) throws -> Party {
        let user = try writer.insertUser(
          BareJID("\(name)@verona.example"), in: realm.id, profile: Profile(), createdAt: Timestamp(milliseconds: 0))
        return Party(id: user.id, realm: realm.id, address: user.address)
      }
      let (romeo, juliet) = (try party("romeo"), try party("juliet"))
      let dialog = try writer.insert(
        dialog: .privately, first: romeo, second: juliet, createdAt: Timestamp(milliseconds: 0))
      return (romeo, juliet, dialog, try writer.put(DomainPairState(Self.pair)).id)
    }
  }

  func say(_ position: Int64, text: String? = nil, _ writer: any StoreWriter) throws {
    let text = text ?? "\(position) " + String(repeating: "rose ", count: 20)
    let entry = Entry(
      position: Position(position), time: Timestamp(milliseconds: position), dialog: dialog.id, author: romeo,
      place: .peer(juliet),
      fact: .message(
        Message(
          sequence: position, content: Content(kind: .text, text: text), envelope: Envelope(id: "m\(position)"),
          traits: [.counts, .archived])),
      id: PublicID(high: 0, low: 0))
    try writer.insert(
      entry,
      feeds: [
        FeedRow(user: romeo.id, traits: .archived), FeedRow(user: juliet.id, traits: [.archived, .inbound]),
      ], key: RepeatKey(rule: .xmpp, id: "m\(position)", bodyHash: 1))
    try writer.insert(
      OutboxRow(position: entry.position, expiresAt: Timestamp(milliseconds: position), item: .entry(entry)),
      by: romeo.id, pair: number)
    var dialog = dialog
    dialog.sequence = position
    dialog.ordinal = position
    dialog.end(at: Position(position), isShown: true)
    try writer.update(dialog)
    try writer.put(Mark(dialog: dialog.id, user: romeo.id, own: position), superseded: .zero)
  }

  /// Every index must tell the same: the log is whole up to its head. Returns the
  /// head.
  func check(_ reader: any StoreReader) throws -> Int64 {
    let head = try reader.head().position.number
    let expected = head == 0 ? [] : Array(1...head)
    let views = [
      try reader.feed(of: romeo.id, after: .zero, limit: 10_000),
      try reader.archive(of: juliet.id, ArchiveQuery(limit: 10_000)).entries,
      try reader.history(of: dialog.id, after: .zero, before: .end, limit: 10_000, ascending: true),
    ]
    for view in views where view.map(\.position.number) != expected {
      throw Torn(description: "\(view.count) entries under head \(head)")
    }
    let waiting = try reader.outbox(of: Self.pair, after: .zero, limit: 10_000)
    guard waiting.map(\.position.number) == expected else {
      throw Torn(description: "\(waiting.count) rows of the outbox under head \(head)")
    }
    let dialog = try reader.dialog(dialog.id)
    guard dialog?.last.number == head, dialog?.ordinal == head,
      try reader.unread(of: juliet.id) == head, try reader.unread(of: romeo.id) == 0
    else { throw Torn(description: "rows of another moment under head \(head)") }
    return head
  }

  struct Torn: Error, CustomStringConvertible { let description: String }
}
