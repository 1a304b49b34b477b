import Accounts
import Addresses
import Administration
import Dialogs
import ParleyServer
import ServerFixtures
import Testing

@testable import WebPages

/// Invitations as browsers see them.
@Suite struct InvitePageTests {
  @Test func displayNamesAreEscapedOnThePage() async throws {
    try await withCore(["invitations": "true"]) { core, _, _ in
      let user = try await core.accounts.register(
        try BareJID("alice@localhost"), password: "x", displayName: "<script>alert('x')</script>\" & Co")
      let new = try await Invites(core.parley).make(
        InviteDraft(realm: user.realm, kind: .contact, inviter: user.party), by: nil)
      let open = try #require(try await Invites(core.parley).find(token: new.token))
      let page = InvitePage.page(open, token: new.token, allowsForm: true, name: "\"><b>", problem: "<i>")
      #expect(page.body.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; &amp; Co</bdi> invites you"))
      #expect(!page.body.contains("<script") && !page.body.contains("<b>") && !page.body.contains("<i>"))
      #expect(page.body.contains("value=\"&quot;&gt;&lt;b&gt;\""))
      #expect(page.body.contains("href=\"xmpp:alice@localhost?roster;preauth=\(new.token);ibr=y\""))
      #expect(page.body.contains("<form"))
      // Over a network without TLS nobody is asked for a password.
      #expect(!InvitePage.page(open, token: new.token, allowsForm: false).body.contains("<form"))
    }
  }

  @Test(arguments: [
    ("Al\u{202e}ice\n\u{2067}Montague", "Alice Montague"), ("\u{3164}\u{2800}", "alice"),
  ])
  func theInvitersNameIsShownAsNamesAre(_ given: String, _ shown: String) async throws {
    try await withCore(["invitations": "true"]) { core, _, _ in
      let user = try await core.accounts.register(try BareJID("alice@localhost"), password: "x", displayName: given)
      let new = try await Invites(core.parley).make(
        InviteDraft(realm: user.realm, kind: .contact, inviter: user.party), by: nil)
      let open = try #require(try await Invites(core.parley).find(token: new.token))
      let page = InvitePage.page(open, token: new.token, allowsForm: true)
      #expect(page.body.contains("<h1><bdi>\(shown)</bdi> invites you to chat</h1>"))
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
