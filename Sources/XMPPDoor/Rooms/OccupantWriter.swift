import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Writes an occupant's presence in a room (XEP-0045 7.2.2 to 7.2.4, 7.6, 7.7, 7.14, 8, 9, 10.9, 17.3; occupant ids:
/// XEP-0421 3.1; hats: XEP-0317 3.1).
///
/// All recipients get the same stanza but for the `to`, in one of three variants (`PresenceVariant`). A room of
/// hundreds encodes each variant once:
///
///     writer.open(.presence)
///     writer.attribute("to", recipient)
///     writer.close(with: OccupantWriter.shared(presence, isModerator: false))
enum OccupantWriter {
  /// The variant of a presence for a kind of recipient.
  enum PresenceVariant: Hashable, Sendable, CaseIterable {
    /// Without the address.
    case anonymous
    /// With the full address: in non-anonymous rooms, and for moderators.
    case addressed
    /// For the occupant's own sessions: with the address and status code 110.
    case own
  }

  /// Returns the variant for recipients other than the occupant.
  static func variant(of presence: OccupantPresence, isModerator: Bool) -> PresenceVariant {
    presence.showsAddress || isModerator ? .addressed : .anonymous
  }

  // MARK: Stanzas

  /// Writes the stanza for one recipient.
  ///
  /// - Parameter version: the version of the member list, where the room tells it (XEP-0463 5.2).
  static func write(
    _ presence: OccupantPresence, variant: PresenceVariant, version: MemberListVersion? = nil, to: String,
    into writer: inout ElementWriter
  ) {
    writer.element(.presence) { writer in
      writer.attribute("to", to)
      writeRest(presence, variant, version, into: &writer)
    }
  }

  /// Returns the bytes behind the `to`: the other attributes, the content and the end tag, for
  /// `ElementWriter.close(with:)`.
  static func tail(
    of presence: OccupantPresence, variant: PresenceVariant, version: MemberListVersion? = nil
  ) -> [UInt8] {
    var writer = ElementWriter()
    writer.open(.presence)
    let start = writer.buffer.writerIndex
    writeRest(presence, variant, version, into: &writer)
    writer.close()
    return Array(writer.buffer.readableBytesView.dropFirst(start))
  }

  /// Returns the tail for recipients other than the occupant, encoded once per presence and kept with it. Only
  /// recipients who see addresses get a version.
  static func shared(
    _ presence: OccupantPresence, isModerator: Bool, version: @autoclosure () -> MemberListVersion? = nil
  ) -> [UInt8] {
    let tails = presence.forms.form(for: .xmpp) {
      Tails(
        addressed: tail(of: presence, variant: .addressed, version: version()),
        anonymous: presence.showsAddress ? nil : tail(of: presence, variant: .anonymous))
    }
    return isModerator ? tails.addressed : tails.anonymous ?? tails.addressed
  }

  private struct Tails: Sendable {
    let addressed: [UInt8]
    /// The tail without the address; `nil` if no recipient needs it.
    let anonymous: [UInt8]?
  }

  private static func writeRest(
    _ presence: OccupantPresence, _ variant: PresenceVariant, _ version: MemberListVersion?,
    into writer: inout ElementWriter
  ) {
    writer.attribute("from", "\(presence.room.address)/\(presence.nick)")
    if !presence.isAvailable { writer.attribute("type", "unavailable" as StaticString) }
    writer.attribute("id", presence.presence.id)
    writer.attribute("xml:lang", presence.presence.language)
    // Children that only rooms may add were removed before.
    Outbound.writeChildren(of: presence.presence, into: &writer)
    writeUser(presence, variant, version, into: &writer)
    if !presence.occupantID.isEmpty { writer.element(.occupantID) { $0.attribute("id", presence.occupantID) } }
    if presence.isAvailable { writeHats(of: presence.affiliation, into: &writer) }
  }

  // MARK: The children of the room

  private static func writeUser(
    _ presence: OccupantPresence, _ variant: PresenceVariant, _ version: MemberListVersion?,
    into writer: inout ElementWriter
  ) {
    writer.element(.mucUser) { writer in
      version?.write(into: &writer)
      writeItem(presence, variant, into: &writer)
      if let destroyed = presence.destroyed {
        writer.element("destroy") { writer in
          writer.attribute("jid", destroyed.alternate?.description)
          if let password = destroyed.password { writer.element("password") { $0.text(password) } }
          RoomReason.write(presence.reason, into: &writer)
        }
      }
      for code in codes(of: presence, variant) { writeStatus(code, into: &writer) }
    }
  }

  private static func writeItem(
    _ presence: OccupantPresence, _ variant: PresenceVariant, into writer: inout ElementWriter
  ) {
    let isDestroyed = presence.destroyed != nil
    // 7.14: an occupant who has left has no role; one who changes the nick has not left (7.6).
    let isGone = !presence.isAvailable && presence.newNick == nil
    writer.element("item") { writer in
      // 10.9: a destroyed room has no affiliations.
      writer.attribute("affiliation", isDestroyed ? Affiliation.none.text : presence.affiliation.text)
      if variant != .anonymous { writer.attribute("jid", address(presence.party, presence.resource)) }
      writer.attribute("nick", presence.newNick)
      writer.attribute("role", isGone ? Role.none.text : presence.role.text)
      if let actor = presence.actor { writer.element("actor") { $0.attribute("nick", actor) } }
      if !isDestroyed { RoomReason.write(presence.reason, into: &writer) }
    }
  }

  /// Returns the status codes, each once, in order.
  private static func codes(of presence: OccupantPresence, _ variant: PresenceVariant) -> [UInt16] {
    var codes = Set(presence.codes)
    if variant == .own { codes.formUnion(presence.ownCodes + [110]) }
    return codes.sorted()
  }

  static func writeStatus(_ code: UInt16, into writer: inout ElementWriter) {
    writer.element("status") { $0.attribute("code", code) }
  }

  /// Writes the hat of a watcher: no pair of affiliation and role says that a user may only read for good (a
  /// visitor may get voice any time). Owners, admins and moderators wear none: clients show them by `<item/>`, and
  /// would show them twice.
  private static func writeHats(of affiliation: Affiliation, into writer: inout ElementWriter) {
    guard affiliation == .watcher else { return }
    writer.element(.hats) { writer in
      writer.element(.hat) { writer in
        writer.attribute("title", "Watcher" as StaticString)
        writer.attribute("uri", watcher)
        writer.attribute("xml:lang", "en" as StaticString)
      }
    }
  }

  static let watcher: StaticString = "urn:parley:hat:watcher"

  /// Returns the address (17.3 rule 10), full where there is a session.
  static func address(_ party: Party, _ resource: String?) -> String {
    guard let resource else { return party.address.description }
    return "\(party.address)/\(resource)"
  }
}
