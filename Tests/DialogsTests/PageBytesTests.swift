import DialogsFixtures
import Testing

@testable import Dialogs

/// Pages of very long messages: six of these have more than `Limits.pageBytesMax`.
@Suite struct PageBytesTests {
  private static let text = "balcony " + String(repeating: "x", count: 190_000)

  /// A page has one message more than fits, and the next continues behind it.
  @Test func aPageOfTheLogEndsAtItsBytes() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for _ in 1...12 { _ = try await stage.say(Self.text, from: romeo, to: juliet) }
    var pages: [LogPage] = []
    repeat {
      let after = pages.last?.end ?? .zero
      pages.append(try await stage.parley.read { try $0.page(of: .own(juliet), after: after, limit: 200) })
    } while pages.last?.isLast == false
    #expect(pages.map(\.entries.count) == [7, 5])
    #expect(Set(pages.flatMap { $0.entries.map(\.position) }).count == 12)
  }

  /// What entries change is read as well.
  @Test func aPageOfChangesEndsAtTheBytesOfWhatTheyChange() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for _ in 1...12 { _ = try await stage.say(Self.text, from: romeo, to: juliet) }
    let said = try await stage.parley.read { reader in
      var (said, after): ([Entry], Position) = ([], .zero)
      while said.count < 12 {
        let page = try reader.page(of: .own(juliet), after: after, limit: 200)
        (said, after) = (said + page.entries, page.end)
      }
      return said
    }
    let start = try #require(said.last?.position)
    for entry in said {
      let reference = ReferenceDraft(kind: .reactions(["👍"]), target: .entry(entry.id))
      try await stage.parley.post(
        .message(
          MessageDraft(
            to: romeo.address, content: Content(kind: .none), envelope: Envelope(type: .chat),
            traits: [.archived, .fromApp, .replayed], key: nil, reference: reference)), by: juliet)
    }
    var (pages, after): ([FeedPage], Position) = ([], start)
    repeat {
      let begin = after
      let page = try await stage.parley.read { try FeedPage.read(juliet, after: begin, limit: 200, $0) }
      #expect(page.subjects.targets.values.reduce(0) { $0 + $1.byteCount } <= Limits.pageBytesMax + 200_000)
      after = page.log.end
      pages.append(page)
    } while pages.last?.log.isLast == false
    #expect(pages.map(\.log.entries.count) == [6, 6])
    #expect(Set(pages.flatMap { $0.subjects.targets.keys }).count == 12)
  }

  @Test func aListOfDialogsEndsAtTheBytesOfLastMessages() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for number in 1...12 {
      _ = try await stage.say(Self.text, from: try await stage.user("user\(number)"), to: romeo)
    }
    var pages: [DialogListPage] = []
    repeat {
      let before = pages.last?.next ?? .end
      pages.append(try await stage.parley.read { try $0.dialogList(of: romeo, before: before, limit: 50) })
    } while pages.last?.next != nil
    #expect(pages.map(\.views.count) == [6, 6])
    #expect(pages.map(\.unread) == [12, 12])
    #expect(pages[0].next == pages[0].positions.last)
  }

  @Test func aPageOfASearchEndsAtItsBytes() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for _ in 1...12 { _ = try await stage.say(Self.text, from: romeo, to: juliet) }
    try await MessageIndex(stage.parley).update()
    var pages: [FoundMessages] = []
    repeat {
      let query = MessageQuery(text: "balcony", before: pages.last?.next ?? .end, limit: 50)
      pages.append(try await stage.parley.read { try $0.find(query, for: juliet) })
    } while pages.last?.next != nil
    #expect(pages.map(\.entries.count) == [6, 6])
    #expect(Set(pages.flatMap { $0.entries.map(\.position) }).count == 12)
  }
}
