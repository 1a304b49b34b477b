import Addresses
import Dialogs
import Foundation
import HTTPPort
import JSON
import ParleyServer
import ServerFixtures
import Testing
import Yams

@testable import Administration

/// The operations that app keys call: their document, and that a key reaches its own realm alone.
@Suite struct AdminRouteTests {
  private struct Described: Hashable, Comparable, CustomStringConvertible {
    let method: String
    let path: String
    let scope: String
    let status: String
    var description: String { "\(method) \(path) \(scope) \(status)" }
    static func < (a: Self, b: Self) -> Bool { a.description < b.description }
  }

  @Test func theDocumentHasEveryRouteAndNoOther() throws {
    let docs = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/openapi-admin.yaml")
    let document = try #require(try Yams.compose(yaml: String(decoding: Data(contentsOf: docs), as: UTF8.self)))
    var described: [Described] = []
    for (path, item) in document["paths"]?.mapping ?? [:] {
      for (method, operation) in item.mapping ?? [:] {
        let statuses = operation["responses"]?.mapping?.keys.compactMap(\.string) ?? []
        let scope = operation["description"]?.string?.split(separator: "`").dropFirst().first ?? ""
        described.append(
          Described(
            method: method.string?.uppercased() ?? "", path: path.string ?? "", scope: String(scope),
            status: statuses.filter { $0 < "300" }.joined(separator: " ")))
        #expect(Set(statuses).isSuperset(of: ["401", "403", "429", "503"]), "\(path.string ?? "")")
      }
    }
    var served: [Described] = []
    for operation in AdminOperations.all {
      for route in operation.routes {
        served.append(
          Described(
            method: route.method.rawValue, path: route.path, scope: route.scope?.rawValue ?? "",
            status: String(Self.isSilent(operation) ? 204 : route.status)))
      }
    }
    // The one of commands elsewhere, whose scope is that of the operation.
    served.append(Described(method: "POST", path: AdminRoute.named.path, scope: "", status: "200 204"))
    #expect(described.sorted() == served.sorted())
    let named = document["components"]?["parameters"]?["operation"]?["schema"]?["enum"]?.sequence?.compactMap(\.string)
    #expect(named == AdminOperations.all.filter { $0.scope != nil }.map { $0.name }.sorted())
    #expect(Set(AdminOperations.all.map { $0.name }).count == AdminOperations.all.count)
  }

  private static func isSilent(_ operation: any AdminOperation.Type) -> Bool {
    func output<Operation: AdminOperation>(_ operation: Operation.Type) -> Bool {
      Operation.Output.self == Empty.self
    }
    return output(operation)
  }

  /// Backends have no use for these.
  @Test func operatorsHaveMoreThanBackends() {
    let names = Set(AdminOperations.all.filter { !$0.routes.isEmpty }.map { $0.name })
    #expect(names.isDisjoint(with: ["keys.add", "keys.list", "keys.revoke", "backup", "server.status"]))
    #expect(names.contains("users.add"))
  }

  @Test func aRealmsOperationsSeeNoOther() async throws {
    try await withCore { core, context, _ in
      _ = try await AddUser.perform(AddUser.Input(jid: "alice@localhost", password: "secret", name: nil), in: context)
      let team = try await CreateDialog.perform(
        CreateDialog.Input(
          dialog: "team", owner: "alice@localhost", name: nil, about: nil, topic: nil, isPublic: false,
          externalId: nil, members: []), in: context)
      let own = context.within(core.parley.realms[0])
      let realm = core.parley.realms[0]
      let other = context.within(
        Realm(id: RealmID(99), domain: "elsewhere.example", rooms: "rooms.elsewhere.example", key: realm.key, epoch: 1))
      #expect(try await own.user("alice").name == "alice")
      #expect(try await own.dialog("team").address.description == team.jid)
      #expect(try await own.dialog(team.id).address.description == team.jid)
      func code(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch { return (error as? Problem)?.code }
        return nil
      }
      #expect(await code { _ = try await other.user("alice@localhost") } == "user-unknown")
      #expect(await code { _ = try await own.user("alice@elsewhere.example") } == "user-unknown")
      for name in ["team@conference.localhost", team.id] {
        #expect(await code { _ = try await other.dialog(name) } == "dialog-unknown")
      }
      #expect(await code { _ = try other.realm("localhost") } == "domain-not-served")
      #expect(try other.realm(nil).id == RealmID(99))
    }
  }
}
