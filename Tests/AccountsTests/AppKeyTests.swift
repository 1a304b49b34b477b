import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

/// Keys of backends: what opens, what does not, what is kept of it.
@Suite struct AppKeyTests {
  private func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code }
    return nil
  }

  @Test func aKeyOpensUntilItIsRevoked() async throws {
    let stage = try Stage()
    let (accounts, realm) = (stage.accounts, stage.parley.realms[0].id)
    let (key, secret) = try await accounts.makeAppKey(name: "backend", scopes: [.usersRead], in: realm)
    #expect(secret.hasPrefix("parley_") && secret.hasPrefix(key.prefix) && key.prefix.utf8.count == 12)
    #expect(try await accounts.appKey(secret: secret).id == key.id)
    // Only its hash is kept.
    #expect(try await accounts.appKeys(in: realm).map(\.hash) == [Token.hash(secret)])
    for wrong in ["", "parley_", secret + "x", String(secret.dropLast()), String(secret.dropFirst(7)), "Bearer"] {
      #expect(await code { _ = try await accounts.appKey(secret: wrong) } == "key-invalid", "\(wrong)")
    }
    #expect(await code { try await accounts.removeAppKey(key.id, in: RealmID(9)) } == "key-unknown")
    try await accounts.removeAppKey(key.id, in: realm)
    #expect(await code { _ = try await accounts.appKey(secret: secret) } == "key-invalid")
    #expect(await code { try await accounts.removeAppKey(key.id, in: realm) } == "key-unknown")
  }

  @Test func keysHaveNamesScopesAndABound() async throws {
    let stage = try Stage()
    let (accounts, realm) = (stage.accounts, stage.parley.realms[0].id)
    _ = try await accounts.makeAppKey(name: "one", scopes: [.audit], in: realm)
    #expect(await code { _ = try await accounts.makeAppKey(name: "one", scopes: [.audit], in: realm) } == "name-taken")
    #expect(await code { _ = try await accounts.makeAppKey(name: "", scopes: [.audit], in: realm) } == "name-malformed")
    #expect(await code { _ = try await accounts.makeAppKey(name: "two", scopes: [], in: realm) } == "scopes-missing")
    for number in 1..<AccountLimits.appKeysMax {
      _ = try await accounts.makeAppKey(name: "key \(number)", scopes: [.audit], in: realm)
    }
    #expect(
      await code { _ = try await accounts.makeAppKey(name: "more", scopes: [.audit], in: realm) } == "too-many-keys")
  }

  @Test func callsOfAKeyAreRecorded() async throws {
    let stage = try Stage()
    let (accounts, realm) = (stage.accounts, stage.parley.realms[0].id)
    let (key, secret) = try await accounts.makeAppKey(name: "backend", scopes: [.audit], in: realm)
    let actor = AuditActor(key, from: "192.0.2.1")
    let long = "/" + String(repeating: "x", count: AccountLimits.auditObjectBytesMax)
    try await accounts.note("users.add", on: "romeo", by: actor, status: 201)
    try await accounts.note("users.show", on: long, by: actor, status: 404, code: "user-unknown")
    let records = try await accounts.audit(in: realm, before: .max, limit: 10)
    #expect(records.map(\.operation) == ["users.show", "users.add"] && records.map(\.status) == [404, 201])
    #expect(records[0].object.utf8.count == AccountLimits.auditObjectBytesMax && records[0].code == "user-unknown")
    #expect(records[1].actor == actor && actor.name == "backend" && secret.hasPrefix(actor.keyPrefix))
  }

  @Test func aProvisionedUserIsThereWholeOrNotAtAll() async throws {
    let stage = try Stage()
    let (accounts, realm) = (stage.accounts, stage.parley.realms[0])
    let romeo = try await accounts.provision(
      Accounts.Provision(
        name: "romeo", password: "wherefore", displayName: "Romeo",
        identities: [Identity(.external, "42"), Identity(.email, "romeo@montague.example")]), in: realm)
    _ = try await accounts.verify(romeo.address, password: "wherefore")
    #expect(try await accounts.parley.read { try $0.user(of: Identity(.external, "42"), in: realm.id) } == romeo.id)
    // Somebody else's identity: nobody is made.
    #expect(
      await code {
        _ = try await accounts.provision(
          Accounts.Provision(name: "tybalt", identities: [Identity(.external, "42")]), in: realm)
      } == "identity-taken")
    #expect(
      try await accounts.parley.read { try $0.users(in: realm.id, matching: nil, after: nil, limit: 9).map(\.name) }
        == ["romeo"]
    )
    #expect(
      await code { _ = try await accounts.provision(Accounts.Provision(name: "romeo"), in: realm) } == "name-taken")
    // An operator learns whether the name is in use; others do not.
    for (byOperator, text) in [(true, "exists already"), (false, "exists, belonged to")] {
      let problem = await #expect(throws: Problem.self) {
        _ = try await accounts.provision(Accounts.Provision(name: "romeo"), in: realm, byOperator: byOperator)
      }
      #expect(problem?.text.hasPrefix("romeo@localhost \(text)") == true)
    }
    let nameless = try await accounts.provision(Accounts.Provision(identities: [Identity(.external, "43")]), in: realm)
    #expect(nameless.name != romeo.name)
    // A backend logs its users in, and those who are disabled not.
    let login = try await accounts.logIn(as: nameless, device: nil, client: "app")
    #expect(try await accounts.caller(accessToken: login.accessToken).user.id == nameless.id)
    try await accounts.setState(of: nameless.id, .disabled)
    #expect(await code { _ = try await accounts.logIn(as: nameless, device: nil, client: nil) } == "account-disabled")
    try await accounts.setIdentity(.external, "44", of: Party(id: romeo.id, realm: romeo.realm, address: romeo.address))
    #expect(try await accounts.parley.read { try $0.user(of: Identity(.external, "42"), in: realm.id) } == nil)
  }
}
