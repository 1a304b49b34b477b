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

  private static func text(_ name: String) throws -> String {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/" + name)
    return String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }

  private static func document() throws -> Yams.Node {
    try #require(try Yams.compose(yaml: text("openapi-admin.yaml")))
  }

  /// The server refuses members that no schema has (`OperationInput.decodeStrictly`).
  @Test func theSchemasOfObjectsAreClosed() throws {
    let schemas = try #require(try Self.document()["components"]?["schemas"]?.mapping)
    var open: [String] = []
    for (name, schema) in schemas where schema["type"]?.string == "object" && schema["additionalProperties"] == nil {
      open.append(name.string ?? "")
    }
    // That of the operation is its own.
    #expect(open == ["OperationInput"])
  }

  @Test func theDocumentHasEveryRouteAndNoOther() throws {
    let document = try Self.document()
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

  /// The page lists each operation that a key may call, with each member of its input, and says which may be left out.
  @Test func thePageOfOperationsHasTheirInputs() throws {
    var names: [String] = []
    for line in try Self.text("admin-operations.md").split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      try #require(cells.count == 4, "\(line)")
      let texts = cells.map { $0.trimmingCharacters(in: ["`"]) }
      let operation = try #require(AdminOperations.named(texts[0]), "\(line)")
      names.append(texts[0])
      #expect(texts[1] == operation.scope?.rawValue, "\(line)")
      let paths = operation.routes.map { "`\($0.method.rawValue) \($0.path.dropFirst("/v1/admin".count))`" }
      #expect(cells[2] == (paths.isEmpty ? "-" : paths.joined(separator: ", ")), "\(line)")
      try Self.check(operation, JSONValue(parsing: texts[3]))
    }
    #expect(names == AdminOperations.all.filter { $0.scope != nil }.map { $0.name }.sorted())
  }

  /// - Parameter example: An input with all members; the names of those that may be left out end in `?`.
  private static func check<Operation: AdminOperation>(_ operation: Operation.Type, _ example: JSONValue) throws {
    let (input, unknown) = try InputDecoder.decodeNotingUnknown(Operation.Input.self, from: plain(example))
    #expect(unknown == nil, "\(operation.name)")
    func names(of value: JSONValue?) -> [String]? {
      guard case .object(let members)? = value.map({ plain($0) }) else { return nil }
      return members.map(\.name)
    }
    #expect(names(of: example) == Mirror(reflecting: input).children.compactMap(\.label), "\(operation.name)")
    if let row = Mirror(reflecting: input).descendant("rows", 0), case .array(let rows)? = example["rows"] {
      #expect(names(of: rows.first) == Mirror(reflecting: row).children.compactMap(\.label), "\(operation.name)")
    }
    for (name, rest) in lacking(example) {
      let isTaken = (try? InputDecoder.decode(Operation.Input.self, from: plain(rest))) != nil
      #expect(isTaken == name.hasSuffix("?"), "\(operation.name): \(name)")
    }
  }

  /// Returns the same value, whose names have no `?`.
  private static func plain(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let members):
      .object(members.map { JSONValue.Member(String($0.name.prefix { $0 != "?" }), plain($0.value)) })
    case .array(let values): .array(values.map { plain($0) })
    case .null, .bool, .number, .string: value
    }
  }

  /// Returns the name of each member, with the value that lacks it; of lists, those of the first element.
  private static func lacking(_ value: JSONValue) -> [(name: String, rest: JSONValue)] {
    var found: [(name: String, rest: JSONValue)] = []
    if case .array(let values) = value, let first = values.first {
      for (name, rest) in lacking(first) { found.append((name: name, rest: .array([rest]))) }
    }
    guard case .object(let members) = value else { return found }
    for (index, member) in members.enumerated() {
      var others = members
      others.remove(at: index)
      found.append((name: member.name, rest: .object(others)))
      for (name, rest) in lacking(member.value) {
        var changed = members
        changed[index].value = rest
        found.append((name: name, rest: .object(changed)))
      }
    }
    return found
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
