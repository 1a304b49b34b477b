import Addresses
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// RFC 6121 2: reads and writes the roster. Its data is in the user's contact snapshot.
///
/// The whole roster is encoded once per snapshot, so that a get copies bytes. A client that states its version (2.6)
/// gets only the changes since, each item once, as pushes behind an empty result. The user is charged for what is encoded, and for
/// each copy by its bytes, as for every answer.
///
/// A contact by a contact group to whom the user gave no name has that of their profile (2.1.2.4).
struct Roster: Feature {
  static let xep = XEP(0, "", "RFC 6121 2: roster, with versioning (2.6, XEP-0237)")

  private static let item = Name("item", NS.roster)
  private static let group = Name("group", NS.roster)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.roster)", on: [.server, .account])
    table.iq(.get, .roster, to: [.account], Self.get)
    table.iq(.set, .roster, to: [.account], Self.set)
    // 2.1.5, 2.3.3: another user's roster, which only a component may be granted (XEP-0356 4).
    table.iq(.get, .roster, to: [.user]) { (turn, query) throws(StanzaError) in
      try PrivilegedEntity.act(turn, by: .roster(isSet: false)) { (turn) throws(StanzaError) in
        try Self.get(turn, query)
      }
    }
    table.iq(.set, .roster, to: [.user]) { (turn, query) throws(StanzaError) in
      try PrivilegedEntity.act(turn, by: .roster(isSet: true)) { (turn) throws(StanzaError) in
        try Self.set(turn, query)
      }
    }
  }

  // MARK: Get

  /// The version of the last answer: the client has everything up to it.
  private static let told = Slot<Position>(.zero)

  private static func get(_ turn: Turn, _ query: Element) throws(StanzaError) {
    // No attribute: the client knows no versions. Empty: it has none yet (2.6.2). An impersonated session gets one
    // answer only.
    let written = turn.session.impersonated == nil ? query["ver"] : nil
    let known = written.flatMap { turn.parley.position(ofCursor: $0, in: turn.party.realm) }
    turn.afterPosts { () throws(StanzaError) in
      let contactSnapshot = try interest(turn)
      guard let known, known < contactSnapshot.rosterVersion else {
        if let known, known == contactSnapshot.rosterVersion { return turn.reply() }
        return replyWhole(turn, contactSnapshot)
      }
      // Further changes may be committed and pushed while the changes are read: the answer must neither miss one nor
      // send an older one behind it.
      turn.parley.hub.update(turn.session.handle) { $0.wantsRoster = false }
      let owner = turn.party.id
      // The whole roster takes less than more changes than it has items (2.6.3).
      let limit = contactSnapshot.contactCountMax
      turn.fetch { reader in
        (try reader.rosterVersion(of: owner), try reader.contactChanges(of: owner, after: known, limit: limit))
      } reply: { (snapshot) throws(StanzaError) in
        let (version, changes) = snapshot
        let contactSnapshot = try interest(turn)
        guard contactSnapshot.rosterVersion == version, let changes, changes.allSatisfy(isTellable)
        else { return replyWhole(turn, contactSnapshot) }
        turn.session.charge(items: changes.count)
        turn.reply()
        for change in changes { sendPush(change, to: turn.session) }
      }
    }
  }

  /// Turns on pushes for the session (2.2). The snapshot is read behind that, so that no change is missed between the
  /// two.
  @discardableResult
  static func interest(_ turn: Turn) throws(StanzaError) -> ContactSnapshot {
    turn.parley.hub.update(turn.session.handle) { $0.wantsRoster = true }
    guard let contactSnapshot = turn.session.contactSnapshot else { throw StanzaError(.internalServerError) }
    turn.session[told] = contactSnapshot.rosterVersion
    return contactSnapshot
  }

  /// Returns whether a change can be a push. An item that has left the roster without having been removed (a request
  /// came for what had been removed) cannot.
  private static func isTellable(_ change: ContactChange) -> Bool {
    change.removed || change.contact.subscription.isInRoster
  }

  private static func replyWhole(_ turn: Turn, _ contactSnapshot: ContactSnapshot) {
    let body = contactSnapshot.forms.form(for: .xmpp) {
      turn.session.charge(items: contactSnapshot.contactCountMax)
      return encoded(contactSnapshot, version: turn.parley.cursor(contactSnapshot.rosterVersion, in: turn.party.realm))
    }
    turn.reply { $0.raw(body) }
  }

  /// Returns `<query/>` with every visible item, ordered by address. A roster that would become too long for one stanza
  /// has no names but those that the user gave.
  static func encoded(
    _ contactSnapshot: ContactSnapshot, version: String, namedMax: Int = DoorLimits.rosterBytesNamed
  ) -> ByteBuffer {
    let contacts = contactSnapshot.contacts.filter(\.subscription.isInRoster)
      .sorted { $0.address.description < $1.address.description }
    func query(named: Bool) -> ByteBuffer {
      var writer = ElementWriter()
      writer.element(.roster) { writer in
        writer.attribute("ver", version)
        for contact in contacts {
          write(contact, sharedName: named ? contactSnapshot.sharedName(of: contact.address) : nil, into: &writer)
        }
      }
      return writer.buffer
    }
    let whole = query(named: true)
    return whole.readableBytes <= namedMax ? whole : query(named: false)
  }

  /// - Parameter sharedName: the contact's name if the user gave none.
  static func write(_ contact: Contact, sharedName: String? = nil, into writer: inout ElementWriter) {
    let subscription = contact.subscription
    writer.element(item) { writer in
      writer.attribute("jid", contact.address.description)
      writer.attribute("name", contact.name ?? sharedName)
      writer.attribute("subscription", subscription.rosterSubscription)
      writer.attribute("ask", subscription.rosterAsk)
      if subscription.rosterApproved { writer.attribute("approved", "true" as StaticString) }
      for name in contact.groups { writer.element(group) { $0.text(name) } }
    }
  }

  // MARK: Set

  private static func set(_ turn: Turn, _ query: Element) throws(StanzaError) {
    switch try change(query, of: turn.party.address) {
    case .set(let address, let name, let groups):
      turn.postAndReply(
        .contact(
          address: address, name: name, groups: groups, subscription: vouched(query, address, turn.session.impersonated)
        ))
    case .remove(let address):
      // Not in the roster: item-not-found (2.5.3).
      turn.postAndReply(.removeContact(address))
    }
  }

  /// Returns the subscription that a component states between one of its own users and a local one: it represents the
  /// one side, and is granted the other (XEP-0356 4). In all other cases the attribute is ignored (RFC 6121 2.1.2.5).
  private static func vouched(
    _ query: Element, _ address: BareJID, _ impersonated: ImpersonatedSession?
  ) -> Subscription? {
    guard let impersonated, case .roster? = impersonated.behalf?.right,
      address.domain == impersonated.link.party.address.domain
    else { return nil }
    switch query.first(item)?["subscription"] {
    case "none": return Subscription.none
    case "to": return .to
    case "from": return .from
    case "both": return .both
    default: return nil
    }
  }

  enum Change: Hashable {
    case set(BareJID, name: String?, groups: [String])
    case remove(BareJID)
  }

  /// Reads a roster set (2.1.5), or throws its error (2.3.3).
  static func change(_ query: Element, of owner: BareJID) throws(StanzaError) -> Change {
    var items = query.children.makeIterator()
    guard let element = items.next(), element.is(item), items.next() == nil else {
      throw StanzaError(.badRequest, "a roster set has exactly one item")
    }
    let jid = try element.requiredJID("jid")
    guard jid.isBare else { throw StanzaError(.badRequest, "a contact is a bare address") }
    let address = jid.bare
    if element.has("subscription", equalTo: "remove") { return .remove(address) }
    // The interoperability note of 2.3.3.
    if address == owner { throw StanzaError(.notAllowed, "you cannot be your own contact") }
    let name = element["name"].flatMap { $0.isEmpty ? nil : $0 }
    if let name, name.utf8.count > Limits.displayNameBytesMax {
      throw StanzaError(.notAcceptable, "a name has at most \(Limits.displayNameBytesMax) bytes")
    }
    var groups: [String] = []
    for child in element.children where child.is(group) {
      let name = child.text
      if name.isEmpty { throw StanzaError(.notAcceptable, "a group has a name") }
      if name.utf8.count > Limits.groupBytesMax {
        throw StanzaError(.notAcceptable, "a group's name has at most \(Limits.groupBytesMax) bytes")
      }
      if groups.contains(name) { throw StanzaError(.badRequest, "a group is named twice") }
      groups.append(name)
      if groups.count > Limits.groupsPerContactMax {
        throw StanzaError(.notAcceptable, "a contact has at most \(Limits.groupsPerContactMax) groups")
      }
    }
    return .set(address, name: name, groups: groups)
  }

  // MARK: Push

  /// Pushes a change to the session, if it has requested its roster (2.2).
  static func push(_ change: ContactChange, to session: XMPPSession) {
    // A change in an earlier answer may still have been on its way here.
    guard session.onlineSession?.wantsRoster == true, change.contact.version > session[told] else { return }
    sendPush(change, to: session)
  }

  /// Pushes what a contact group has changed, as the roster is now, with the last items of new contacts: a few contacts
  /// at a time, as the client takes them. Only the last push has the version of the change, so that a client that does
  /// not get all of them asks again.
  static func push(_ change: ContactGroupChange, at position: Position, to session: XMPPSession) {
    push(change.contacts(of: session.party.id)[...], of: change, at: position, to: session)
  }

  private static func push(
    _ parties: ArraySlice<Party>, of change: ContactGroupChange, at position: Position, to session: XMPPSession
  ) {
    guard let contactSnapshot = session.contactSnapshot else { return }
    let isWanted = session.onlineSession?.wantsRoster == true && position > session[told]
    let rest = parties.dropFirst(DoorLimits.rosterPushesAtOnce)
    var contacts: [Contact] = []
    for party in parties.prefix(DoorLimits.rosterPushesAtOnce) {
      let found = contactSnapshot.contact(party.address).flatMap { $0.subscription.isInRoster ? $0 : nil }
      let owner = session.party.id
      var contact =
        found ?? Contact(owner: owner, address: party.address, peer: party.id, subscription: .none, version: .zero)
      contact.version = rest.isEmpty && party == parties.last ? position : position.previous
      if isWanted { sendPush(ContactChange(contact: contact, removed: found == nil, push: true), to: session) }
      contacts.append(contact)
    }
    if change.act.isGain { PEP.subscribed(to: contacts, session) }
    if !rest.isEmpty { session.whenTaken { push(rest, of: change, at: position, to: session) } }
  }

  /// Pushes the item of a contact by a group who has another name, unless the user gave them one.
  static func push(nameOf party: Party, at version: Position, to session: XMPPSession) {
    guard session.onlineSession?.wantsRoster == true, version > session[told],
      var contact = session.contactSnapshot?.contact(party.address), !contact.sharedBy.isEmpty, contact.name == nil
    else { return }
    // The signal may overtake earlier changes that wait for the client: with the version before them it asks again, should
    // it not get them.
    contact.version = session.cursor.isCaughtUp && session.paced.isEmpty ? version : session[told]
    sendPush(ContactChange(contact: contact, push: true), to: session)
  }

  private static func sendPush(_ change: ContactChange, to session: XMPPSession) {
    let version = session.parley.cursor(change.contact.version, in: session.party.realm)
    let name = session.contactSnapshot?.sharedName(of: change.contact.address)
    session.send {
      writePush(
        change, sharedName: name, version: version, id: DoorContext.randomID(), to: session.jid.description, into: &$0)
    }
  }

  /// Writes a push. Without `from` it comes from the account itself (2.1.6).
  static func writePush(
    _ change: ContactChange, sharedName: String? = nil, version: String, id: String, to: String, from: String? = nil,
    into writer: inout ElementWriter
  ) {
    writer.element(.iq) { writer in
      writer.attribute("type", IQType.set.text)
      writer.attribute("id", id)
      writer.attribute("from", from)
      writer.attribute("to", to)
      writer.element(.roster) { writer in
        writer.attribute("ver", version)
        if change.removed {
          writer.element(item) { writer in
            writer.attribute("jid", change.contact.address.description)
            writer.attribute("subscription", "remove" as StaticString)
          }
        } else {
          write(change.contact, sharedName: sharedName, into: &writer)
        }
      }
    }
  }
}
