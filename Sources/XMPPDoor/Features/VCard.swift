import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0054: a user's vCard.
///
/// The profile that apps see and the vCard are one: the name and the picture
/// are taken out of what a client stores, and put into what anybody reads, so
/// that a change by either door shows in both. The rest is kept as it came.
struct VCard: Feature {
  static let xep = XEP(54, "1.3.0", "vcard-temp")

  static let vCard = Name("vCard", NS.vCard)
  private static let fullName = Name("FN", NS.vCard)
  private static let nickname = Name("NICKNAME", NS.vCard)
  private static let photo = Name("PHOTO", NS.vCard)
  private static let type = Name("TYPE", NS.vCard)
  private static let binary = Name("BINVAL", NS.vCard)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.vCard)")
    table.iq(.get, Self.vCard, to: [.account, .user], Self.get)
    table.iq(.set, Self.vCard, to: [.account]) { (turn, vCard) throws(StanzaError) in
      turn.postAndReply(.profile(try Self.read(vCard)))
    }
    // 3.2.
    table.iq(.set, Self.vCard, to: [.user, .server]) { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
  }

  // MARK: Get

  /// What there is of a user's vCard.
  struct Stored: Sendable {
    var profile: Profile
    var vCard: [UInt8]?
    var avatar: Avatar?
    var isEmpty: Bool { vCard == nil && avatar == nil && profile.displayName == nil }
  }

  private static func get(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let address = turn.to?.bare ?? turn.party.address
    let isOwn = address == turn.party.address
    let jid = turn.jid.jid
    turn.fetch { reader -> Stored? in
      guard let user = try reader.user(address), user.state == .active else { return nil }
      if !isOwn, try reader.blocks(of: user.id).contains(where: { $0.matches(jid) }) { return nil }
      return Stored(
        profile: user.profile, vCard: try reader.vault(user.id, node: Vault.vCard, item: Vault.bytes),
        avatar: try reader.avatar(of: user))
    } reply: { (stored) throws(StanzaError) in
      guard let stored, !stored.isEmpty else {
        // 3.1; for others 3.3: no vCard and no user look alike.
        throw StanzaError(isOwn ? .itemNotFound : .serviceUnavailable)
      }
      turn.reply { write(stored, into: &$0) }
    }
  }

  static func write(_ stored: Stored, into writer: inout ElementWriter) {
    let kept = stored.vCard.flatMap { try? Element(parsing: $0) }
    // The app may have changed the name since.
    let isRenamed = stored.profile.displayName != kept.flatMap(name)
    writer.open(vCard)
    if isRenamed, let name = stored.profile.displayName {
      writer.open(fullName)
      writer.text(name)
      writer.close()
    }
    if let kept {
      writer.children(of: kept) { child in
        isRenamed && (child.is(fullName) || child.is(nickname)) || child.is(photo) && stored.avatar != nil
      }
    }
    if let avatar = stored.avatar {
      writer.open(photo)
      writer.open(type)
      writer.text(avatar.mediaType)
      writer.close()
      writer.open(binary)
      writer.text(Base64.encode(avatar.bytes))
      writer.close()
      writer.close()
    }
    writer.close()
  }

  // MARK: Set

  /// What a client wants its vCard to be. It is always the whole (3.2): what is
  /// not in it, goes.
  static func read(_ vCard: Element) throws(StanzaError) -> ProfileDraft {
    let picture = vCard.first(photo).flatMap { $0.first(binary) }
    var avatar: Avatar?
    if let picture, let bytes = try decoded(picture), !bytes.isEmpty {
      avatar = Avatar(bytes)
    }
    var writer = ElementWriter()
    writer.open(self.vCard)
    var isEmpty = true
    for child in vCard.children where !(child.is(photo) && picture != nil) {
      isEmpty = false
      writer.element(child)
    }
    writer.close()
    let rest = isEmpty ? [] : Array(writer.buffer.readableBytesView)
    guard rest.count <= Dialogs.Limits.vCardBytesMax else {
      throw StanzaError(.policyViolation, "a vCard has at most \(Dialogs.Limits.vCardBytesMax) bytes")
    }
    return ProfileDraft(displayName: .some(name(vCard)), avatar: .some(avatar), vCard: rest)
  }

  /// The name that apps show: FN, else NICKNAME, cut to what a profile holds.
  static func name(_ vCard: Element) -> String? {
    for field in [fullName, nickname] {
      guard let text = vCard.first(field)?.text, !text.allSatisfy(\.isWhitespace) else { continue }
      var name = text
      while name.utf8.count > Dialogs.Limits.displayNameBytesMax { name.removeLast() }
      return name
    }
    return nil
  }

  /// The picture's bytes. White space within base 64 is ignored (XEP-0153 4.6).
  private static func decoded(_ picture: Element) throws(StanzaError) -> [UInt8]? {
    let characters = picture.withText { text in text.filter { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 } }
    // Four characters are three bytes: refuse what is too large before decoding it.
    guard characters.count / 4 * 3 <= Dialogs.Limits.avatarBytesMax + 2 else {
      throw StanzaError(.policyViolation, "a picture has at most \(Dialogs.Limits.avatarBytesMax) bytes")
    }
    guard let bytes = Base64.decode(characters) else {
      throw StanzaError(.badRequest, "<BINVAL/> is no base 64")
    }
    return bytes
  }
}
