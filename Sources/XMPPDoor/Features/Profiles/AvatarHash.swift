import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0153: the hash of the user's avatar in presence, added by the server (XEP-0398 4), so that no client has to
/// fetch its own vCard for it at every login.
struct AvatarHash: Feature {
  static let xep = XEP(
    153, "1.1.1", "vCard-Based Avatars",
    note: """
      The server adds the hash to presence (XEP-0398 4), in rooms too. It does not announce in place of a client that \
      there is no picture.
      """)

  private static let update = Name("x", NS.vCardUpdate)
  private static let photo = Name("photo", NS.vCardUpdate)
  /// The presence in which this server announced that there is no avatar any more: a client's own announcement of that
  /// must be left alone, the server's need not.
  private static let retraction = Slot<Presence?>(nil)

  func register(in table: inout FeatureTable) {}

  /// Writes the children of a client's presence with the hash of the avatar.
  ///
  /// - Parameters:
  ///   - profile: the sender's; if `nil` it is unknown, and nothing is changed.
  ///   - isAvailable: only available presence carries a hash.
  ///   - isLeftOut: children that are not written at all.
  static func writeChildren(
    of presence: Element, profile: Profile?, isAvailable: Bool,
    except isLeftOut: (Element) -> Bool = { _ in false }, into writer: inout ElementWriter
  ) {
    guard isAvailable, let profile else { return writer.children(of: presence, except: isLeftOut) }
    let said = presence.first(update)
    switch (said?.first(photo), profile.avatarHash) {
    case (let photo?, _) where !photo.hasText:
      // "I have none" is for the client to say.
      writer.children(of: presence, except: isLeftOut)
    case (.some, nil): writer.children(of: presence, except: isLeftOut)
    case (nil, nil):
      // "Not ready yet" is overwritten; a presence without the element stays so.
      writer.children(of: presence) { $0.is(update) || isLeftOut($0) }
      if said != nil { write(nil, into: &writer) }
    case (_, let hash?):
      writer.children(of: presence) { $0.is(update) || isLeftOut($0) }
      write(hash, into: &writer)
    }
  }

  /// Writes the element.
  ///
  /// - Parameter hash: the hash; `nil` if there is no avatar (XEP-0153 4.1).
  static func write(_ hash: String?, into writer: inout ElementWriter) {
    writer.element(update) { writer in
      writer.element(photo) { writer in
        if let hash { writer.text(hash) }
      }
    }
  }

  /// Handles a change of the user's profile: if the avatar has changed, the session's presence is sent again. A presence is parsed once,
  /// and not for each change: profiles change often, and each session has a presence of up to a whole stanza.
  static func changed(_ profile: Profile, _ session: XMPPSession) {
    guard let presence = session.presence, let extras = presence.extras else { return }
    let said = session.avatarSaid ?? Said(extras: extras)
    session.avatarSaid = said
    let isOurs = session[retraction] === presence
    guard let amended = said.amended(hash: profile.avatarHash, mayFillEmpty: isOurs) else { return }
    let next = Presence(
      from: presence.from, resource: presence.resource, availability: presence.availability, status: presence.status,
      priority: presence.priority, id: presence.id, language: presence.language, extras: amended.extras,
      time: session.parley.clock.now)
    session[retraction] = profile.avatarHash == nil ? next : nil
    session.presence = next
    session.avatarSaid = amended
    session.charge(deliveries: session.parley.hub.setPresence(next, of: session.handle))
  }

  /// The children of a presence, and what they say of the avatar.
  struct Said: Sendable {
    let extras: [UInt8]
    /// The hash, empty if there is no avatar; `nil` if nothing is said.
    private let hash: String?
    /// The bytes at the end of the children that say so, if this server has written them there.
    private let ownBytes: Int?

    /// Creates what a client's presence says. Children that cannot be parsed are left as they are, as if they said that there is none.
    init(extras: [UInt8]) {
      self.extras = extras
      ownBytes = nil
      if let presence = Self.parsed(extras) {
        hash = presence.first(AvatarHash.update)?.first(AvatarHash.photo)?.text
      } else {
        hash = ""
      }
    }

    /// Creates what this server has written at the end of the children.
    init(extras: [UInt8], hash: String?, ownBytes: Int) {
      self.extras = extras
      self.hash = hash ?? ""
      self.ownBytes = ownBytes
    }

    private static func parsed(_ extras: [UInt8]) -> Element? {
      try? Element(parsing: Array("<presence xmlns='jabber:client'>".utf8) + extras + Array("</presence>".utf8))
    }

    /// Returns the children with another hash; `nil` if nothing changes.
    func amended(hash: String?, mayFillEmpty: Bool) -> Said? {
      if self.hash == hash || hash == nil && self.hash?.isEmpty == true { return nil }
      if self.hash?.isEmpty == true, !mayFillEmpty { return nil }
      var writer = ElementWriter()
      if let ownBytes {
        writer.raw(extras.dropLast(ownBytes))
      } else if let presence = Self.parsed(extras) {
        writer.children(of: presence) { $0.is(AvatarHash.update) }
      } else {
        return nil
      }
      let start = writer.buffer.readableBytes
      AvatarHash.write(hash, into: &writer)
      return Said(
        extras: Array(writer.buffer.readableBytesView), hash: hash, ownBytes: writer.buffer.readableBytes - start)
    }
  }
}
