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

  /// Handles a change of the user's profile: if the avatar has changed, the session's presence is sent again.
  static func changed(_ profile: Profile, _ session: XMPPSession) {
    guard let presence = session.presence, let said = presence.extras else { return }
    let isOurs = session[retraction] === presence
    guard let extras = amended(said, hash: profile.avatarHash, mayFillEmpty: isOurs) else { return }
    let next = Presence(
      from: presence.from, resource: presence.resource, availability: presence.availability, status: presence.status,
      priority: presence.priority, id: presence.id, language: presence.language, extras: extras,
      time: session.parley.clock.now)
    session[retraction] = profile.avatarHash == nil ? next : nil
    session.presence = next
    let count = session.parley.hub.setPresence(next, of: session.handle)
    if count > 0 { session.sending.owe(deliveries: count, now: next.time) }
  }

  /// Returns the children of a presence with another hash; `nil` if nothing changes.
  static func amended(_ extras: [UInt8], hash: String?, mayFillEmpty: Bool) -> [UInt8]? {
    let document = Array("<presence xmlns='jabber:client'>".utf8) + extras + Array("</presence>".utf8)
    guard let presence = try? Element(parsing: document) else { return nil }
    let said = presence.first(update)?.first(photo)
    if let said {
      if !said.hasText && (!mayFillEmpty || hash == nil) { return nil }
      if let hash, said.text == hash { return nil }
    } else if hash == nil {
      return nil
    }
    var writer = ElementWriter()
    writer.children(of: presence) { $0.is(update) }
    write(hash, into: &writer)
    return Array(writer.buffer.readableBytesView)
  }
}
