import Addresses
import Dialogs
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Mentions of a message (XEP-0372)")
struct MentionTests {
  private func mentions(_ children: String, body: String? = nil) throws -> [MentionDraft] {
    var draft = try draft("<message>\(children)</message>")
    draft.body = body
    return draft.textMentions
  }

  @Test("XEP-0372 3.2") func example() throws {
    let found = try mentions(
      """
      <reference xmlns='urn:xmpp:reference:0' begin='72' end='78' type='mention' uri='xmpp:juliet@capulet.lit'/>
      """, body: "But, soft! what light through yonder window breaks? It is the east, and Juliet is the sun.")
    #expect(found == [MentionDraft(address: try JID("juliet@capulet.lit"), begin: 72, end: 78)])
  }

  @Test(arguments: [
    "<reference xmlns='urn:xmpp:reference:0' type='data' uri='xmpp:fdp.shakespeare.lit?;node=x;item=y'/>",
    "<reference xmlns='urn:xmpp:reference:0' type='mention'/>",
    "<reference xmlns='urn:xmpp:reference:0' type='mention' uri='https://capulet.lit'/>",
    "<reference xmlns='urn:xmpp:reference:0' type='mention' uri='xmpp:a@b' anchor='xmpp:balcony@channels.shakespeare.lit'/>",
    "<reference xmlns='urn:xmpp:reference:1' type='mention' uri='xmpp:a@b'/>",
  ])
  func noMentions(_ child: String) throws { #expect(try mentions(child, body: "text") == []) }

  @Test func aPlaceThatIsNoneIsLeftToTheRules() throws {
    let address = try JID("room@rooms.example/The Nurse")
    let uri = "uri='xmpp:room@rooms.example/The%20Nurse'"
    let start = "<reference xmlns='urn:xmpp:reference:0' type='mention' \(uri)"
    #expect(
      try mentions("\(start)/>\(start) begin='x' end='4'/>\(start) begin='-1' end='9'/>", body: "text") == [
        MentionDraft(address: address, begin: nil, end: nil), MentionDraft(address: address, begin: nil, end: 4),
        MentionDraft(address: address, begin: -1, end: 9),
      ])
    let many = String(repeating: "\(start)/>", count: Limits.mentionsMax + 5)
    #expect(try mentions(many, body: "text").count == Limits.mentionsMax)
  }

  /// An app is shown a reply without its quote.
  @Test func placesAreThoseOfWhatIsShown() throws {
    let fallback = "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='9'/></fallback>"
    func place(_ begin: Int, _ end: Int) throws -> [[Int?]] {
      let child =
        "<reference xmlns='urn:xmpp:reference:0' type='mention' begin='\(begin)' end='\(end)' uri='xmpp:a@b'/>"
      return try mentions(fallback + child, body: "> \u{1F339} Romeo\nJuliet!").map { [$0.begin, $0.end] }
    }
    #expect(try place(10, 16) == [[1, 7]])
    #expect(try place(4, 16) == [[0, 7]])
    #expect(try place(4, 9) == [], "said before, by somebody else")
    #expect(try place(10, 17) == [[1, 8]])
    #expect(try place(10, 1_000_000_000_000) == [[10, 1_000_000_000_000]])
  }

  /// Fallbacks may come in any order, overlap, touch, and end behind the body.
  @Test(arguments: [
    [0, 3, 5, 7], [5, 7, 0, 3], [0, 5, 2, 4], [2, 4, 0, 5], [0, 3, 3, 6], [3, 6, 1, 4], [7, 900], [4, 6, 900, 901],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [8, 10, 0, 1],
  ])
  func fallbacksAreLeftOutOnce(bounds: [Int]) throws {
    let fallbacks = stride(from: 0, to: bounds.count, by: 2).map { bounds[$0]..<bounds[$0 + 1] }
    var draft = Draft()
    let body = "0\u{1F339}2\u{301}456789"
    draft.body = body
    draft.fallbacks = fallbacks
    func isShown(_ place: Int) -> Bool { !fallbacks.contains { $0.contains(place) } }
    let characters = Array(body.unicodeScalars)
    var expected = ""
    for place in characters.indices where isShown(place) { expected.unicodeScalars.append(characters[place]) }
    // Octets, as characters that combine are compared as one.
    #expect(Array(draft.text.utf8) == Array(expected.utf8))
    let merged = draft.mergedFallbacks
    #expect(zip(merged, merged.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    let juliet = try JID("juliet@capulet.lit")
    for begin in 0...characters.count {
      for end in begin...characters.count {
        draft.mentions = [MentionDraft(address: juliet, begin: begin, end: end)]
        let (first, last) = ((0..<begin).count(where: isShown), (0..<end).count(where: isShown))
        let isHidden = first == last && begin != end
        let place = isHidden ? [] : [MentionDraft(address: juliet, begin: first, end: last)]
        #expect(draft.textMentions == place, "\(begin) to \(end)")
      }
    }
  }

  @Test func anAppsMentions() throws {
    let romeo = try party(1, "romeo@localhost")
    let room = RoomName(dialog: DialogID(1), realm: RealmID(1), address: try bare("verona@rooms.localhost"))
    let mentions = [
      Mention(party: romeo, name: .address, place: 0..<5), Mention(party: romeo, name: .nick("R/o m"), place: nil),
      Mention(party: romeo, name: .unnamed, place: 0..<5),
    ]
    let inRoom = try element { writer in
      writer.element(.message) { Mentions.write(mentions, in: room, into: &$0) }
    }
    let expected = try stanza(
      """
      <message><reference xmlns='urn:xmpp:reference:0' type='mention' begin='0' end='5' uri='xmpp:romeo@localhost'/>\
      <reference xmlns='urn:xmpp:reference:0' type='mention' uri='xmpp:verona@rooms.localhost/R%2Fo%20m'/></message>
      """)
    #expect(inRoom == expected)
  }
}
