import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Foundation
import ImportSources
import ParleyServer
import ServerConfiguration
import ServerFixtures
import Testing

@testable import Administration

/// Tests of the names that the configuration gives power, at every way to an account; in band, at the invitation's page and
/// over HTTP they are those of `reserved-names.play` and `web_signin`.
@Suite struct ReservedNameTests {
  private static let settings = [
    "admins": "root@localhost", "contact.abuse": "xmpp:abuse@localhost?message,mailto:abuse@example.org",
  ]

  private static func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code }
    return nil
  }

  @Test(arguments: ["root", "abuse"]) func onlyAnOperatorCreatesTheAccount(name: String) async throws {
    try await withCore(Self.settings) { core, context, _ in
      let address = try BareJID("\(name)@localhost")
      let realm = core.parley.realms[0]
      let everything = context.within(realm, scopes: Set(AppKey.Scope.allCases))
      let row = AdminRows.row(name)
      #expect(
        await Self.code { _ = try await core.accounts.register(address, password: "secret", displayName: nil) }
          == "name-reserved")
      #expect(
        await Self.code {
          _ = try await everything.perform(AddUser.self, .init(jid: "\(address)", password: "secret", name: nil))
        } == "name-reserved")
      #expect(try await everything.perform(ImportUsers.self, .init(rows: [row])).map(\.status) == [.failed])
      for caller in [context, everything] {
        #expect(
          await Self.code {
            _ = try await caller.perform(CreateInvite.self, AdminRows.invitation(name))
          } == "name-reserved")
      }
      // Nothing of all that has used the name up.
      #expect(try await core.parley.read { try $0.user(address) } == nil)
      #expect(try await context.perform(ImportUsers.self, .init(rows: [row])).map(\.status) == [.done])
      #expect(try await core.accounts.doubts(about: [address: "admins"]).isEmpty)
    }
  }

  /// A word that means something else in a path is nobody's name, whoever creates the account; who had it on another
  /// server keeps it. In band, over HTTP and at the core of a dialog these are the tests of `reserved-words.play`, of tokens
  /// that of `TokenLoginTests`.
  @Test(arguments: ["me", "ME", ".", ".."]) func nobodyIsCalledByAReservedWord(word: String) async throws {
    try await withCore { core, context, _ in
      let address = try BareJID("\(word)@localhost")
      let realm = core.parley.realms[0]
      let everything = context.within(realm, scopes: Set(AppKey.Scope.allCases))
      #expect(
        await Self.code { _ = try await core.accounts.register(address, password: "secret", displayName: nil) }
          == "name-reserved")
      // Asked for a code first, this would be another refusal.
      #expect(
        await Self.code {
          _ = try await core.accounts.register(
            address, password: "secret", displayName: nil, by: Identity(.email, "r@example.org"), code: "123456",
            in: realm.id, from: "192.0.2.1")
        } == "name-reserved")
      let row = AdminRows.row(word)
      for caller in [context, everything] {
        #expect(
          await Self.code {
            _ = try await caller.perform(AddUser.self, .init(jid: "\(address)", password: "secret", name: nil))
          } == "name-reserved")
        #expect(try await caller.perform(ImportUsers.self, .init(rows: [row])).map(\.status) == [.failed])
        #expect(
          await Self.code { _ = try await caller.perform(CreateInvite.self, AdminRows.invitation(word)) }
            == "name-reserved")
      }
      let moved = ImportRecord.account(AccountRecord(jid: "\(address)", password: "secret"))
      let input = ImportRecords.Input(records: [moved], source: "prosody /former")
      #expect(try await ImportRecords.perform(input, in: context).map(\.status) == [.done])
      let login = LoginAttempt(of: address, from: "192.0.2.1", device: nil)
      #expect(try await core.accounts.verify(login, password: "secret").address == address)
      // Its id is unambiguous, and the pages of a list go on behind it.
      _ = try await core.accounts.register(try BareJID("nina@localhost"), password: "secret", displayName: nil)
      let first = try await context.perform(
        ListUsers.self, .init(domain: nil, matching: nil, after: nil, limit: 1))
      let second = try await context.perform(
        ListUsers.self, .init(domain: nil, matching: nil, after: first.nextCursor, limit: 1))
      #expect(first.items.map(\.id) == ["\(address)"] && second.items.map(\.id) == ["nina"])
      #expect(
        await Self.code { _ = try await core.accounts.register(address, password: "secret", displayName: nil) }
          == "name-taken")
    }
  }

  /// A deleted user's name is nobody's again, by no way, and an administrator's role ends with the account (0047).
  @Test func aDeletedUsersNameAndRoleAreNobodys() async throws {
    try await withCore { core, context, _ in
      _ = try await context.perform(AddUser.self, .init(jid: "alice@localhost", password: "secret", name: nil))
      _ = try await context.perform(SetRole.self, .init(jid: "alice@localhost", role: .admin))
      let alice = try await context.user("alice@localhost")
      try await core.accounts.setState(of: alice.id, .deleted)
      #expect(try await core.parley.read { try $0.administrators() }.isEmpty)
      for name in ["alice", "ALICE"] {
        let address = try BareJID("\(name)@localhost")
        #expect(
          await Self.code { _ = try await core.accounts.register(address, password: "secret", displayName: nil) }
            == "name-taken")
        #expect(
          await Self.code {
            _ = try await context.perform(AddUser.self, .init(jid: "\(address)", password: "x", name: nil))
          }
            == "name-taken")
        #expect(
          try await context.perform(ImportUsers.self, .init(rows: [AdminRows.row(name)])).map(\.status) == [.failed])
        #expect(
          await Self.code { _ = try await context.perform(CreateInvite.self, AdminRows.invitation(name)) }
            == "name-taken")
      }
    }
  }

  /// What belongs to a user id cannot be given to an address (0047).
  @Test func anAddressWithoutAnAccountIsGivenNothing() async throws {
    try await withCore { core, context, _ in
      let jid = "nobody@localhost"
      _ = try await context.perform(AddUser.self, .init(jid: "romeo@localhost", password: "secret", name: nil))
      let romeo = try await context.user("romeo@localhost").party
      let room = try #require(
        try await core.parley.post(.room(.create(RoomDraft(settings: .group))), by: romeo).room)
      for refused in [
        await Self.code { _ = try await context.perform(SetRole.self, .init(jid: jid, role: .admin)) },
        await Self.code { _ = try await context.perform(SetNote.self, .init(jid: jid, text: "who")) },
        await Self.code {
          _ = try await context.perform(CreateSession.self, .init(jid: jid, deviceId: nil, client: nil))
        },
        await Self.code {
          let owner = MemberDraft(address: try BareJID(jid), affiliation: .owner)
          try await core.parley.post(.room(.members(.dialog(room.id), [owner])), by: romeo)
        },
        await Self.code {
          let draft = SettingsDraft(members: [MemberDraft(address: try BareJID(jid), affiliation: .admin)]) { _ in }
          try await core.parley.post(.room(.configure(.dialog(room.id), draft)), by: romeo)
        },
      ] { #expect(refused == "user-unknown") }
      #expect(try await core.parley.read { try $0.user(try BareJID(jid)) } == nil)
    }
  }

  @Test func anInvitationAndACodeAreNotUsedUp() async throws {
    let stage = try Stage(admins: [try BareJID("root@localhost")])
    let realm = stage.parley.realms[0].id
    let invite = try await Invites(stage.parley).make(InviteDraft(realm: realm, kind: .account), by: nil).invite
    func register(_ name: String) async -> String? {
      await Self.code {
        _ = try await stage.accounts.register(
          try BareJID("\(name)@localhost"), password: "secret", displayName: nil, invite: invite)
      }
    }
    #expect(await register("root") == "name-reserved")
    #expect(await register("ROOT") == "name-reserved")
    // Wide letters are those that they stand for (RFC 8265 3.3).
    #expect(await register("ｒｏｏｔ") == "name-reserved")
    #expect(await register("nina") == nil)
    // No code has been sent: asked for one first, this would be another refusal.
    #expect(
      await Self.code {
        _ = try await stage.accounts.register(
          try BareJID("root@localhost"), password: "secret", displayName: nil, by: Identity(.email, "r@example.org"),
          code: "123456", in: realm, from: "192.0.2.1")
      } == "name-reserved")
  }

  @Test func theOperatorIsToldOfEachDoubt() async throws {
    try await withCore(Self.settings) { core, context, settings in
      func doubts() async throws -> [String] {
        try await core.accounts.doubts(about: settings.reservedNames).map { "\($0.key) \($0.address) \($0.reason)" }
      }
      #expect(settings.reservedNames.values.sorted() == ["admins", "contact.abuse"])
      #expect(try await doubts() == ["contact.abuse abuse@localhost missing", "admins root@localhost missing"])
      // As an earlier release let anybody do.
      let (root, now) = (try BareJID("root@localhost"), core.parley.clock.now)
      let realm = core.parley.realms[0].id
      _ = try await core.parley.work { try $0.insertUser(root, in: realm, profile: Profile(), createdAt: now) }
      _ = try await context.perform(AddUser.self, .init(jid: "abuse@localhost", password: "secret", name: nil))
      #expect(try await doubts() == ["admins root@localhost unconfirmed(since: \(now))"])
      // It is an administrator all the same. The operator's word ends the doubt, no key's, and nothing else changes.
      let role = SetRole.Input(jid: "root@localhost", role: .admin)
      let everything = context.within(core.parley.realms[0], scopes: Set(AppKey.Scope.allCases))
      #expect(try await everything.perform(SetRole.self, role).role == "admin")
      #expect(try await doubts().count == 1)
      #expect(try await context.perform(SetRole.self, role).role == "admin")
      #expect(try await doubts().isEmpty)
      #expect(try await core.parley.read { try $0.administrators() }.isEmpty)
      let user = try await context.user("root@localhost")
      try await core.accounts.setState(of: user.id, .disabled)
      #expect(await Self.code { _ = try await context.perform(SetRole.self, role) } == "user-inactive")
      try await core.accounts.setState(of: user.id, .deleted)
      #expect(try await doubts() == ["admins root@localhost deleted"])
    }
  }

  /// An operator who makes somebody an administrator by command knows them, also before the configuration names them.
  @Test func theRoleByCommandConfirms() async throws {
    try await withCore { core, context, _ in
      let address = try BareJID("nina@localhost")
      _ = try await core.accounts.register(address, password: "secret", displayName: nil)
      #expect(try await core.accounts.doubts(about: [address: "admins"]).count == 1)
      _ = try await context.perform(SetRole.self, .init(jid: "nina@localhost", role: .admin))
      #expect(try await core.accounts.doubts(about: [address: "admins"]).isEmpty)
    }
  }

  /// A name that an invitation fixed is nobody's once it is reserved, but the operator's.
  @Test func anInvitationOfBeforeIsNoObstacleToTheOperator() async throws {
    let stage = try Stage()
    let (root, realm) = (try BareJID("root@localhost"), stage.parley.realms[0])
    let new = try await Invites(stage.parley).make(
      InviteDraft(realm: realm.id, kind: .account, name: "root"), by: nil)
    stage.parley.registries.administrators.reserve([root])
    #expect(
      await Self.code {
        _ = try await stage.accounts.register(root, password: "secret", displayName: nil, invite: new.invite)
      } == "name-reserved")
    let made = try await stage.accounts.provision(
      Accounts.Provision(name: "root", password: "secret"), in: realm, byOperator: true)
    #expect(made.address == root)
  }

  /// `parley check` reads a folder that no server has open, and leaves it as it is: an operator checks a configuration
  /// before it is in force, and as another user than the server's.
  @Test(arguments: [false, true]) func aCheckChangesNothing(wasKilled: Bool) async throws {
    try await withScratchFolder { folder in
      let settings = try testSettings(folder, ["admins": "root@localhost"])
      let core = try Core.open(settings, openFolder(settings.data), logger: quiet)
      let root = try BareJID("root@localhost")
      _ = await core.accounts.importUsers(
        [Accounts.NewUser(address: root, password: "secret", displayName: nil)], byOperator: true)
      // What a killed server leaves: a log that is not yet copied into the database.
      let left = "\(folder)/left"
      if wasKilled { try FileManager.default.copyItem(atPath: settings.data, toPath: left) }
      await core.close(quiet)
      if !wasKilled { try FileManager.default.copyItem(atPath: settings.data, toPath: left) }
      func state() throws -> [String: [UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: left).filter { !$0.hasSuffix("-shm") }
        return names.reduce(into: [:]) { found, name in
          found[name] = FileManager.default.contents(atPath: "\(left)/\(name)").map { Array($0) } ?? []
        }
      }
      let before = try state()
      #expect(wasKilled == (before["parley.db-wal"]?.isEmpty == false))
      let proposed = try testSettings(
        folder,
        [
          "data": left, "admins": "root@localhost,new@other.example", "domains": "localhost,other.example",
          "rooms.domain": "chat.{domain}",
        ])
      let texts = await AdminConnection.doubts(proposed)
      #expect(texts == [Accounts.Doubt(try BareJID("new@other.example"), namedBy: "admins", .missing).text])
      let after = try state()
      #expect(Set(after.keys).union(before.keys).filter { after[$0] != before[$0] }.isEmpty)
    }
  }
}

private enum AdminRows {
  static func row(_ name: String) -> ImportUsers.Row {
    ImportUsers.Row(jid: "\(name)@localhost", password: "secret", name: nil)
  }
  static func invitation(_ name: String) -> CreateInvite.Input {
    CreateInvite.Input(domain: nil, name: name, contact: nil)
  }
}
