import Accounts
import Addresses
import Dialogs
import ParleyServer
import ServerFixtures
import Testing
import XMPP
import XMPPDoor
import XMPPFixtures

@testable import Administration

/// Every form of the commands has the fields of its specification, with their types.
@Suite("Forms of commands by their registries")
struct CommandFormTests {
  /// XEP-0133 1.3.1, 8.2.
  private static let admin = FormRegistry(
    "http://jabber.org/protocol/admin",
    [
      "accountjid": .jidSingle, "accountjids": .jidMulti, "activeuserjids": .jidMulti, "activeusersnum": .textSingle,
      "announcement": .textMulti, "disableduserjids": .jidMulti, "disabledusersnum": .textSingle,
      "given_name": .textSingle, "idleuserjids": .jidMulti, "idleusersnum": .textSingle, "lastlogin": .textSingle,
      "max_items": .listSingle, "motd": .textMulti, "onlineresources": .textSingle, "onlineuserjids": .jidMulti,
      "onlineusersnum": .textSingle, "password": .textPrivate, "password-verify": .textPrivate,
      "registereduserjids": .jidMulti, "registeredusersnum": .textSingle, "rostersize": .textSingle,
      "surname": .textSingle,
      // Parley's own: of a user (4.9), and the columns of a roster (4.7).
      "state": .textSingle, "created": .textSingle, "logins": .textMulti, "jid": .jidSingle, "name": .textSingle,
      "subscription": .textSingle, "groups": .textSingle,
    ])

  @Test func admins() async throws {
    try await withCore { core, context, _ in
      let alice = try await core.accounts.register(try BareJID("alice@localhost"), password: "x", displayName: nil)
      let account = DataForm(.submit, fields: [.init("accountjid", .jidSingle, "alice@localhost")])
      let accounts = DataForm(.submit, fields: [.init("accountjids", .jidMulti, "alice@localhost")])
      var shown = 0
      for command in ServerCommands.all(context) where command.node.hasPrefix("http://jabber.org/protocol/admin#") {
        if let form = command.form {
          #expect(Self.admin.faults(of: form(alice.party)) == [], "\(command.node)")
          shown += 1
        }
        let name = command.node.split(separator: "#").last.map(String.init) ?? ""
        guard name.hasPrefix("get-") || name == "user-stats" else { continue }
        let submitted = name.hasSuffix("lastlogin") ? accounts : account
        guard case .result(let result) = try await command.perform(submitted, alice.party) else {
          Issue.record("\(name) has no result")
          continue
        }
        #expect(Self.admin.faults(of: result) == [], "\(name)")
        shown += 1
      }
      #expect(shown > 20)
    }
  }

  /// XEP-0401 0.6.0, 5. Its examples call the last field "expire", its registry (12) "expiry".
  @Test func invitations() async throws {
    try await withCore(["admins": "alice@localhost"]) { core, context, _ in
      let alice = try await core.accounts.register(try BareJID("alice@localhost"), password: "x", displayName: nil)
      let context = AdminContext(
        accounts: core.accounts, startedAt: context.startedAt, publicURL: "https://chat.example")
      let form = AdHocCommand.createAccount(context).form?(alice.party)
      let asked = FormRegistry(nil, ["username": .textSingle, "roster-subscription": .boolean])
      #expect(asked.faults(of: try #require(form)) == [])
      guard case .result(let made) = try await AdHocCommand.invite(context).perform(DataForm(.submit), alice.party)
      else {
        Issue.record("no invitation")
        return
      }
      let told = FormRegistry(
        "urn:xmpp:invite#invitation", ["uri": .textSingle, "landing-url": .textSingle, "expire": .textSingle])
      #expect(told.faults(of: made) == [])
    }
  }
}
