import Addresses
import XMLStream
import XMPP

/// XEP-0359: the id a client gives its message, and the ids only servers give.
///
/// Here also stands what no client may say to another, whether or not we speak
/// the protocol it belongs to: what a receiver would take for our word.
struct StanzaIDs: Feature {
  static let xep = XEP(359, "0.7.0", "Unique and Stable Stanza IDs")

  /// Bytes of an id that is looked up or stored as a key: ids are UUIDs or
  /// shorter, and 1,023 is what everything else in an address may have.
  static let idBytesMax = 1_023

  static func isUsable(_ id: String) -> Bool { !id.isEmpty && id.utf8.count <= idBytesMax }

  private static let retract = Name("retract", NS.retraction)
  private static let retracted = Name("retracted", NS.retraction)
  private static let moderated = Name("moderated", NS.moderation)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.stanzaID)")
    table.read(.originID) { element, draft in
      if let id = element["id"], Self.isUsable(id) { draft.originID = id }
    }
  }

  /// Whether a child is taken off a client's message.
  ///
  /// - Parameter domain: the sender's: every JID at it, or below it, is ours to
  ///   speak for.
  static func isStripped(_ child: Element, domain: String) -> Bool {
    if child.is(.stanzaID) {
      // 3: those that are, or look like, one we would set; and those that are
      // nobody's, since 'by' is REQUIRED.
      return child.withAttribute("by") { isOurs($0, domain) } ?? true
    }
    if child.is(.delay) {
      // XEP-0203 5; a client's own delay, from its full JID or unsigned, stays.
      return child.withAttribute("from") { bytes in
        guard let jid = JID(parsing: bytes) else { return true }
        return jid.isBare && isOurs(jid, domain)
      } ?? false
    }
    // Only rooms say these: XEP-0421 4, XEP-0317 3, and of occupants XEP-0045.
    if child.is(.occupantID) || child.is(.hats) { return true }
    if child.is(.mucUser) { return child.first(.mucUserItem) != nil || child.first(.mucUserStatus) != nil }
    // Tombstones (XEP-0424 4, XEP-0425 4) and moderated retractions (XEP-0425 3.1) are made by servers.
    if child.is(retracted) || child.is(moderated) { return true }
    if child.is(retract) { return child.first(moderated) != nil }
    // XEP-0490 7: meant for the sender's own server.
    return child.is(DisplayedElement.displayed)
  }

  /// The same of what another server says: it has ids, delays and rooms of its own, and none of ours.
  static func isForged(_ child: Element, domain: String, sender: String) -> Bool {
    let attribute: StaticString
    if child.is(.stanzaID) {
      attribute = "by"
    } else if child.is(.delay) {
      attribute = "from"
    } else {
      return child.is(DisplayedElement.displayed)
    }
    return child.withAttribute(attribute) { bytes in
      guard let jid = JID(parsing: bytes) else { return true }
      return jid.domain != sender && isOurs(jid, domain)
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
