import Addresses
import Administration
import Dialogs
import ServerFixtures
import Testing

@testable import ParleyServer

/// Invitations as operators and browsers see them, and reports.
@Suite struct InviteTests {
  @Test func operatorsInviteListAndRevoke() async throws {
    try await withCore { core, context, _ in
      let context = AdminContext(
        parley: core.parley, startedAt: context.startedAt, publicURL: "https://chat.example")
      _ = try await AddUser.perform(AddUser.Input(jid: "alice@localhost", password: "x", name: nil), in: context)
      let free = try await CreateInvite.perform(
        CreateInvite.Input(domain: nil, name: nil, contact: nil), in: context)
      #expect(free.uri.hasPrefix("xmpp:localhost?register;preauth="))
      let token = String(free.uri.split(separator: "=").last ?? "")
      #expect(free.page == "https://chat.example/invite/\(token)")
      let named = try await CreateInvite.perform(
        CreateInvite.Input(domain: nil, name: "carol", contact: "alice@localhost"), in: context)
      #expect(named.uri.hasPrefix("xmpp:carol@localhost?register;preauth="))
      let list = try await ListInvites.perform(ListInvites.Input(domain: nil), in: context)
      #expect(list.map(\.name) == [nil, "carol"])
      #expect(list.map(\.inviter) == [nil, "alice@localhost"])
      _ = try await RevokeInvite.perform(RevokeInvite.Input(id: free.id), in: context)
      #expect(try await ListInvites.perform(ListInvites.Input(domain: nil), in: context).map(\.id) == [named.id])
      await #expect(throws: Problem.self) {
        try await RevokeInvite.perform(RevokeInvite.Input(id: free.id), in: context)
      }
    }
  }

  @Test func reportsAreListedShownAndDismissed() async throws {
    try await withCore { core, context, _ in
      let user = try await core.parley.register(try BareJID("alice@localhost"), password: "x", displayName: nil)
      let spammer = BlockPattern(try JID("spam@localhost"))
      let draft = ReportDraft(
        reported: spammer, reason: "urn:xmpp:reporting:spam", text: "Daggers again", consent: [.origin],
        messages: ["m"])
      try await core.parley.post(.block([spammer], reports: [draft]), by: user.party)
      let list = try await ListReports.perform(ListReports.Input(domain: nil), in: context).items
      let row = try #require(list.first)
      #expect(list.count == 1 && row.reporter == "alice@localhost" && row.reported == "spam@localhost")
      #expect(row.reason == "spam" && row.messages == 1)
      let shown = try await ShowReport.perform(ShowReport.Input(id: row.id), in: context)
      #expect(shown.mayTellOrigin && !shown.mayTellThirdParties)
      #expect(shown.messages == [ShowReport.Message(id: "m", text: nil)])
      _ = try await DismissReport.perform(DismissReport.Input(id: row.id), in: context)
      #expect(try await ListReports.perform(ListReports.Input(domain: nil), in: context).items == [])
    }
  }

  @Test func whatPeopleCallThemselvesIsTextOnThePage() async throws {
    try await withCore(["invitations": "true"]) { core, _, _ in
      let user = try await core.parley.register(
        try BareJID("alice@localhost"), password: "x", displayName: "<script>alert('x')</script>\" & Co")
      let new = try await core.parley.makeInvite(
        InviteDraft(realm: user.realm, kind: .contact, inviter: user.party), by: user.party)
      let open = try #require(try await core.parley.invite(token: new.token))
      let page = InvitePage.page(open, token: new.token, allowsForm: true, name: "\"><b>", problem: "<i>")
      #expect(page.body.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; &amp; Co invites you"))
      #expect(!page.body.contains("<script") && !page.body.contains("<b>") && !page.body.contains("<i>"))
      #expect(page.body.contains("value=\"&quot;&gt;&lt;b&gt;\""))
      #expect(page.body.contains("href=\"xmpp:alice@localhost?roster;preauth=\(new.token);ibr=y\""))
      #expect(page.body.contains("<form"))
      // Over a network without TLS nobody is asked for a password.
      #expect(!InvitePage.page(open, token: new.token, allowsForm: false).body.contains("<form"))
    }
  }

  @Test(arguments: [
    ("username=juliet&password=a+b%26c", ["username": "juliet", "password": "a b&c"]), ("", [:]), ("a", ["a": ""]),
    ("a=1&a=2", ["a": "2"]), ("a=%ff&b=%2", [:]), ("a=b=c", ["a": "b=c"]), ("=x", ["": "x"]),
  ])
  func aFormIsRead(_ text: String, _ fields: [String: String]) {
    #expect(Form.fields(text) == fields)
  }
}
