import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// Pages of the list of users.
@Suite struct DirectoryTests {
  /// Guests have rows and are in no list: a page ends behind so many of them, and the next one continues there.
  @Test func aPageLooksAtAPartOfTheUsers() async throws {
    let stage = try Stage()
    let (realm, now) = (stage.parley.realms[0].id, stage.clock.now)
    let zoe = try await stage.user("zoe")
    try await stage.parley.work { writer in
      for number in 10_000..<10_000 + Limits.listedUsersMax {
        _ = try writer.insertGuest(BareJID("guest-\(number)@localhost"), in: realm, createdAt: now)
      }
    }
    func page(_ text: String? = nil, after: String? = nil) async throws -> (users: [UserID], next: String?) {
      let query = DirectoryQuery(text: text, after: after, limit: 50)
      let page = try await stage.parley.read { try $0.directoryPage(of: realm, query) }
      return (page.users.map(\.id), page.next)
    }
    let first = try await page()
    #expect(first.users.isEmpty && first.next == "guest-\(9_999 + Limits.listedUsersMax)")
    let second = try await page(after: first.next)
    #expect(second.users == [zoe.id] && second.next == nil)
    // A page of a search looks at more.
    let found = try await page("zo")
    #expect(found.users == [zoe.id] && found.next == nil)
  }
}
