import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0359: the id that a client gives its message, and the ids that only servers give.
///
/// This file also lists the elements that no client may send to another, whether or not the server implements their
/// protocol: a receiver would take them for the server's.
struct StanzaIDs: Feature {
  static let xep = XEP(
    359, "0.7.0", "Unique and Stable Stanza IDs",
    note: "A client's id of more than 1,023 bytes is delivered; what refers to the message has its `<stanza-id/>`.")

  /// Returns whether an id can be looked up and stored as a key (`Limits.stanzaIDBytesMax`).
  static func isUsable(_ id: String) -> Bool { !id.isEmpty && id.utf8.count <= Limits.stanzaIDBytesMax }

  private static let moderated = Name("moderated", NS.moderation)
  /// XEP-0091, which XEP-0203 has replaced, and some clients still read.
  private static let oldDelay = Name("x", "jabber:x:delay")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.stanzaID)")
    table.read(.originID) { element, draft in
      if let id = element["id"], Self.isUsable(id) { draft.originID = id }
    }
  }

  /// The elements that are removed from clients' messages, each by a rule, which is given the element and the sender's domain.
  private static let stripped: [(name: Name, rule: @Sendable (Element, String) -> Bool)] = [
    // 3: ids that this server sets or seems to set, and those without 'by', which is REQUIRED.
    (.stanzaID, { child, domain in child.withAttribute("by") { isOurs($0, domain) } ?? true }),
    // XEP-0203 5; a client's own delay, from its full JID or without 'from', stays.
    (
      .delay,
      { child, domain in
        child.withAttribute("from") { bytes in
          guard let jid = JID(parsing: bytes) else { return true }
          return jid.isBare && isOurs(jid, domain)
        } ?? false
      }
    ),
    // XEP-0489 4.2: this server's word.
    (AccountAffiliations.info, always),
    // Only rooms send these: XEP-0421 4, XEP-0317 3, and items of XEP-0045.
    (.occupantID, always), (.hats, always),
    (.mucUser, { child, _ in child.first(.mucUserItem) != nil || child.first(.mucUserStatus) != nil }),
    // Rooms name the author's own address by this (XEP-0033 4.6.7, XEP-0045 7.2.13); Gajim believes it.
    (
      Name("addresses", NS.address), { child, _ in child.children.contains { $0.has("type", equalTo: "ofrom") } }
    ),
    // Tombstones (XEP-0424 4, XEP-0425 4) and moderated retractions (XEP-0425 3.1) are made by servers.
    (Name("retracted", NS.retraction), always), (moderated, always),
    (Name("retract", NS.retraction), { child, _ in child.first(moderated) != nil }),
    // Archives answer with these (XEP-0313 4.2), and users' own servers copy with these (XEP-0280 7).
    (Archive.result, always), (Carbons.sent, always), (Carbons.received, always),
    // XEP-0490 7: meant for the sender's own server.
    (DisplayedElement.displayed, always),
  ]
  private static let strippedNames = NameFilter(stripped.map(\.name))
  @Sendable private static func always(_: Element, _: String) -> Bool { true }

  /// Returns whether a child is removed from a client's message.
  ///
  /// - Parameter domain: the sender's domain; only this server may use addresses of it or below it.
  static func isStripped(_ child: Element, domain: String) -> Bool {
    guard strippedNames.mayContain(child), let rule = stripped.first(where: { child.is($0.name) })?.rule else {
      return false
    }
    return rule(child, domain)
  }

  /// Returns whether a child passes on an invitation to a room, or its refusal, as only rooms do: with the address of its
  /// author. A client sends both to the room, for somebody (XEP-0045 7.8.2).
  static func isInvitation(_ child: Element) -> Bool {
    guard child.is(.mucUser) else { return false }
    return child.children.contains {
      ($0.is(.mucUserInvite) || $0.is(.mucUserDecline)) && ($0["from"] != nil || $0["to"] == nil)
    }
  }

  /// Returns whether a child dates what an occupant says by an address of the rooms, or by nobody's: others would read it
  /// as the time of the room's history (XEP-0045 7.2.13, XEP-0203 5). Who brings a chat into a room names its
  /// authors (XEP-0045 7.9).
  ///
  /// - Parameter rooms: the domain of the room.
  static func isRoomsDelay(_ child: Element, rooms: String) -> Bool {
    guard child.is(.delay) || child.is(oldDelay) else { return false }
    return child.withAttribute("from") { bytes in
      guard let jid = JID(parsing: bytes) else { return true }
      return jid.hasDomain(rooms)
    } ?? true
  }

  /// Returns the same for a message from another server, which may use its own addresses, but none of this one's.
  static func isForged(_ child: Element, sender: String, _ door: DoorContext) -> Bool {
    let attribute: StaticString
    if child.is(.stanzaID) {
      attribute = "by"
    } else if child.is(.delay) {
      attribute = "from"
    } else {
      // XEP-0280 6: copies are made by a user's own server.
      return child.is(DisplayedElement.displayed) || child.is(Carbons.sent) || child.is(Carbons.received)
    }
    return child.withAttribute(attribute) { bytes in
      guard let jid = JID(parsing: bytes) else { return true }
      return jid.domain != sender && door.isOurs(jid)
    } ?? child.is(.stanzaID)
  }

  private static func isOurs(_ bytes: UnsafeRawBufferPointer, _ domain: String) -> Bool {
    guard let jid = JID(parsing: bytes) else { return true }
    return isOurs(jid, domain)
  }

  private static func isOurs(_ jid: JID, _ domain: String) -> Bool {
    jid.hasDomain(domain) || jid.domain.hasSuffix(".\(domain)")
  }
}
