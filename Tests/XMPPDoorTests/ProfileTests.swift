import Basics
import Dialogs
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("vCard and avatar")
struct ProfileTests {
  /// The smallest thing that looks like a PNG.
  static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0]

  private func vCard(_ content: String) throws -> Element { try stanza("<vCard xmlns='vcard-temp'>\(content)</vCard>") }

  private func refusal(_ content: String) -> StanzaError.Condition? {
    do {
      _ = try VCard.read(try vCard(content))
      return nil
    } catch let error as StanzaError { return error.condition } catch { return nil }
  }

  @Test func aNameOfWhichNothingIsVisibleIsNone() {
    for text in ["", " \n", "\u{3164}", "\u{2800} \u{200d}"] { #expect(CardNames.cut(text) == nil) }
    #expect(CardNames.cut(" Romeo ") == " Romeo ", "clients show it in their own way")
  }

  @Test func storedWithoutPictureAndReadWithIt() throws {
    let text = "<FN>Peter Saint-Andre</FN><NICKNAME>stpeter</NICKNAME><TEL><WORK/><NUMBER>303-308-3282</NUMBER></TEL>"
    let base64 = Base64.string(Self.png)
    let broken = "\n  \(base64.prefix(8))\r\n\t\(base64.dropFirst(8)) "
    let draft = try VCard.read(try vCard("\(text)<PHOTO><TYPE>text/html</TYPE><BINVAL>\(broken)</BINVAL></PHOTO>"))
    #expect(draft.displayName == .some("stpeter"))
    #expect(draft.fullName == .some("Peter Saint-Andre"))
    let avatar = try #require(draft.avatar.flatMap { $0 })
    #expect(avatar.bytes == Self.png)
    #expect(avatar.mediaType == "image/png", "the bytes say what it is (XEP-0153 5)")
    #expect(avatar.hash.count == 40)
    #expect(draft.vCard == Array("<vCard xmlns='vcard-temp'>\(text)</vCard>".utf8))

    let stored = VCard.Stored(
      profile: Profile(displayName: "stpeter", avatarHash: avatar.hash), fullName: "Peter Saint-Andre",
      vCard: draft.vCard, avatar: avatar)
    #expect(
      written { VCard.write(stored, into: &$0) } == """
        <vCard xmlns='vcard-temp'>\(text)<PHOTO><TYPE>image/png</TYPE><BINVAL>\(base64)</BINVAL></PHOTO></vCard>
        """)
  }

  @Test func sha1OfXEP0153() {
    // FIPS 180-1 A: SHA-1 of "abc".
    #expect(Avatar(Array("abc".utf8)).hash == "a9993e364706816aba3e25717850c26c9cd0d89d")
  }

  @Test func appUsersHaveAVCard() {
    let stored = VCard.Stored(profile: Profile(displayName: "Juliet <3"), vCard: nil, avatar: nil)
    #expect(written { VCard.write(stored, into: &$0) } == "<vCard xmlns='vcard-temp'><FN>Juliet &lt;3</FN></vCard>")
    #expect(stored.exists)
    #expect(!VCard.Stored(profile: Profile(), vCard: nil, avatar: nil).exists)
    #expect(VCard.Stored(profile: Profile(), vCard: Array("<vCard xmlns='vcard-temp'/>".utf8), avatar: nil).exists)
  }

  @Test func nameChangedInTheAppShows() throws {
    let draft = try VCard.read(try vCard("<NICKNAME>jul</NICKNAME><URL>https://example.com</URL>"))
    #expect(draft.displayName == .some("jul"))
    let stored = VCard.Stored(profile: Profile(displayName: "Juliet"), vCard: draft.vCard, avatar: nil)
    #expect(
      written { VCard.write(stored, into: &$0) }
        == "<vCard xmlns='vcard-temp'><FN>Juliet</FN><URL>https://example.com</URL></vCard>")
  }

  @Test func fieldsMissingInAVCardAreRemoved() throws {
    let draft = try VCard.read(try vCard(""))
    #expect(draft.displayName == .some(nil))
    #expect(draft.avatar == .some(nil))
    #expect(draft.vCard == Array("<vCard xmlns='vcard-temp'/>".utf8))
    // XEP-0153 4.3: an empty BINVAL is "no picture".
    #expect(try VCard.read(try vCard("<PHOTO><BINVAL/></PHOTO>")).avatar == .some(nil))
    // A picture elsewhere is kept as it is said.
    let external = try VCard.read(try vCard("<PHOTO><EXTVAL>https://example.com/a.png</EXTVAL></PHOTO>"))
    #expect(external.avatar == .some(nil))
    #expect(external.vCard?.isEmpty == false)
  }

  @Test func longNamesAreCut() throws {
    let long = String(repeating: "ü", count: 200)
    let name = try #require(VCard.read(try vCard("<FN>\(long)</FN>")).displayName.flatMap { $0 })
    #expect(name.utf8.count <= Limits.displayNameBytesMax)
    #expect(long.hasPrefix(name))
    let stored = VCard.Stored(
      profile: Profile(displayName: name), vCard: Array("<vCard xmlns='vcard-temp'><FN>\(long)</FN></vCard>".utf8),
      avatar: nil)
    #expect(written { VCard.write(stored, into: &$0) }.contains(long), "the vCard keeps the whole name")
  }

  /// Before FN was stored separately, it was the display name of the user.
  @Test func oldVCardsAreReadAsTheyWere() throws {
    let text = "<FN>Romeo Montague</FN><NICKNAME>Rom</NICKNAME>"
    let stored = VCard.Stored(
      profile: Profile(displayName: "Romeo Montague"), vCard: Array("<vCard xmlns='vcard-temp'>\(text)</vCard>".utf8),
      avatar: nil)
    #expect(written { VCard.write(stored, into: &$0) } == "<vCard xmlns='vcard-temp'>\(text)</vCard>")
  }

  @Test func aNicknameOfElsewhereShowsBesideTheFullName() throws {
    let draft = try VCard.read(try vCard("<FN>Romeo Montague</FN><NICKNAME>Rom</NICKNAME><NICKNAME>R</NICKNAME>"))
    let stored = VCard.Stored(
      profile: Profile(displayName: "Monty"), fullName: "Romeo Montague", vCard: draft.vCard, avatar: nil)
    #expect(
      written { VCard.write(stored, into: &$0) }
        == "<vCard xmlns='vcard-temp'><NICKNAME>Monty</NICKNAME><FN>Romeo Montague</FN></vCard>")
  }

  @Test func thePictureIsTheFirstThatIsHere() throws {
    let base64 = Base64.string(Self.png)
    let draft = try VCard.read(
      try vCard(
        "<PHOTO><EXTVAL>https://example.com/a.png</EXTVAL></PHOTO><PHOTO><BINVAL>\(base64)</BINVAL></PHOTO>"))
    #expect(draft.avatar.flatMap { $0 }?.bytes == Self.png)
    #expect(
      draft.vCard.map { String(decoding: $0, as: UTF8.self) }
        == "<vCard xmlns='vcard-temp'><PHOTO><EXTVAL>https://example.com/a.png</EXTVAL></PHOTO></vCard>")
  }

  // MARK: The nodes

  private func item(_ payload: String, in view: ProfileNode, id: String? = nil) throws -> NodePublication.Item {
    let payload = try stanza(payload)
    return try ProfileItem.read(PublishRequest.Item(id: id, payload: payload), in: view)
  }

  private func refusal(_ payload: String, in view: ProfileNode) -> StanzaError.Condition? {
    do {
      _ = try item(payload, in: view)
      return nil
    } catch let error as StanzaError { return error.condition } catch { return nil }
  }

  private func text(_ content: NodeContent) -> String { written { NodeWriter.write(content, into: &$0) } }

  @Test("XEP-0172 4.4") func nicknames() throws {
    let nick = "<nick xmlns='http://jabber.org/protocol/nick'>Ishmael &amp; I</nick>"
    let read = try item(nick, in: .nickname, id: "a")
    #expect(read.id == "a")
    #expect(read.content == .nickname("Ishmael & I"))
    #expect(text(read.content) == nick)
    #expect(try item("<nick xmlns='http://jabber.org/protocol/nick'> </nick>", in: .nickname).content == .nickname(""))
    let long = String(repeating: "ü", count: 200)
    let cut = try item("<nick xmlns='http://jabber.org/protocol/nick'>\(long)</nick>", in: .nickname).content
    #expect(cut == .nickname(String(long.prefix(Limits.displayNameBytesMax / 2))))
    #expect(refusal("<nick xmlns='urn:example'>I</nick>", in: .nickname) == .badRequest)
  }

  @Test("XEP-0084 4.1") func data() throws {
    let base64 = Base64.string(Self.png)
    let read = try item("<data xmlns='urn:xmpp:avatar:data'>\n\(base64)\n</data>", in: .avatarData)
    #expect(read.id == Avatar(Self.png).hash)
    #expect(read.content == .avatar(Avatar(Self.png)))
    #expect(text(read.content) == "<data xmlns='urn:xmpp:avatar:data'>\(base64)</data>")
    #expect(try item("<data xmlns='urn:xmpp:avatar:data'/>", in: .avatarData).content == .avatar(Avatar([])))
    #expect(refusal("<data xmlns='urn:xmpp:avatar:data'>=</data>", in: .avatarData) == .badRequest)
    let large = Base64.string([UInt8](repeating: 0, count: Limits.avatarBytesMax + 1))
    #expect(refusal("<data xmlns='urn:xmpp:avatar:data'>\(large)</data>", in: .avatarData) == .notAcceptable)
  }

  @Test("XEP-0084 4.2") func metadata() throws {
    // 4.2.3, example 13: one form here, others on the web, and a pointer.
    let said = """
      <metadata xmlns='urn:xmpp:avatar:metadata'><info bytes='9' id='aa' type='image/gif' url='http://a'/>\
      <info bytes='9' id='bb' type='image/png'/><pointer><x xmlns='urn:example'/></pointer></metadata>
      """
    let read = try item(said, in: .avatarMetadata)
    #expect(read.id == "bb")
    guard case .avatarMetadata(let metadata) = read.content else { throw StanzaError(.badRequest) }
    #expect(metadata.hashes == ["bb"])
    #expect(text(read.content) == said, "as it was said")
    let none = NodeContent.avatarMetadata(AvatarMetadata(hashes: [], form: .none))
    #expect(try item("<metadata xmlns='urn:xmpp:avatar:metadata'/>", in: .avatarMetadata).content == none)
    // 4.4: the older word for it.
    let stop = "<metadata xmlns='urn:xmpp:avatar:metadata'><stop/></metadata>"
    #expect(try item(stop, in: .avatarMetadata).content == none)
    #expect(text(none) == "<metadata xmlns='urn:xmpp:avatar:metadata'/>")
    let info = AvatarMetadata.Info(
      hash: "cc", mediaType: "image/png", byteCount: 7, size: ImageSize(width: 3, height: 2))
    #expect(
      text(.avatarMetadata(AvatarMetadata(hashes: ["cc"], form: .info(info)))) == """
        <metadata xmlns='urn:xmpp:avatar:metadata'>\
        <info bytes='7' id='cc' height='2' width='3' type='image/png'/></metadata>
        """)
    func refused(_ infos: String) -> StanzaError.Condition? {
      refusal("<metadata xmlns='urn:xmpp:avatar:metadata'>\(infos)</metadata>", in: .avatarMetadata)
    }
    #expect(refused("<info bytes='9'/>") == .badRequest)
    #expect(refused((0...DoorLimits.avatarFormsMax).map { "<info id='\($0)'/>" }.joined()) == .notAcceptable)
  }

  private func card4(_ content: String) -> String {
    "<vcard xmlns='urn:ietf:params:xml:ns:vcard-4.0'>\(content)</vcard>"
  }

  @Test("XEP-0292 3.2") func vCards4() throws {
    let base64 = Base64.string(Self.png)
    let note = "<note><text>a &lt; b</text></note>"
    let rest = "<fn><text>Peter Saint-Andre</text></fn><nickname><text>stpeter</text></nickname>\(note)"
    let elsewhere = "<photo><uri>https://stpeter.im/a.jpg</uri></photo>"
    let picture = "<photo><uri>data:image/png;base64,\(base64)</uri></photo>"
    guard case .card(let card) = try item(card4(rest + elsewhere + picture), in: .vCard4).content else {
      throw StanzaError(.badRequest)
    }
    #expect(card.fullName == "Peter Saint-Andre")
    #expect(card.displayName == "stpeter")
    #expect(card.photo == Avatar(Self.png))
    #expect(String(decoding: card.bytes, as: UTF8.self) == card4(rest + elsewhere))
    #expect(text(.card(card)) == card4(rest + elsewhere + picture))
    // Renamed elsewhere: the rest stays byte for byte.
    let renamed = Card4(fullName: nil, displayName: "Peter", bytes: card.bytes)
    #expect(
      text(.card(renamed)) == card4("<fn><text>Peter</text></fn>" + note + elsewhere))
    let nicked = Card4(fullName: "Peter Saint-Andre", displayName: "psa", bytes: card.bytes)
    #expect(
      text(.card(nicked))
        == card4("<nickname><text>psa</text></nickname><fn><text>Peter Saint-Andre</text></fn>" + note + elsewhere))
    #expect(text(.card(Card4(fullName: nil, displayName: "J"))) == card4("<fn><text>J</text></fn>"))
    #expect(refusal(card4("<photo><uri>data:image/png;base64,!</uri></photo>"), in: .vCard4) == .badRequest)
    #expect(refusal("<vCard xmlns='vcard-temp'/>", in: .vCard4) == .badRequest)
  }

  @Test func refusals() {
    #expect(refusal("<PHOTO><BINVAL>not base 64!</BINVAL></PHOTO>") == .badRequest)
    let large = Base64.string([UInt8](repeating: 0, count: Limits.avatarBytesMax + 3))
    #expect(refusal("<PHOTO><BINVAL>\(large)</BINVAL></PHOTO>") == .policyViolation)
    let note = String(repeating: "x", count: Limits.vCardBytesMax)
    #expect(refusal("<NOTE>\(note)</NOTE>") == .policyViolation)
  }

  // MARK: XEP-0153, XEP-0398

  private static let hash = "01b87fcd030b72895ff8e88db57ec525450f000d"

  private func sent(_ children: String, hash: String?, isAvailable: Bool = true) throws -> String {
    let presence = try stanza("<presence>\(children)</presence>")
    return written {
      AvatarHash.writeChildren(of: presence, profile: Profile(avatarHash: hash), isAvailable: isAvailable, into: &$0)
    }
  }

  private static let full = "<x xmlns='vcard-temp:x:update'><photo>\(hash)</photo></x>"
  private static let none = "<x xmlns='vcard-temp:x:update'><photo/></x>"
  private static let unready = "<x xmlns='vcard-temp:x:update'/>"

  @Test("XEP-0398 4") func hashIsPutIn() throws {
    #expect(try sent("", hash: Self.hash) == Self.full)
    #expect(try sent("<show>away</show>", hash: Self.hash) == "<show>away</show>\(Self.full)")
    #expect(try sent(Self.unready, hash: Self.hash) == Self.full, "empty elements must be overwritten")
    #expect(try sent(Self.none, hash: Self.hash) == Self.none, "the client's own word")
    #expect(try sent("<x xmlns='vcard-temp:x:update'><photo>00</photo></x>", hash: Self.hash) == Self.full)
    #expect(try sent("", hash: Self.hash, isAvailable: false) == "")
  }

  @Test func withoutAvatarNothingIsClaimed() throws {
    #expect(try sent("<show>away</show>", hash: nil) == "<show>away</show>")
    #expect(try sent(Self.unready, hash: nil) == Self.none)
    #expect(try sent(Self.full, hash: nil) == Self.full, "it may just be uploading")
  }

  @Test func changesAreTold() {
    func amended(_ extras: String, _ hash: String?, mayFillEmpty: Bool = false) -> String? {
      AvatarHash.Said(extras: Array(extras.utf8)).amended(hash: hash, mayFillEmpty: mayFillEmpty).map {
        String(decoding: $0.extras, as: UTF8.self)
      }
    }
    let caps = "<c xmlns='http://jabber.org/protocol/caps' hash='sha-1' node='n' ver='v'/>"
    #expect(amended(caps, Self.hash) == caps + Self.full)
    #expect(amended(Self.full + caps, "aa") == caps + "<x xmlns='vcard-temp:x:update'><photo>aa</photo></x>")
    #expect(amended(Self.full, nil) == Self.none)
    #expect(amended(Self.full, Self.hash) == nil, "the same as before")
    #expect(amended(caps, nil) == nil)
    #expect(amended(Self.none, Self.hash) == nil, "the client's own word")
    #expect(amended(Self.none, Self.hash, mayFillEmpty: true) == Self.full)
    #expect(amended(Self.none, nil, mayFillEmpty: true) == nil)
    #expect(amended("<a", Self.hash) == nil, "it cannot be parsed")
  }

  /// A presence that the server has amended is compared, and amended again, without parsing it: this one could not be.
  @Test func whatTheServerWroteIsNotParsed() {
    let said = AvatarHash.Said(extras: Array("<a\(Self.full)".utf8), hash: Self.hash, ownBytes: Self.full.utf8.count)
    #expect(said.amended(hash: Self.hash, mayFillEmpty: false) == nil)
    let next = said.amended(hash: nil, mayFillEmpty: false)
    #expect(next.map { String(decoding: $0.extras, as: UTF8.self) } == "<a\(Self.none)")
    #expect(next?.amended(hash: "aa", mayFillEmpty: false) == nil)
    let last = next?.amended(hash: Self.hash, mayFillEmpty: true)
    #expect(last.map { String(decoding: $0.extras, as: UTF8.self) } == "<a\(Self.full)")
  }
}
