import Addresses
import Basics
import Dialogs

/// A store with a realm and three users in it, and a hand that writes as the
/// core does: positions and times in order, feed rows for both sides.
final class Scene {
  private let open: () throws -> any Store
  private(set) var store: any Store
  let realm: Realm
  let romeo: Party
  let juliet: Party
  let nurse: Party

  private(set) var position = Position.zero
  private(set) var time = Timestamp(milliseconds: 1_700_000_000_000)
  private let seal: Sealer

  init(_ open: @escaping () throws -> any Store) throws {
    self.open = open
    let store = try open()
    self.store = store
    let time = time
    (realm, romeo, juliet, nurse) = try store.write { writer in
      let realm = try writer.insertRealm(
        domain: "verona.example", rooms: "rooms.verona.example", key: [UInt8](0..<32), epoch: 0xfedc_ba98)
      func party(_ name: String) throws -> Party {
        let user = try writer.insertUser(
          BareJID("\(name)@verona.example"), in: realm.id, profile: Profile(), createdAt: time)
        return Party(id: user.id, realm: realm.id, address: user.address)
      }
      return (realm, try party("romeo"), try party("juliet"), try party("nurse"))
    }
    seal = Sealer(realm: realm, purpose: .entry)
  }

  func reopen() throws {
    try store.close()
    store = try open()
  }

  func read<Value>(_ body: (any StoreReader) throws -> Value) throws -> Value { try store.read(body) }
  @discardableResult
  func write<Value>(_ body: (any StoreWriter) throws -> Value) throws -> Value { try store.write(body) }

  /// The next position, a second later.
  func step() -> Position {
    position = position.next
    time = time + .seconds(1)
    return position
  }

  func id(_ position: Position) -> PublicID { seal.seal(position.number) }

  func dialog(_ a: Party, _ b: Party, _ writer: any StoreWriter) throws -> Dialog {
    if let dialog = try writer.dialog(between: a.id, and: b.id) { return dialog }
    let (first, second) = a.id < b.id ? (a, b) : (b, a)
    return try writer.insert(
      dialog: a.id == b.id ? .own : .privately, first: first, second: second, createdAt: time)
  }

  func mark(_ user: Party, in dialog: Dialog, _ reader: any StoreReader) throws -> Mark {
    try reader.mark(user.id, in: dialog.id) ?? Mark(dialog: dialog.id, user: user.id)
  }

  static let traits: Message.Traits = [.counts, .archived, .replayed]

  /// A message with everything it entails.
  @discardableResult
  func say(
    _ text: String, by author: Party, to peer: Party, id: String? = nil, key: RepeatKey? = nil,
    traits: Message.Traits = Scene.traits, resource: String? = nil, toResource: String? = nil,
    _ writer: any StoreWriter
  ) throws -> Entry {
    try say(
      Content(kind: .text, text: text), Envelope(fromResource: resource, toResource: toResource, id: id),
      by: author, to: peer, key: key, traits: traits, writer)
  }

  @discardableResult
  func say(
    _ content: Content, _ envelope: Envelope, by author: Party, to peer: Party, key: RepeatKey? = nil,
    traits: Message.Traits = Scene.traits, _ writer: any StoreWriter
  ) throws -> Entry {
    var dialog = try dialog(author, peer, writer)
    let position = step()
    let isShown = content.kind != .none
    if isShown { dialog.sequence += 1 }
    if traits.contains(.counts) { dialog.ordinal += 1 }
    dialog.end(at: position, isShown: isShown)
    let message = Message(
      sequence: isShown ? dialog.sequence : 0, content: content, envelope: envelope, traits: traits)
    let entry = Entry(
      position: position, time: time, dialog: dialog.id, author: author, place: .peer(peer), fact: .message(message),
      id: id(position))
    try writer.insert(entry, feeds: feeds(author, peer, traits, isShown: isShown), key: key)
    try writer.update(dialog)
    if traits.contains(.counts) {
      var mark = try mark(author, in: dialog, writer)
      mark.own += 1
      try writer.put(mark, superseded: .zero)
    }
    return entry
  }

  /// A message that changes an earlier one.
  @discardableResult
  func change(
    _ target: Entry, _ kind: Reference.Kind, by author: Party, to peer: Party, _ writer: any StoreWriter
  ) throws -> Entry {
    var dialog = try dialog(author, peer, writer)
    let position = step()
    let entry = Entry(
      position: position, time: time, dialog: dialog.id, author: author, place: .peer(peer),
      fact: .message(Self.change(target, kind)), id: id(position))
    try writer.insert(entry, feeds: feeds(author, peer, .archived, isShown: true), key: nil)
    dialog.end(at: position)
    try writer.update(dialog)
    return entry
  }

  static func change(_ target: Entry, _ kind: Reference.Kind) -> Message {
    Message(
      sequence: 0, content: Content(kind: kind == .correction ? .text : .none, text: kind == .correction ? "new" : ""),
      envelope: Envelope(), traits: .archived,
      reference: Reference(kind: kind, target: target.position, targetID: target.id, targetStanzaID: nil))
  }

  private func feeds(_ author: Party, _ peer: Party, _ traits: Message.Traits, isShown: Bool) -> [FeedRow] {
    var row: FeedRow.Traits = traits.contains(.archived) ? .archived : []
    if !isShown { row.insert(.unfollowed) }
    let own = FeedRow(user: author.id, traits: row)
    if author.id == peer.id { return [own] }
    row.insert(.inbound)
    if traits.contains(.replayed) { row.insert(.replayed) }
    return [own, FeedRow(user: peer.id, traits: row)]
  }

  /// A marker with everything it entails; takes the place of the reader's last.
  @discardableResult
  func display(
    _ target: Entry, by reader: Party, stanza: Message? = nil, told: Bool = true, _ writer: any StoreWriter
  ) throws -> Entry {
    let peer = target.author.id == reader.id ? target.peer ?? reader : target.author
    var dialog = try dialog(reader, peer, writer)
    var mark = try mark(reader, in: dialog, writer)
    let counts = try writer.counting(in: dialog.id, upTo: target.position, by: reader.id)
    let superseded = mark.position
    mark.delivered = target.position
    mark.displayed = target.position
    mark.displayedOrdinal = counts.all
    mark.ownAtDisplayed = counts.own
    let position = step()
    mark.position = position
    try writer.put(mark, superseded: superseded)
    let entry = Entry(
      position: position, time: time, dialog: dialog.id, author: reader, place: .peer(peer),
      fact: .marker(
        Marker(
          kind: .displayed, mark: mark, target: target.position, targetID: target.id, targetStanzaID: "m1",
          stanza: stanza, told: told, asked: false)),
      id: id(position))
    let kept: FeedRow.Traits = stanza?.traits.contains(.archived) == true ? [.mark, .archived] : [.mark]
    var feeds = [FeedRow(user: reader.id, traits: kept)]
    if told { feeds.append(FeedRow(user: peer.id, traits: kept.union(.inbound))) }
    try writer.insert(entry, feeds: feeds, key: nil)
    dialog.end(at: position)
    try writer.update(dialog)
    return entry
  }

  /// An entry in a user's own record.
  @discardableResult
  func note(_ fact: Fact, by owner: Party, _ writer: any StoreWriter) throws -> Entry {
    var dialog = try dialog(owner, owner, writer)
    let position = step()
    let entry = Entry(
      position: position, time: time, dialog: dialog.id, author: owner, place: .peer(owner), fact: fact,
      id: id(position))
    try writer.insert(entry, feeds: [FeedRow(user: owner.id, traits: [])], key: nil)
    dialog.end(at: position)
    try writer.update(dialog)
    return entry
  }
}
