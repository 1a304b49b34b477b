import Addresses
import Dialogs
import Testing
import XMLStream

@testable import XMPPDoor

/// The vCards of contacts elsewhere (XEP-0054, XEP-0153).
@Suite struct RemoteCardsTests {
  private func pair(_ owner: String, _ host: String) throws -> RemoteCards.Seen.Pair {
    RemoteCards.Seen.Pair(owner: try bare(owner), host: try bare(host))
  }

  @Test func theSameHashIsNewsOnceToEach() throws {
    var seen = RemoteCards.Seen(bound: 2)
    let (romeo, paris) = (
      try pair("juliet@a.example", "romeo@b.example"), try pair("juliet@a.example", "paris@b.example")
    )
    let news = [
      seen.note("h", of: romeo), seen.note("h", of: romeo), seen.note("h", of: paris), seen.note("i", of: romeo),
    ]
    #expect(news == [true, false, true, true])
    // So is that there is none.
    let none = [seen.note(nil, of: romeo), seen.note(nil, of: romeo)]
    #expect(none == [true, false])
    seen.forget(romeo)
    let again = seen.note(nil, of: romeo)
    #expect(again)
    // At the bound all are forgotten.
    let third = seen.note("h", of: try pair("nurse@a.example", "romeo@b.example"))
    let paris2 = seen.note("h", of: paris)
    #expect(third && paris2)
  }

  @Test(arguments: [
    ("<x xmlns='vcard-temp:x:update'><photo>0A1b</photo></x>", "0a1b"),
    (
      "<x xmlns='vcard-temp:x:update'><photo>\(String(repeating: "a", count: 40))</photo></x>",
      String(repeating: "a", count: 40)
    ),
    ("<x xmlns='vcard-temp:x:update'><photo>\(String(repeating: "a", count: 41))</photo></x>", nil),
    ("<x xmlns='vcard-temp:x:update'><photo/></x>", nil),
    ("<x xmlns='vcard-temp:x:update'/>", nil), ("<show>away</show>", nil),
  ])
  func thePictureIsAnnouncedInPresence(_ child: String, _ hash: String?) throws {
    #expect(RemoteCards.hash(in: try stanza("<presence>\(child)</presence>")) == hash)
  }

  /// What is published by XEP-0163 is told by itself.
  @Test func onlyWhatIsNotPublishedOtherwiseCounts() {
    let picture = Avatar([0xFF, 0xD8, 0xFF, 1])
    let card = ProfileDraft(displayName: .some("Jule"), avatar: .some(picture))
    let both = RemoteCards.draft(card, picture.hash, hasName: false, hasPicture: false)
    #expect(both.displayName == .some("Jule") && both.avatar == .some(picture))
    let name = RemoteCards.draft(card, nil, hasName: false, hasPicture: true)
    #expect(name.displayName == .some("Jule") && name.avatar == nil)
    let shown = RemoteCards.draft(card, nil, hasName: true, hasPicture: false)
    #expect(shown.displayName == nil && shown.avatar == .some(picture))
    // Another picture than the announced one, and one of an unknown kind.
    #expect(RemoteCards.draft(card, "other", hasName: true, hasPicture: false).avatar == nil)
    let unknown = ProfileDraft(displayName: .some(nil), avatar: .some(Avatar([1, 2, 3])))
    #expect(RemoteCards.draft(unknown, nil, hasName: true, hasPicture: false).avatar == nil)
    // None any more.
    let none = RemoteCards.draft(
      ProfileDraft(displayName: .some(nil), avatar: .some(nil)), nil, hasName: false, hasPicture: false)
    #expect(none.displayName == .some(nil) && none.avatar == .some(nil))
  }
}
