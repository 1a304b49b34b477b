import Addresses
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0054: a user's vCard.
///
/// Profile and vCard share their names and picture (`Dialogs.ProfileNode`): these are taken out of a stored vCard, and
/// put into one that is read, so that a change anywhere shows here. The rest is stored as it came.
struct VCard: Feature {
  static let xep = XEP(
    54, "1.3.0", "vcard-temp",
    note: "FN, NICKNAME and PHOTO are those of the user's profile. All other fields are stored as they are.")

  static let vCard = Name("vCard", NS.vCard)
  private static let names = CardNames(fullName: Name("FN", NS.vCard), nickname: Name("NICKNAME", NS.vCard), text: nil)
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

  /// The stored parts of a user's vCard.
  struct Stored: Sendable {
    var profile: Profile
    /// The full name; `nil` if it is the display name.
    var fullName: String?
    var vCard: [UInt8]?
    /// The picture, if the requester may see it.
    var avatar: Avatar?
    /// Whether there is a vCard; one that was stored without content is one.
    var exists: Bool { vCard != nil || avatar != nil || profile.displayName != nil }
  }

  /// Returns the whole vCard of a user, as an export has it.
  static func stored(of user: User, _ reader: any StoreReader) throws -> Stored {
    Stored(
      profile: user.profile, fullName: try reader.fullName(of: user.id),
      vCard: try reader.value(of: user.id, node: ValueKey.vCard, item: ValueKey.bytes),
      avatar: try reader.avatar(of: user))
  }

  private static func get(_ turn: Turn, _ query: Element) throws(StanzaError) {
    answer(turn, of: turn.to?.bare ?? turn.party.address)
  }

  /// Answers with a user's vCard.
  ///
  /// - Parameter isWhole: whether to return more than the picture.
  static func answer(_ turn: Turn, of address: BareJID, isWhole: Bool = true) {
    let isOwn = address == turn.party.address
    let (viewer, jid) = (turn.party, turn.jid.jid)
    turn.fetch { reader -> (exists: Bool, card: ByteBuffer)? in
      guard let user = try reader.user(address), user.state == .active else { return nil }
      if !isOwn, try reader.blocks(of: user.id).contains(where: { $0.matches(jid) }) { return nil }
      let avatar = try reader.avatar(of: user, for: viewer)
      var stored = Stored(profile: Profile(), avatar: avatar)
      if isWhole {
        stored.profile = user.profile
        stored.fullName = try reader.fullName(of: user.id)
        stored.vCard = try reader.value(of: user.id, node: ValueKey.vCard, item: ValueKey.bytes)
      }
      return (stored.exists, encoded(stored))
    } reply: { (found) throws(StanzaError) in
      // The user's own is empty if there is none (3.1): clients that are to set a first picture read it before. Of others
      // no vCard and no user look alike (3.3).
      guard let found, isOwn || found.exists else { throw StanzaError(.serviceUnavailable) }
      turn.reply { $0.raw(found.card) }
    }
  }

  /// Returns a vCard as it is sent. It is called on a reader's thread: to parse the stored one takes an event loop milliseconds.
  static func encoded(_ stored: Stored) -> ByteBuffer {
    var writer = ElementWriter()
    write(stored, into: &writer)
    return writer.buffer
  }

  static func write(_ stored: Stored, into writer: inout ElementWriter) {
    let kept = stored.vCard.flatMap { try? Element(parsing: $0) }
    writer.element(vCard) { writer in
      let isStale = names.write(
        stored.profile.displayName, fullName: stored.fullName, kept: kept, into: &writer)
      if let kept { writer.children(of: kept) { isStale($0) || $0.is(photo) && stored.avatar != nil } }
      if let avatar = stored.avatar {
        writer.element(photo) { writer in
          writer.element(type) { $0.text(avatar.mediaType) }
          writer.element(binary) { $0.text(Base64.encode(avatar.bytes)) }
        }
      }
    }
  }

  // MARK: Set

  /// Reads a vCard, which always replaces the whole (3.2).
  static func read(_ vCard: Element) throws(StanzaError) -> ProfileDraft {
    // The first of several pictures counts; a URL (EXTVAL) is stored as it came.
    var picture: Element?
    for child in vCard.children where picture == nil && child.is(photo) { picture = child.first(binary) }
    var avatar: Avatar?
    if let picture, let bytes = try decoded(picture), !bytes.isEmpty {
      avatar = Avatar(bytes)
    }
    var writer = ElementWriter()
    writer.open(self.vCard)
    writer.children(of: vCard) { $0.is(photo) && $0.first(binary) != nil }
    writer.close()
    let rest = Array(writer.buffer.readableBytesView)
    guard rest.count <= Limits.vCardBytesMax else {
      throw StanzaError(.policyViolation, "a vCard has at most \(Limits.vCardBytesMax) bytes")
    }
    return ProfileDraft(
      displayName: .some(names.displayName(vCard)), fullName: .some(names.fullName(vCard)), avatar: .some(avatar),
      vCard: rest)
  }

  /// Returns the picture's bytes.
  private static func decoded(_ picture: Element) throws(StanzaError) -> [UInt8]? {
    switch picture.withText({ Picture.decode($0) }) {
    case .tooLarge:
      throw StanzaError(.policyViolation, "a picture has at most \(Limits.avatarBytesMax) bytes")
    case .malformed: throw StanzaError(.badRequest, "<BINVAL/> is no base 64")
    case .bytes(let bytes): return bytes
    }
  }
}
