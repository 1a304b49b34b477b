import Addresses
import Dialogs

/// The content of an entry beside its message, as the bytes of `payloads.detail`. The first byte is the format's
/// version.
enum FactCoding {
  static let version: Int64 = 1

  /// Encodes a fact; `nil` if the payload's other columns contain it all.
  static func encode(_ fact: Fact) -> [UInt8]? {
    var out = ByteWriter()
    switch fact {
    case .message, .dialogOpened: return nil
    case .marker, .contact, .contactGroup, .blocks, .profile, .room, .invitation, .node, .settings, .perUser,
      .draft, .scheduledMessage, .call, .notification, .undelivered:
      out.write(version)
    }
    switch fact {
    case .message, .dialogOpened: return nil
    case .marker(let marker): write(marker, &out)
    case .contact(let change): write(change, &out)
    case .contactGroup(let change):
      out.write(Int64(change.act.rawValue))
      out.write(change.moved) { $0.write($1.id.number) }
      out.write(change.others) { $0.write($1.id.number) }
    case .blocks(let change):
      out.write(Int64(change.act.rawValue))
      out.write(change.patterns) { $0.write($1.jid.description) }
    case .profile(let profile):
      out.write(profile.displayName) { $0.write($1) }
      out.write(profile.status) { $0.write($1) }
      out.write(profile.avatarHash) { $0.write($1) }
      out.write(profile.metadata) { $0.write($1) }
      out.write(profile.avatarURL) { $0.write($1) }
    case .room(let change): write(change, &out)
    case .invitation(let invitation): write(invitation, &out)
    case .node(let change): write(change, &out)
    case .settings(let change): write(change, &out)
    case .perUser(let change): write(change, &out)
    case .draft(let dialog, let draft): write(draft, in: dialog, &out)
    case .scheduledMessage(let change): write(change, &out)
    case .call(let change): write(change, &out)
    case .notification(let notification): write(notification, &out)
    case .undelivered(let undelivered): write(undelivered, &out)
    }
    return out.bytes
  }

  /// Decodes a fact. `stanza` reads the payload's other columns, `seal` returns the public id of a marker's target,
  /// `party` and `room` those of a number.
  static func decode(
    _ kind: Fact.Kind, _ detail: [UInt8], in dialog: DialogID, stanza: () throws(StoreFailure) -> Message,
    seal: (Position) -> PublicID, party: (UserID) throws -> Party, room: (DialogID) throws -> RoomName
  ) throws -> Fact {
    switch kind {
    case .message: return .message(try stanza())
    case .dialogOpened: return .dialogOpened
    case .marker, .contact, .contactGroup, .blocks, .profile, .room, .invitation, .node, .settings, .perUser,
      .draftOrScheduled,
      .call, .notification, .undelivered:
      break
    }
    var from = ByteReader(detail)
    guard try from.int() == version else { throw damaged }
    switch kind {
    case .message, .dialogOpened: throw damaged
    case .marker: return .marker(try marker(&from, in: dialog, stanza: stanza, seal: seal))
    case .contact: return .contact(try contactChange(&from))
    case .contactGroup:
      guard let act = ContactGroupChange.Act(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
      let moved = try from.list { from throws(StoreFailure) in UserID(try from.int()) }
      let others = try from.list { from throws(StoreFailure) in UserID(try from.int()) }
      return .contactGroup(ContactGroupChange(act: act, moved: try moved.map(party), others: try others.map(party)))
    case .blocks:
      guard let act = BlockChange.Act(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
      let patterns = try from.list { from throws(StoreFailure) in
        guard let jid = JID(stored: try from.text()) else { throw damaged }
        return BlockPattern(jid)
      }
      return .blocks(BlockChange(act: act, patterns: patterns))
    case .profile:
      return .profile(
        Profile(
          displayName: try from.optional(text), status: try from.optional(text),
          avatarHash: try from.optional(text), metadata: try from.optional(text),
          // Entries of earlier versions have none.
          avatarURL: from.isAtEnd ? nil : try from.optional(text)))
    case .room: return .room(try roomChange(&from, stanza: stanza, party: party))
    case .invitation: return .invitation(try invitation(&from, party: party, room: room))
    case .node: return .node(try nodeChange(&from))
    case .settings: return .settings(try settingsChange(&from))
    case .perUser: return .perUser(try perUserMessageChange(&from))
    case .draftOrScheduled: return try draftOrScheduled(&from)
    case .call: return .call(try callChange(&from, in: dialog, stanza: stanza, party: party))
    case .notification: return .notification(try notification(&from))
    case .undelivered: return .undelivered(try undelivered(&from, party: party))
    }
  }

  /// Encodes the groups of a roster item; `nil` if there are none.
  static func encode(groups: [String]) -> [UInt8]? {
    if groups.isEmpty { return nil }
    var out = ByteWriter()
    out.write(groups) { $0.write($1) }
    return out.bytes
  }

  static func decode(groups: [UInt8]) throws(StoreFailure) -> [String] {
    if groups.isEmpty { return [] }
    var from = ByteReader(groups)
    return try from.list(text)
  }

  static var damaged: StoreFailure { .corrupt("the parts of an entry make no sense") }
  static func text(_ from: inout ByteReader) throws(StoreFailure) -> String { try from.text() }

  // MARK: Markers

  private static func write(_ marker: Marker, _ out: inout ByteWriter) {
    out.write(Int64(marker.kind.rawValue))
    out.write(marker.mark.user.number)
    out.write(marker.mark.delivered.number)
    out.write(marker.mark.displayed.number)
    out.write(marker.mark.displayedOrdinal)
    out.write(marker.mark.own)
    out.write(marker.mark.ownAtDisplayed)
    out.write(marker.mark.position.number)
    out.write(marker.target.number)
    out.write(marker.targetStanzaID) { $0.write($1) }
    out.write(marker.stanza != nil)
    // Stored as a number, for which a flag of earlier versions reads as -1 if it is set, so that both versions can read both.
    if marker.told, marker.hidesRead { out.write(Int64(1)) } else { out.write(marker.told) }
    out.write(marker.asked)
  }

  private static func marker(
    _ from: inout ByteReader, in dialog: DialogID, stanza: () throws(StoreFailure) -> Message,
    seal: (Position) -> PublicID
  ) throws(StoreFailure) -> Marker {
    guard let kind = Marker.Kind(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
    let mark = Mark(
      dialog: dialog, user: UserID(try from.int()), delivered: Position(try from.int()),
      displayed: Position(try from.int()), displayedOrdinal: try from.int(), own: try from.int(),
      ownAtDisplayed: try from.int(), position: Position(try from.int()))
    let target = Position(try from.int())
    let targetStanzaID = try from.optional(text)
    let carried = try from.flag() ? try stanza() : nil
    let told = try from.int()
    return Marker(
      kind: kind, mark: mark, target: target, targetID: seal(target), targetStanzaID: targetStanzaID,
      stanza: carried, told: told != 0, asked: try from.flag(), hidesRead: told == 1)
  }

  // MARK: Contacts

  private static func write(_ change: ContactChange, _ out: inout ByteWriter) {
    let contact = change.contact
    out.write(contact.owner.number)
    out.write(contact.address.description)
    out.write(contact.peer) { $0.write($1.number) }
    out.write(contact.name) { $0.write($1) }
    out.write(contact.groups) { $0.write($1) }
    out.write(Int64(contact.subscription.rawValue))
    out.write(contact.request) { $0.write($1) }
    out.write(contact.version.number)
    out.write(change.removed)
    out.write(change.push)
    out.write(change.act) { $0.write(Int64($1.rawValue)) }
    out.write(change.stanza) { $0.write($1) }
  }

  private static func contactChange(_ from: inout ByteReader) throws(StoreFailure) -> ContactChange {
    let owner = UserID(try from.int())
    guard let address = BareJID(stored: try from.text()) else { throw damaged }
    let peer = try from.optional { from throws(StoreFailure) in UserID(try from.int()) }
    let name = try from.optional(text)
    let groups = try from.list(text)
    guard let subscription = Subscription(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
    let request = try from.optional { from throws(StoreFailure) in try from.array() }
    let contact = Contact(
      owner: owner, address: address, peer: peer, name: name, groups: groups, subscription: subscription,
      request: request, version: Position(try from.int()))
    let removed = try from.flag()
    let push = try from.flag()
    let act = try from.optional { from throws(StoreFailure) in
      guard let act = SubscriptionAct(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
      return act
    }
    return ContactChange(
      contact: contact, removed: removed, push: push, act: act,
      stanza: try from.optional { from throws(StoreFailure) in try from.array() })
  }
}

// MARK: Notifications

extension FactCoding {
  static func write(_ notification: AppNotification, _ out: inout ByteWriter) {
    out.write(notification.id)
    write(notification.title, &out)
    write(notification.body, &out)
    out.write(notification.data) { $0.write($1) }
  }

  /// Writes nothing, a text, or a key with its arguments.
  private static func write(_ phrase: AppNotification.Phrase?, _ out: inout ByteWriter) {
    switch phrase {
    case nil: out.write(Int64(0))
    case .text(let text):
      out.write(Int64(1))
      out.write(text)
    case .key(let key, let args):
      out.write(Int64(2))
      out.write(key)
      out.write(args) { $0.write($1) }
    }
  }

  static func notification(_ from: inout ByteReader) throws(StoreFailure) -> AppNotification {
    AppNotification(
      id: try from.text(), title: try phrase(&from), body: try phrase(&from), data: try from.optional(text))
  }

  private static func phrase(_ from: inout ByteReader) throws(StoreFailure) -> AppNotification.Phrase? {
    switch try from.int() {
    case 0: return nil
    case 1: return .text(try from.text())
    case 2: return .key(try from.text(), try from.list(text))
    default: throw damaged
    }
  }
}
