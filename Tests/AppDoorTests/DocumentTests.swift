import FoundationEssentials
import HTTPPort
import JSON
import Testing
import Yams

import enum Dialogs.ReservedWords

@testable import AppDoor

/// Holds code and documents to each other, both ways. What a running server
/// answers is held to them by `Tests/Clients/app_contract.py`.
@Suite struct DocumentTests {
  static let docs = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "docs")

  private func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: Self.docs.appending(path: name)), as: UTF8.self)
  }

  private func document(_ name: String) throws -> Node {
    try #require(try Yams.compose(yaml: try text(name)))
  }

  private func strings(_ node: Node?) -> [String] { node?.sequence?.compactMap(\.string) ?? [] }
  private func keys(_ node: Node?) -> [String] { node?.mapping?.keys.compactMap(\.string) ?? [] }

  /// An operation, as the code or the document defines it.
  struct Described: Hashable, Comparable {
    let name: String
    let method: String
    let path: String
    let successes: [Int]
    let needsCaller: Bool
    static func < (a: Self, b: Self) -> Bool { a.name < b.name }
  }

  @Test func openAPIHasEveryOperationAndNoOther() throws {
    let paths = try #require(try document("openapi.yaml")["paths"]?.mapping)
    var described: [Described] = []
    for (path, item) in paths {
      for (method, operation) in item.mapping ?? [:] {
        let statuses = keys(operation["responses"]).compactMap { Int($0) }
        described.append(
          Described(
            name: operation["operationId"]?.string ?? "", method: method.string?.uppercased() ?? "",
            path: path.string ?? "", successes: statuses.filter { $0 < 300 }.sorted(),
            needsCaller: operation["security"]?.sequence?.isEmpty != true))
        #expect(!keys(operation["responses"]).contains("default"), "\(path.string ?? "")")
      }
    }
    let served = Operations.all.map {
      Described(
        name: $0.name, method: $0.method.rawValue, path: $0.path, successes: $0.successes.sorted(),
        needsCaller: $0.needsCaller)
    }
    #expect(described.sorted() == served.sorted())
    #expect(Set(served.map(\.name)).count == served.count)
  }

  /// A user whose localpart is a literal segment of a route could not be meant by another route with a user there: the
  /// router takes the literal. So no account gets such a name. That the documents have all routes is what this suite and
  /// `AdminRouteTests` check.
  @Test func noUserIsCalledAsASegmentOfARoute() throws {
    let users: Set = ["{userId}", "{jid}", "{contact}", "{subject}"]
    let others: Set = [
      "{appPasswordId}", "{attachmentId}", "{callId}", "{deviceId}", "{dialogId}", "{exportId}", "{identityId}",
      "{messageId}", "{scheduledMessageId}", "{sessionId}", "{token}", "{dialog}", "{domain}", "{failure}", "{group}",
      "{id}", "{message}", "{operation}",
    ]
    var routes: [[String]] = []
    for name in ["openapi.yaml", "openapi-admin.yaml"] {
      routes += keys(try document(name)["paths"]).map { $0.split(separator: "/").map(String.init) }
    }
    let parameters = Set(routes.joined().filter { $0.hasPrefix("{") })
    // A parameter of another name belongs to one of the two.
    #expect(parameters == users.union(others))
    var words: Set<String> = []
    for route in routes {
      for (place, segment) in route.enumerated() where users.contains(segment) {
        for other in routes where other.count > place && !other[place].hasPrefix("{") {
          let isThere = zip(route, other).prefix(place).allSatisfy { pair in
            pair.0 == pair.1 || pair.0.hasPrefix("{") || pair.1.hasPrefix("{")
          }
          if isThere { words.insert(other[place]) }
        }
      }
    }
    #expect(words == ["me"])
    #expect(ReservedWords.all.isSuperset(of: words))
    // The segments that are taken out of a path (RFC 3986 5.2.4).
    #expect(ReservedWords.all.subtracting(words) == [".", ".."])
  }

  @Test func openAPIHasTheRefusalsThatAlwaysCan() throws {
    let paths = try #require(try document("openapi.yaml")["paths"]?.mapping)
    for (path, item) in paths {
      for (method, operation) in item.mapping ?? [:] {
        let statuses = Set(keys(operation["responses"]))
        let name = "\(method.string ?? "") \(path.string ?? "")"
        if operation["security"]?.sequence?.isEmpty != true {
          #expect(statuses.isSuperset(of: ["401", "429"]), "\(name)")
        }
        if operation["requestBody"] != nil {
          #expect(statuses.isSuperset(of: ["400", "413", "503"]), "\(name)")
        }
        if path.string?.contains("{") == true { #expect(statuses.contains("400"), "\(name)") }
        let parameters = (operation["parameters"]?.sequence ?? []).compactMap {
          $0["name"]?.string
            ?? $0["$ref"]?.string?.split(separator: "/").last.map {
              $0.prefix(1).lowercased() + $0.dropFirst()
            }
        }
        let braces = (path.string ?? "").split(separator: "/").filter { $0.hasPrefix("{") }.map {
          String($0.dropFirst().dropLast())
        }
        #expect(Set(braces).isSubset(of: parameters), "\(name)")
      }
    }
  }

  @Test func schemasAreClosedAndHaveTheMembersOfTheirTypes() throws {
    let schemas = try #require(try document("openapi.yaml")["components"]?["schemas"])
    let samples = try Samples.rest()
    for sample in samples {
      let schema = try #require(schemas[sample.schema], "\(sample.schema)")
      try compare(sample.written, with: schema, name: sample.schema)
    }
    // The members of the first three depend on a type. The others are parts of inputs, which the server does not write.
    let withoutSample: Set = [
      "Content", "SystemContent", "SyncEvent", "ForwardFrom", "NewAudio", "NewContactCard", "NewCustom", "NewFile",
      "NewImage", "NewLocation", "NewMember", "NewSticker", "NewText", "NewVideo",
    ]
    let objects = keys(schemas).filter { schemas[$0]?["type"]?.string == "object" && !$0.hasSuffix("Input") }
    #expect(Set(objects).subtracting(samples.map(\.schema)) == withoutSample)
    // Only what is open by design is open.
    for (name, schema) in schemas.mapping ?? [:] where schema["type"]?.string == "object" {
      let isOpen = schema["additionalProperties"]?.bool != false
      #expect(isOpen == (name.string == "Content"), "\(name.string ?? "")")
    }
  }

  /// A sample has every member, so its names are the schema's; what is required
  /// is there, and what is not may be absent from the type. The same is true of
  /// objects within it that have no schema of their own.
  private func compare(_ value: JSONValue, with schema: Node, name: String) throws {
    guard case .object(let members) = value else {
      Issue.record("\(name) is no object")
      return
    }
    #expect(Set(members.map(\.name)) == Set(keys(schema["properties"])), "\(name)")
    #expect(Set(strings(schema["required"])).isSubset(of: keys(schema["properties"])), "\(name)")
    for member in members {
      guard let inner = schema["properties"]?[member.name] else { continue }
      if inner["properties"] != nil {
        try compare(member.value, with: inner, name: "\(name).\(member.name)")
      } else if let items = inner["items"], items["properties"] != nil, case .array(let values) = member.value {
        for value in values { try compare(value, with: items, name: "\(name).\(member.name)") }
      }
    }
  }

  @Test func asyncAPIHasEveryFrameAndNoOther() throws {
    let document = try document("asyncapi.yaml")
    let messages = try #require(document["components"]?["messages"])
    // A command may be called as the event that it causes.
    let commands = CommandName.allCases.map {
      EventName(rawValue: $0.rawValue) == nil ? $0.rawValue : "\($0.rawValue).command"
    }
    let expected = Set(commands + EventName.allCases.map(\.rawValue) + ["reply"])
    #expect(Set(keys(messages)) == expected)
    #expect(Set(keys(document["channels"]?["webSocket"]?["messages"])) == expected)
    #expect(document["channels"]?["webSocket"]?["address"]?.string == webSocketPath)

    func listed(_ operation: String) -> Set<String> {
      Set(
        (document["operations"]?[operation]?["messages"]?.sequence ?? []).compactMap {
          $0["$ref"]?.string?.split(separator: "/").last.map(String.init)
        })
    }
    #expect(listed("command") == Set(commands))
    #expect(listed("event") == Set(EventName.allCases.map(\.rawValue)))
    for (name, message) in messages.mapping ?? [:] where name.string != "reply" {
      #expect(message["payload"]?["additionalProperties"]?.bool == false, "\(name.string ?? "")")
      let type = name.string.map { $0.hasSuffix(".command") ? String($0.dropLast(".command".count)) : $0 }
      #expect(message["payload"]?["properties"]?["type"]?["const"]?.string == type)
    }
  }

  @Test func eventsHaveTheMembersOfTheirTypes() throws {
    let messages = try #require(try document("asyncapi.yaml")["components"]?["messages"])
    for sample in try Samples.events() {
      let payload = try #require(messages[sample.schema]?["payload"], "\(sample.schema)")
      try compare(sample.written, with: payload, name: sample.schema)
      let required = Set(strings(payload["required"]))
      let isDurable = try #require(EventName(rawValue: sample.schema)).isDurable && sample.schema != "user.updated"
      #expect(required.contains("cursor") == isDurable, "\(sample.schema)")
      guard let data = sample.written["data"], let schema = payload["properties"]?["data"], schema["$ref"] == nil else {
        continue
      }
      try compare(data, with: schema, name: sample.schema)
      #expect(schema["additionalProperties"]?.bool == false, "\(sample.schema)")
    }
  }

  @Test func closeReasonsAndStatesAreThoseOfTheCode() throws {
    let guide = try text("app-protocol.md")
    for code in CloseCode.allCases { #expect(guide.contains("\(code.rawValue)"), "\(code)") }
    for operation in Operations.all {
      #expect(
        guide.contains("| `\(operation.name)` | `\(operation.method.rawValue) \(operation.path)` |"),
        "\(operation.name)")
    }
    for command in CommandName.allCases { #expect(guide.contains("| `\(command.rawValue)` |"), "\(command)") }
    for state in ContactBody.State.allCases { #expect(guide.contains("`\(state.rawValue)`"), "\(state)") }
    let schemas = try document("openapi.yaml")["components"]?["schemas"]
    #expect(strings(schemas?["ScheduledState"]?["enum"]) == ScheduledMessageBody.State.allCases.map(\.rawValue))
    #expect(
      strings(schemas?["Contact"]?["properties"]?["state"]?["enum"]) == ContactBody.State.allCases.map(\.rawValue))
    #expect(strings(schemas?["Availability"]?["enum"]) == PresenceBody.Availability.allCases.map(\.rawValue))
    #expect(strings(schemas?["Role"]?["enum"]) == MemberBody.Role.allCases.map(\.rawValue))
    #expect(
      strings(schemas?["Member"]?["properties"]?["role"]?["enum"])
        == MemberBody.Role.allCases.map(\.rawValue) + [MemberBody.gone])
    #expect(strings(schemas?["Dialog"]?["properties"]?["type"]?["enum"]) == DialogBody.Kind.allCases.map(\.rawValue))
    #expect(
      strings(schemas?["HistoryVisibility"]?["enum"]) == DialogBody.HistoryVisibility.allCases.map(\.rawValue))
    for name in ["Dialog", "UpdateDialogInput"] {
      let documented = Set(keys(schemas?[name]?["properties"]))
      #expect(documented.isSuperset(of: RoomSetting.all.map(\.name)), "\(name)")
    }
    let kinds = SystemContent.Kind.allCases.map(\.rawValue)
    #expect(strings(schemas?["SystemContent"]?["properties"]?["kind"]?["enum"]) == kinds)
    for kind in kinds { #expect(guide.contains("`\(kind)`"), "\(kind)") }
    for role in MemberBody.Role.allCases { #expect(guide.contains("`\(role.rawValue)`"), "\(role)") }
    let durable = EventName.allCases.filter(\.isDurable).map(\.rawValue)
    #expect(
      Set(strings(schemas?["SyncEvent"]?["properties"]?["type"]?["enum"])) == Set(durable + [EventName.resync.rawValue])
    )
    for event in durable { #expect(guide.contains("`\(event)`"), "\(event)") }
    #expect(
      Set(strings(schemas?["Content"]?["properties"]?["type"]?["enum"]))
        == Set(ContentBody.Kind.allCases.map(\.rawValue)))
  }
}
