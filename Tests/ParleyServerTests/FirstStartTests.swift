import Accounts
import Addresses
import Administration
import Dialogs
import ServerFixtures
import Testing

@testable import ParleyServer

@Suite struct FirstStartTests {
  @Test func twoUsersWhoKnowEachOtherOnce() async throws {
    try await withCore { core, context, settings in
      let users = try #require(try await FirstStart.run(core, settings, demo: nil))
      #expect(users.map(\.address.description) == ["juliet@localhost", "romeo@localhost"])
      for user in users { _ = try await core.accounts.verify(user.address, password: user.password) }
      let roster = try await ListRoster.perform(ListRoster.Input(jid: "romeo@localhost"), in: context)
      #expect(roster.map { "\($0.jid) \($0.name ?? "") \($0.subscription)" } == ["juliet@localhost Juliet both"])
      #expect(try await FirstStart.run(core, settings, demo: true) == nil)

      let text = FirstStart.greeting(users, settings)
      #expect(text.contains("juliet@localhost  \(users[0].password)\n"))
      #expect(
        text.contains(
          "curl -s http://127.0.0.1:8080/v1/sessions -H 'Content-Type: application/json' "
            + "-d '{\"grant\":\"password\",\"username\":\"juliet\",\"password\":\"\(users[0].password)\"}'\n"))
      #expect(text.contains("Browser:       http://127.0.0.1:8080\n"))
      // As the README has it.
      #expect(text.contains("address juliet@localhost, server 127.0.0.1, "))
      #expect(text.contains("port 5222 with STARTTLS or port 5223 with direct TLS"))
    }
  }

  @Test(
    arguments: [
      ("chat.example", nil, 0), ("localhost", false, 0), ("chat.example", true, 2), ("localhost", nil, 2),
    ] as [(String, Bool?, Int)])
  func aServerForOthersBeginsEmpty(domain: String, demo: Bool?, count: Int) async throws {
    try await withCore(["domain": domain]) { core, _, settings in
      let users = try await FirstStart.run(core, settings, demo: demo)
      #expect(users?.count == count)
    }
  }

  @Test func thoseWhoMadeUsersGetNoOthers() async throws {
    try await withCore { core, context, settings in
      _ = try await AddUser.perform(AddUser.Input(jid: "alice@localhost", password: "p", name: nil), in: context)
      let users = try await FirstStart.run(core, settings, demo: nil)
      #expect(users == [])
    }
  }
}
