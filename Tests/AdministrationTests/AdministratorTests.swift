import Accounts
import Addresses
import Dialogs
import DialogsFixtures
import ParleyServer
import ServerFixtures
import Testing

@testable import Administration

/// Tests of the administrators' role, and of what their access tokens reach over HTTP.
@Suite struct AdministratorTests {
  private static func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code }
    return nil
  }

  private static func token(of jid: String, in context: AdminContext) async throws -> String {
    if try await context.parley.read({ try $0.user(try BareJID(jid)) }) == nil {
      _ = try await AddUser.perform(.init(jid: jid, password: "secret", name: nil), in: context)
    }
    return try await CreateSession.perform(.init(jid: jid, deviceId: nil, client: nil), in: context).accessToken
  }

  @Test func theRoleHoldsForTheNextRequest() async throws {
    try await withCore { core, context, _ in
      let token = try await Self.token(of: "alice@localhost", in: context)
      func refusal() async -> String? { await Self.code { _ = try await context.caller(token, from: "192.0.2.1") } }
      #expect(await refusal() == "administrator-required")
      let made = try await SetRole.perform(.init(jid: "alice@localhost", role: .admin), in: context)
      #expect(made.role == "admin")
      let caller = try await context.caller(token, from: "192.0.2.1")
      #expect(caller.realm.domain == "localhost" && caller.scopes == Set(AppKey.Scope.allCases).subtracting([.keys]))
      #expect(caller.actor.name == "alice@localhost" && caller.actor.surface == .http && caller.actor.key == 0)
      let all = ListUsers.Input(domain: nil, matching: nil, after: nil, limit: 9, role: .admin)
      #expect(try await ListUsers.perform(all, in: context).items.map(\.jid) == ["alice@localhost"])
      // Neither door is told of anything else than the registry.
      let alice = try await context.user("alice@localhost").party
      #expect(core.parley.registries.administrators.contains(alice))
      _ = try await SetRole.perform(.init(jid: "alice@localhost", role: .user), in: context)
      #expect(await refusal() == "administrator-required")
      #expect(!core.parley.registries.administrators.contains(alice))
      #expect(try await ListUsers.perform(all, in: context).items.isEmpty)
      _ = try await SetRole.perform(.init(jid: "alice@localhost", role: .admin), in: context)
      _ = try await SetUserState.perform(.init(jid: "alice@localhost", state: .disabled), in: context)
      #expect(await refusal() == "token-invalid")
    }
  }

  @Test func theConfigurationsAdministratorsStay() async throws {
    try await withCore(["admins": "alice@localhost"]) { _, context, _ in
      let token = try await Self.token(of: "alice@localhost", in: context)
      #expect(try await context.caller(token, from: "").realm.domain == "localhost")
      #expect(
        await Self.code { _ = try await SetRole.perform(.init(jid: "alice@localhost", role: .user), in: context) }
          == "administrator-configured")
      #expect(try await SetRole.perform(.init(jid: "alice@localhost", role: .admin), in: context).role == "admin")
    }
  }

  @Test func anAdministratorOfAnotherDomainReachesItAlone() async throws {
    try await withCore(["domains": "localhost,other.example", "admins": "paris@other.example"]) { _, context, _ in
      _ = try await AddUser.perform(.init(jid: "alice@localhost", password: "secret", name: nil), in: context)
      let token = try await Self.token(of: "paris@other.example", in: context)
      let paris = context.within(try await context.caller(token, from: ""))
      #expect(try await paris.perform(ShowUser.self, .init(jid: "paris")).user.role == "admin")
      #expect(
        await Self.code { _ = try await paris.perform(ShowUser.self, .init(jid: "alice@localhost")) } == "user-unknown")
      for refused in [
        await Self.code { _ = try await paris.perform(ServerStatus.self, Empty()) },
        await Self.code {
          _ = try await paris.perform(AddKey.self, .init(domain: nil, name: "key", scopes: ["audit"]))
        },
        await Self.code { _ = try await paris.perform(SetRole.self, .init(jid: "paris", role: .admin)) },
      ] { #expect(refused == "scope-missing") }
      #expect(
        await Self.code { _ = try await paris.perform(Backup.self, .init(path: "/nowhere.db")) }
          == "operation-local")
    }
  }

  /// A key that signs users in, or sets their passwords, would else become an administrator and get what it lacks.
  @Test func aKeyGetsNoMoreByAnAdministrator() async throws {
    try await withCore(["admins": "prince@localhost"]) { core, context, _ in
      _ = try await Self.token(of: "alice@localhost", in: context)
      _ = try await Self.token(of: "bob@localhost", in: context)
      _ = try await SetRole.perform(.init(jid: "alice@localhost", role: .admin), in: context)
      let realm = core.parley.realms[0]
      let key = context.within(realm, scopes: [.usersRead, .usersWrite, .sessionsWrite, .keys])
      func refusals(_ jid: String, _ context: AdminContext) async -> [String?] {
        [
          await Self.code { _ = try await context.perform(SetPassword.self, .init(jid: jid, password: "other")) },
          await Self.code { _ = try await context.perform(RemoveSecondFactorOf.self, .init(jid: jid)) },
          await Self.code {
            _ = try await context.perform(SetAddress.self, .init(jid: jid, kind: .email, address: "\(jid)"))
          },
          await Self.code {
            _ = try await context.perform(
              UpdateUser.self, .init(jid: jid, name: nil, status: nil, externalId: "id of \(jid)", email: nil))
          },
          await Self.code {
            _ = try await context.perform(CreateSession.self, .init(jid: jid, deviceId: nil, client: nil))
          },
        ]
      }
      #expect(await refusals("alice@localhost", key) == Array(repeating: "administrator-protected", count: 5))
      #expect(await refusals("bob@localhost", key) == Array(repeating: nil, count: 5))
      #expect(
        await Self.code { _ = try await key.perform(SetRole.self, .init(jid: "bob@localhost", role: .admin)) }
          == "administrator-protected")
      #expect(
        await Self.code {
          _ = try await key.perform(AddUser.self, .init(jid: "prince@localhost", password: "x", name: nil))
        } == "name-reserved")
      let all = context.within(realm, scopes: Set(AppKey.Scope.allCases))
      #expect(await refusals("alice@localhost", all) == Array(repeating: nil, count: 5))
      #expect(try await all.perform(SetRole.self, .init(jid: "bob@localhost", role: .admin)).role == "admin")
    }
  }
}
