import Accounts
import Addresses
import Commands
import Dialogs
import ParleyServer
import ServerFixtures
import Testing
import XMPP
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
      // And of federation.
      "domain": .textSingle, "action": .listSingle, "note": .textSingle, "report": .textMulti,
    ])

  /// A session of the user, which is not connected.
  private final class Session: LiveSession {
    let id = SessionID(1)
    let party: Party
    let lane = Lane { _ in }
    init(_ party: Party) { self.party = party }
    func receive(_ delivery: Delivery) {}
    func batchEnded() {}
  }

  private func withCommands(_ body: (AdminContext, Session) async throws -> Void) async throws {
    try await withCore(["admins": "alice@localhost"]) { core, context, _ in
      _ = try await AddUser.perform(.init(jid: "alice@localhost", password: "x", name: nil), in: context)
      let alice = try await context.user("alice@localhost")
      try await body(
        AdminContext(accounts: core.accounts, startedAt: context.startedAt, publicURL: "https://chat.example"),
        Session(alice.party))
    }
  }

  /// Returns the first form of a command.
  private func form(_ command: AdHocCommand, _ session: Session) async throws -> DataForm? {
    switch command.course {
    case .form(let form, _): return form(session)
    case .steps(let begin):
      guard case .stage(let stage) = try await begin(session) else { return nil }
      return stage.form
    }
  }

  /// Returns the result of a command that has one stage, or none.
  private func result(
    _ command: AdHocCommand, _ session: Session, _ submitted: DataForm = DataForm(.submit)
  ) async throws -> DataForm? {
    let outcome: AdHocCommand.Outcome
    switch command.course {
    case .form(_, let perform): outcome = try await perform(submitted, session)
    case .steps(let begin):
      var step = try await begin(session)
      if case .stage(let stage) = step { step = try await stage.submit(submitted, session) }
      guard case .done(let done) = step else { return nil }
      outcome = done
    }
    guard case .result(let form) = outcome else { return nil }
    return form
  }

  private func expect(_ registry: FormRegistry, of form: DataForm?) throws {
    let form = try #require(form)
    #expect(registry.faults(of: form) == [])
  }

  @Test func admins() async throws {
    try await withCommands { context, session in
      let submitted = DataForm(
        .submit,
        fields: [
          .init("accountjid", .jidSingle, "alice@localhost"), .init("accountjids", .jidMulti, "alice@localhost"),
        ])
      var shown = 0
      for command in ServerCommands.all(context) where command.node.hasPrefix("http://jabber.org/protocol/admin#") {
        let name = command.node.split(separator: "#").last.map(String.init) ?? ""
        if case .form(let form, _) = command.course {
          #expect(Self.admin.faults(of: form(session)) == [], "\(name)")
          shown += 1
        }
        guard name.hasPrefix("get-") || name == "user-stats" else { continue }
        try expect(Self.admin, of: try await result(command, session, submitted))
        shown += 1
      }
      #expect(shown > 20)
    }
  }

  /// XEP-0401 0.6.0, 5. Its examples call the last field "expire", its registry (12) "expiry".
  @Test func invitations() async throws {
    try await withCommands { context, session in
      let asked = FormRegistry(nil, ["username": .textSingle, "roster-subscription": .boolean])
      try expect(asked, of: try await form(.createAccount(context), session))
      let told = FormRegistry(
        "urn:xmpp:invite#invitation", ["uri": .textSingle, "landing-url": .textSingle, "expire": .textSingle])
      let made = DataForm(.submit, fields: [.init("username", .textSingle, "bill")])
      try expect(told, of: try await result(.createAccount(context), session, made))
      try expect(told, of: try await result(.invite(context), session))
    }
  }

  /// Parley's own, of a user's account.
  @Test func account() async throws {
    try await withCommands { context, session in
      let password = FormRegistry(nil, ["password": .textPrivate, "password-verify": .textPrivate])
      try expect(password, of: try await form(.changeOwnPassword(context), session))
      let name = DataForm(.submit, fields: [.init("name", .textSingle, "An old client")])
      let made = FormRegistry(nil, ["name": .textSingle, "password": .textSingle])
      try expect(made, of: try await form(.appPasswords(context), session))
      try expect(made, of: try await result(.appPasswords(context), session, name))
      let choice = FormRegistry(nil, ["do": .listSingle])
      try expect(choice, of: try await form(.appPasswords(context), session))
      let sessions = FormRegistry(nil, ["sessions": .listMulti])
      try expect(sessions, of: try await form(.sessions(context), session))
    }
  }
}
