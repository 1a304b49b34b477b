import Basics
import Dialogs
import DialogsFixtures
import ParleyServer
import ServerFixtures
import Testing

@testable import Administration

/// What a key of one domain reaches of another, by each operation there is: nothing.
@Suite struct KeyBoundTests {
  /// A word in everything that the other domain has.
  private static let mark = "Mantua"

  /// Things of the domain `other.example`.
  private struct Things {
    var dialog = ""
    var dialogID = ""
    /// The id of a private dialog.
    var talk = ""
    var message = ""
    var invite: Int64 = 0
    var key: Int64 = 0
    var webhook: Int64 = 0
    var report: Int64 = 0
    var session = ""
  }

  private static func make(in context: AdminContext) async throws -> Things {
    var things = Things()
    for name in ["paris", "rosaline"] {
      _ = try await AddUser.perform(
        .init(jid: "\(name)@other.example", password: "secret", name: "\(name) of \(mark)"), in: context)
    }
    _ = try await AddContact.perform(
      .init(jid: "paris@other.example", contact: "rosaline@other.example", name: mark, groups: [], mutual: true),
      in: context)
    let dialog = try await CreateDialog.perform(
      .init(
        dialog: "crypt@conference.other.example", owner: "paris@other.example", name: mark, about: nil, topic: nil,
        isPublic: true, externalId: mark, members: ["rosaline@other.example"]), in: context)
    (things.dialog, things.dialogID) = (dialog.jid, dialog.id)
    let posted = await AdminOperations.answer(
      "messages.post",
      Array(#"{"sender":"paris@other.example","dialog":"\#(dialog.jid)","clientId":"1","text":"\#(mark)"}"#.utf8),
      in: context)
    #expect(posted.status == 200)
    things.message =
      String(decoding: posted.body, as: UTF8.self).firstMatch(of: /"id":"([^"]*)"/).map { String($0.1) } ?? ""
    let talked = await AdminOperations.answer(
      "messages.post",
      Array(
        #"{"sender":"paris@other.example","recipient":"rosaline@other.example","clientId":"2","text":"Hi"}"#.utf8),
      in: context)
    things.talk =
      String(decoding: talked.body, as: UTF8.self).firstMatch(of: /"dialogId":"([^"]*)"/).map { String($0.1) } ?? ""
    #expect(talked.status == 200 && !things.talk.isEmpty)
    things.invite = try await CreateInvite.perform(
      .init(domain: "other.example", name: mark.lowercased(), contact: nil), in: context
    ).id
    things.key = try await AddKey.perform(
      .init(domain: "other.example", name: mark, scopes: ["*"]), in: context
    ).key.id
    things.webhook = try await AddWebhook.perform(
      .init(domain: "other.example", url: "http://127.0.0.1:9/\(mark)", events: ["*"]), in: context
    ).webhook.id
    let paris = try await context.user("paris@other.example")
    things.report = try await context.parley.work { writer in
      try writer.insert(
        Report(
          realm: paris.realm, reporter: paris.id, reported: "tybalt@localhost", reason: "urn:xmpp:reporting:spam",
          text: mark, consent: [], messages: [], createdAt: .init(milliseconds: 1)))
    }.id
    try await context.parley.post(
      .goOnline(OnlineSession(session: RecordingSession(paris.party), door: .xmpp, resource: mark)), by: paris.party)
    let online = try await ListSessions.perform(.init(jid: nil, domain: nil, after: nil, limit: 2), in: context)
    things.session = try #require(online.items.first).id
    _ = try await PutContactGroup.perform(
      .init(group: "watch", domain: "other.example", displayName: mark, everyone: nil), in: context)
    _ = try await AddHold.perform(.init(subject: "rosaline@other.example", note: mark), in: context)
    _ = try await SetMessageOfTheDay.perform(.init(domain: "other.example", text: mark, again: true), in: context)
    return things
  }

  /// The inputs by which a key would reach things of the other domain. They fit the operations: each of them is refused for
  /// whose the things are, or answered without them.
  private static func inputs(_ things: Things) -> [String: [String]] {
    let user = #""jid":"paris@other.example""#
    let dialog = #""dialog":"\#(things.dialog)""#
    let byID = #""dialog":"\#(things.dialogID)""#
    let domain = #""domain":"other.example""#
    let group = #""group":"watch""#
    let hook = #""id":\#(things.webhook)"#
    func own(_ members: String) -> [String] { ["{\(members)}", "{\(domain),\(members)}"] }
    return [
      "users.add": [#"{"jid":"benvolio@other.example","password":"secret"}"#],
      "users.import": [#"{"rows":[{"jid":"benvolio@other.example","password":"secret"}]}"#],
      "users.list": own(#""limit":100"#) + own(#""limit":100,"matching":"paris""#),
      "users.show": ["{\(user)}"], "users.password": [#"{\#(user),"password":"other"}"#],
      "users.state": [#"{\#(user),"state":"disabled"}"#], "users.delete": [#"{\#(user),"erase":true}"#],
      "users.export": ["{\(user)}"], "users.address": [#"{\#(user),"kind":"email","address":"a@b.example"}"#],
      "users.note": [#"{\#(user),"text":"seen"}"#], "users.role": [#"{\#(user),"role":"admin"}"#],
      "users.secondFactor.remove": ["{\(user)}"],
      "users.update": [#"{\#(user),"name":"Count"}"#], "users.erase": ["{\(user)}"], "users.disconnect": ["{\(user)}"],
      "tasks.list": ["{}"],
      "roster.list": ["{\(user)}"],
      "roster.add": [
        #"{\#(user),"contact":"tybalt@localhost","groups":[],"mutual":false}"#,
        #"{"jid":"tybalt@localhost","contact":"paris@other.example","groups":[],"mutual":true}"#,
      ],
      "roster.remove": [
        #"{\#(user),"contact":"rosaline@other.example","mutual":false}"#,
        #"{"jid":"tybalt@localhost","contact":"paris@other.example","mutual":true}"#,
      ],
      "roster.import": [
        #"{"rows":[{\#(user),"contact":"tybalt@localhost","groups":[]}],"mutual":false}"#,
        #"{"rows":[{"jid":"tybalt@localhost","contact":"paris@other.example","groups":[]}],"mutual":true}"#,
      ],
      "dialogs.list": own(#""limit":100"#) + own(#""limit":100,"externalId":"\#(mark)""#)
        + own(#""limit":100,"externalId":"\#(mark)","creator":"paris@other.example""#),
      "dialogs.show": ["{\(dialog)}", "{\(byID)}"],
      "dialogs.create": [
        #"{"owner":"paris@other.example","isPublic":true}"#,
        #"{"dialog":"tomb@conference.other.example","owner":"tybalt@localhost","isPublic":true}"#,
        #"{"owner":"tybalt@localhost","isPublic":true,"members":["paris@other.example"]}"#,
      ],
      "dialogs.members": [#"{\#(dialog),"limit":100}"#, #"{\#(byID),"limit":100}"#],
      "dialogs.add": [#"{\#(dialog),"jid":"tybalt@localhost","role":"member"}"#],
      "dialogs.role": [#"{\#(byID),"jid":"rosaline","role":"admin"}"#],
      "dialogs.remove": [#"{\#(dialog),"jid":"rosaline@other.example"}"#],
      "dialogs.delete": ["{\(dialog)}", "{\(byID)}"],
      "dialogs.update": [#"{\#(dialog),"name":"Garden"}"#],
      "messages.list": [#"{\#(dialog),"limit":100}"#, #"{\#(byID),"limit":100}"#],
      "messages.post": [
        #"{"sender":"paris@other.example",\#(dialog),"clientId":"2","text":"Hi"}"#,
        #"{"sender":"tybalt@localhost","recipient":"paris@other.example","clientId":"3","text":"Hi"}"#,
        #"{"sender":"tybalt@localhost",\#(byID),"clientId":"4","text":"Hi"}"#,
      ],
      "messages.delete": [
        #"{\#(dialog),"message":"\#(things.message)"}"#,
        #"{"dialog":"\#(things.talk)","message":"\#(things.message)"}"#,
      ],
      "notifications.send": [#"{"userIds":["paris@other.example"],"clientId":"1","body":"Hi"}"#],
      "sessions.list": own(#""limit":100"#) + [#"{\#(user),"limit":100}"#], "sessions.create": ["{\(user)}"],
      "sessions.show": [#"{"id":"\#(things.session)"}"#], "sessions.close": [#"{"id":"\#(things.session)"}"#],
      "announce": [#"{\#(domain),"text":"Hi"}"#], "motd.set": [#"{\#(domain),"text":"Hi","again":true}"#],
      "motd.show": ["{}", "{\(domain)}"],
      "invites.create": [#"{\#(domain)}"#, #"{"contact":"paris@other.example"}"#],
      "invites.list": ["{}", "{\(domain)}"],
      "invites.revoke": [#"{"id":\#(things.invite)}"#],
      "reports.list": ["{}", "{\(domain)}"], "reports.show": [#"{"id":\#(things.report)}"#],
      "reports.dismiss": [#"{"id":\#(things.report)}"#],
      "keys.add": [#"{\#(domain),"name":"second","scopes":["users:read"]}"#], "keys.list": ["{}", "{\(domain)}"],
      "contact-groups.list": ["{}", "{\(domain)}"], "contact-groups.show": own(group),
      "contact-groups.put": [#"{\#(domain),"group":"second"}"#, #"{\#(domain),\#(group),"everyone":true}"#],
      "contact-groups.change": [
        #"{\#(domain),\#(group),"add":["paris@other.example"]}"#, #"{\#(group),"add":["paris@other.example"]}"#,
      ],
      "contact-groups.delete": own(group), "holds.list": ["{}"],
      "holds.add": [#"{"subject":"paris@other.example"}"#, #"{"subject":"\#(things.dialogID)"}"#],
      "holds.remove": [#"{"subject":"rosaline@other.example"}"#],
      "keys.revoke": own(#""id":\#(things.key)"#),
      "audit.list": own(#""limit":100"#),
      "webhooks.add": [#"{\#(domain),"url":"https://example.org/","events":["*"]}"#],
      "webhooks.list": ["{}", "{\(domain)}"], "webhooks.show": own(hook), "webhooks.remove": own(hook),
      "webhooks.rotate": own(hook), "webhooks.failures": own(hook + #","limit":100"#),
      "webhooks.update": own(hook + #","state":"disabled""#), "webhooks.redrive": own(hook),
      "webhooks.forget": own(hook),
      "webhooks.test": own(hook),
    ]
  }

  /// What the other domain has, as its operator sees it.
  private static func state(_ things: Things, _ context: AdminContext) async -> [String] {
    let user = #"{"jid":"paris@other.example"}"#
    let other = #"{"domain":"other.example","limit":100}"#
    var found: [String] = []
    for (name, input) in [
      ("users.list", other), ("users.show", user), ("roster.list", user), ("dialogs.list", other),
      ("dialogs.members", #"{"dialog":"\#(things.dialog)","limit":100}"#),
      ("messages.list", #"{"dialog":"\#(things.dialog)","limit":100}"#), ("invites.list", other), ("keys.list", other),
      ("webhooks.list", other), ("motd.show", other), ("reports.list", other),
      ("sessions.list", other), ("contact-groups.list", other), ("holds.list", "{}"), ("tasks.list", "{}"),
    ] {
      let answer = await AdminOperations.answer(name, Array(input.utf8), in: context)
      #expect(answer.status == 200, "\(name)")
      found.append(String(decoding: answer.body, as: UTF8.self))
    }
    return found
  }

  @Test func noOperationReachesAnotherRealm() async throws {
    try await withCore(["domains": "localhost,other.example"]) { core, context, _ in
      _ = try await AddUser.perform(.init(jid: "tybalt@localhost", password: "secret", name: nil), in: context)
      let things = try await Self.make(in: context)
      let before = await Self.state(things, context)
      #expect(before.filter { $0.contains(Self.mark) || $0.contains(Self.mark.lowercased()) }.count == before.count - 1)
      let caller = context.within(core.parley.realms[0], scopes: Set(AppKey.Scope.allCases))
      let inputs = Self.inputs(things)
      for operation in AdminOperations.all {
        // Those of the whole server are of keys of the first domain, and those without a scope of no key.
        guard let scope = operation.scope, !scope.isOfServer else { continue }
        let tried = try #require(inputs[operation.name], "\(operation.name) has no input here")
        for input in tried {
          let answer = await AdminOperations.answer(operation.name, Array(input.utf8), in: caller)
          let text = String(decoding: answer.body, as: UTF8.self)
          // 501 is of what only a running server does, such as a webhook's test.
          #expect(![400, 500, 503].contains(answer.status), "\(operation.name) \(input): \(answer.status) \(text)")
          #expect(
            !text.contains(Self.mark) && !text.contains(Self.mark.lowercased()), "\(operation.name) \(input): \(text)")
        }
      }
      #expect(await Self.state(things, context) == before)
    }
  }

  /// The scope of an operation is one, whether it is called at a route or by its name.
  @Test func everyOperationHasOneScope() {
    for operation in AdminOperations.all {
      #expect(operation.routes.allSatisfy { $0.scope == operation.scope }, "\(operation.name)")
    }
    let local = Set(AdminOperations.all.filter { $0.scope == nil }.map { $0.name })
    #expect(
      local == [
        "names.check", "backup", "records.import", "records.import.file", "records.import.end", "records.export",
      ])
  }

  @Test func aKeyGivesNoScopeThatItLacks() async throws {
    try await withCore { core, context, _ in
      let caller = context.within(core.parley.realms[0], scopes: [.keys, .usersRead])
      let made = try await AddKey.perform(.init(domain: nil, name: "one", scopes: ["users:read"]), in: caller)
      #expect(made.key.scopes == ["users:read"])
      for scope in ["users:write", "*"] {
        await #expect(throws: Problem.self) {
          try await AddKey.perform(.init(domain: nil, name: "two", scopes: ["users:read", scope]), in: caller)
        }
      }
      let all = try await AddKey.perform(.init(domain: nil, name: "all", scopes: ["*"]), in: context)
      #expect(!all.key.scopes.contains("keys") && all.key.scopes.count == AppKey.Scope.allCases.count - 1)
    }
  }
}
