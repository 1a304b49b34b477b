import Accounts
import Addresses
import Dialogs
import Foundation
import NIOPosix
import ParleyServer
import ServerConfiguration
import ServerFixtures
import Testing

@testable import Administration

/// The operations, on an opened folder and over the socket.
@Suite struct AdminTests {
  private func add(
    _ jid: String, _ context: AdminContext, password: String = "secret", name: String? = nil
  ) async throws {
    _ = try await AddUser.perform(AddUser.Input(jid: jid, password: password, name: name), in: context)
  }

  private func problem(_ body: () async throws -> Void) async throws -> Problem {
    do {
      try await body()
    } catch let problem as Problem {
      return problem
    }
    throw StartupError("no problem")
  }

  @Test func usersAreAddedListedShownAndChanged() async throws {
    try await withCore { core, context, _ in
      try await add("Alice@localhost", context, name: "Alice")
      try await add("bob@localhost", context)
      let list = try await ListUsers.perform(
        ListUsers.Input(domain: nil, matching: nil, after: nil, limit: 10), in: context)
      #expect(list.items.map(\.jid) == ["alice@localhost", "bob@localhost"])
      #expect(list.items.map(\.name) == ["Alice", nil])
      #expect(list.nextCursor == nil)
      let page = try await ListUsers.perform(
        ListUsers.Input(domain: "localhost", matching: nil, after: nil, limit: 1), in: context)
      #expect(page.nextCursor == "alice")

      let alice = try BareJID("alice@localhost")
      _ = try await core.accounts.verify(alice, password: "secret")
      _ = try await SetPassword.perform(SetPassword.Input(jid: "alice@localhost", password: "other"), in: context)
      _ = try await core.accounts.verify(alice, password: "other")
      #expect(
        try await problem { _ = try await core.accounts.verify(alice, password: "secret") }.kind == .unauthenticated)

      let disabled = try await SetUserState.perform(
        SetUserState.Input(jid: "alice@localhost", state: .disabled), in: context)
      #expect(disabled.state == "disabled")
      #expect(
        try await problem { _ = try await core.accounts.verify(alice, password: "other") }.code == "account-disabled")
      _ = try await SetUserState.perform(SetUserState.Input(jid: "alice@localhost", state: .active), in: context)
      _ = try await core.accounts.verify(alice, password: "other")

      let shown = try await ShowUser.perform(ShowUser.Input(jid: "alice@localhost"), in: context)
      #expect(shown.user.name == "Alice")
      #expect(shown.contacts == 0)
      #expect(shown.sessions.isEmpty)

      _ = try await SetUserState.perform(SetUserState.Input(jid: "bob@localhost", state: .deleted), in: context)
      #expect(
        try await problem { _ = try await ShowUser.perform(ShowUser.Input(jid: "bob@localhost"), in: context) }.text
          == "There is no user bob@localhost.")
      // A name is never given out again.
      #expect(try await problem { try await add("bob@localhost", context) }.kind == .conflict)
    }
  }

  @Test(arguments: [
    ("a b@localhost", "jid-malformed"), ("localhost", "jid-malformed"), ("", "jid-malformed"),
    ("alice@elsewhere.example", "domain-not-served"),
  ])
  func refusedAddresses(jid: String, code: String) async throws {
    try await withCore { _, context, _ in
      let refused = try await problem { try await add(jid, context) }
      #expect(refused.code == code)
    }
  }

  @Test func rostersAreLinkedListedAndUnlinked() async throws {
    try await withCore { _, context, _ in
      for name in ["alice", "bob", "carol"] { try await add("\(name)@localhost", context) }
      func link(_ a: String, _ b: String, mutual: Bool) async throws {
        _ = try await AddContact.perform(
          AddContact.Input(jid: a, contact: b, name: "N", groups: ["G", "H"], mutual: mutual), in: context)
      }
      func roster(_ jid: String) async throws -> [String] {
        try await ListRoster.perform(ListRoster.Input(jid: jid), in: context).map {
          "\($0.jid) \($0.name ?? "-") \($0.groups.sorted().joined(separator: "+")) \($0.subscription)"
        }
      }
      try await link("alice@localhost", "bob@localhost", mutual: true)
      try await link("alice@localhost", "carol@localhost", mutual: false)
      try await link("alice@localhost", "friend@elsewhere.example", mutual: false)
      #expect(
        try await roster("alice@localhost") == [
          "bob@localhost N G+H both", "carol@localhost N G+H none", "friend@elsewhere.example N G+H none",
        ])
      #expect(try await roster("bob@localhost") == ["alice@localhost -  both"])
      #expect(try await roster("carol@localhost").isEmpty)

      #expect(
        try await problem { try await link("alice@localhost", "nobody@localhost", mutual: false) }.kind == .missing)
      #expect(
        try await problem { try await link("alice@localhost", "x@elsewhere.example", mutual: true) }.kind == .foreign)

      _ = try await RemoveContact.perform(
        RemoveContact.Input(jid: "alice@localhost", contact: "bob@localhost", mutual: true), in: context)
      #expect(try await roster("bob@localhost").isEmpty)
      #expect(try await roster("alice@localhost").count == 2)
    }
  }

  @Test(
    "What an app may not set, an operator may not either",
    arguments: ["a\u{0}b", "a\u{1B}b", "a\u{FFFF}", "a\u{FFFE}b", "\u{7}"])
  func textsAreJudgedAsThoseOfApps(text: String) async throws {
    try await withCore { _, context, _ in
      try await add("alice@localhost", context, name: "Alice")
      func code(_ body: () async throws -> Void) async throws -> String { try await problem(body).code }
      #expect(try await code { try await add("bob@localhost", context, name: text) } == "character-not-allowed")
      #expect(try await code { try await add("bob@localhost", context, password: text) } == "password-refused")
      #expect(
        try await code {
          _ = try await SetPassword.perform(SetPassword.Input(jid: "alice@localhost", password: text), in: context)
        } == "password-refused")
      let rows = [("bob@localhost", "secret", text), ("bob@localhost", text, "Bob")]
        .map { ImportUsers.Row(jid: $0.0, password: $0.1, name: $0.2) }
      let outcomes = try await ImportUsers.perform(ImportUsers.Input(rows: rows), in: context)
      #expect(outcomes.map(\.status) == [.failed, .failed])
      let contacts = [(text, [String]()), ("Bob", [text])]
        .map { ImportContacts.Row(jid: "alice@localhost", contact: "bob@elsewhere.example", name: $0.0, groups: $0.1) }
      let linked = try await ImportContacts.perform(ImportContacts.Input(rows: contacts, mutual: false), in: context)
      #expect(linked.map(\.status) == [.failed, .failed])
    }
  }

  @Test(
    "Keys of another server in a column for passwords are no password",
    arguments: ["scram:YQ==,Yg==,Yw==,4096", "{SSHA}kD67x7o6BW8b4dJnovX208NIlcE=", "BANNED_ACCOUNT--2008--1--spam"])
  func keysAreNoPasswords(text: String) async throws {
    try await withCore { core, context, _ in
      let row = ImportUsers.Row(jid: "alice@localhost", password: text, name: nil)
      #expect(try await ImportUsers.perform(ImportUsers.Input(rows: [row]), in: context).map(\.status) == [.failed])
      let address = try BareJID("alice@localhost")
      #expect(try await core.parley.read { try $0.user(address) } == nil)
    }
  }

  @Test func importsTellEachRow() async throws {
    try await withCore { core, context, _ in
      try await add("old@localhost", context)
      let rows = [
        ("new@localhost", "p"), ("old@localhost", "p"), ("empty@localhost", ""), ("a b@localhost", "p"),
        ("new@localhost", "p"), ("x@elsewhere.example", "p"),
      ].map { ImportUsers.Row(jid: $0.0, password: $0.1, name: "N") }
      let outcomes = try await ImportUsers.perform(ImportUsers.Input(rows: rows), in: context)
      #expect(outcomes.map(\.status) == [.done, .exists, .failed, .failed, .failed, .failed])
      _ = try await core.accounts.verify(try BareJID("new@localhost"), password: "p")

      let contacts = [
        ("new@localhost", "old@localhost"), ("new@localhost", "nobody@localhost"), ("x", "old@localhost"),
      ]
      .map { ImportContacts.Row(jid: $0.0, contact: $0.1, name: nil, groups: []) }
      let linked = try await ImportContacts.perform(ImportContacts.Input(rows: contacts, mutual: true), in: context)
      #expect(linked.map(\.status) == [.done, .failed, .failed])
      let roster = try await ListRoster.perform(ListRoster.Input(jid: "old@localhost"), in: context)
      #expect(roster.map(\.subscription) == ["both"])

      let many = [ImportUsers.Row](repeating: rows[0], count: AdminLimits.importBatchRows + 1)
      #expect(
        try await problem { _ = try await ImportUsers.perform(ImportUsers.Input(rows: many), in: context) }.kind
          == .tooLarge)
    }
  }

  /// What a CSV file may leave out, JSON may leave out, too.
  @Test func rowsOfJSONNeedWhatThoseOfCSVNeed() async throws {
    try await withCore { core, context, _ in
      func imported(_ operation: String, _ json: String) async throws -> [RowOutcome.Status] {
        let answer = await AdminOperations.answer(operation, Array(json.utf8), in: context)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try JSONDecoder().decode([RowOutcome].self, from: Data(answer.body)).map(\.status)
      }
      let users = """
        {"rows": [{"jid": "anna@localhost", "externalId": "42"}, {"jid": "ben@localhost"},
          {"jid": "carla@localhost", "password": "secret"}]}
        """
      #expect(try await imported("users.import", users) == [.done, .failed, .done])
      let contacts = #"{"mutual":false,"rows":[{"jid":"anna@localhost","contact":"carla@localhost"}]}"#
      #expect(try await imported("roster.import", contacts) == [.done])
      let ben = try BareJID("ben@localhost")
      #expect(try await core.parley.read { try $0.user(ben) } == nil)
    }
  }

  @Test func importedUsersNeedNoPasswordIfOthersVouch() async throws {
    try await withCore { core, context, _ in
      let outcomes = try await ImportUsers.perform(
        ImportUsers.Input(rows: [
          ImportUsers.Row(jid: "anna@localhost", password: "", name: nil, externalId: "42", email: "Anna@example.org"),
          ImportUsers.Row(jid: "ben@localhost", password: "", name: nil),
          ImportUsers.Row(jid: "carla@localhost", password: "", name: nil, externalId: "42"),
          ImportUsers.Row(jid: "dora@localhost", password: "secret", name: nil, email: "dora@example.org"),
          ImportUsers.Row(jid: "emil@localhost", password: "", name: nil, email: "nowhere"),
        ]), in: context)
      #expect(outcomes.map(\.status) == [.done, .failed, .failed, .done, .failed])
      #expect(outcomes[1].reason == "A user must have a password, or an externalId or email to sign in by.")
      #expect(outcomes[2].reason == "Another user has this identity.")
      let again = try await ImportUsers.perform(
        ImportUsers.Input(rows: [ImportUsers.Row(jid: "anna@localhost", password: "", name: nil)]), in: context)
      #expect(again.map(\.status) == [.exists])
      // Nothing but the address of a user who exists is judged.
      let odd = ImportUsers.Row(
        jid: "anna@localhost", password: "{SSHA}kD67x7o6BW8b4dJnovX208NIlcE=", name: nil, email: "nowhere")
      #expect(try await ImportUsers.perform(ImportUsers.Input(rows: [odd]), in: context).map(\.status) == [.exists])
      let realm = core.parley.realms[0].id
      let anna = try BareJID("anna@localhost")
      let found = try await core.parley.read { reader in
        let user = try reader.user(anna)?.id
        let external = try reader.user(of: Identity(.external, "42"), in: realm)
        return (user, external, try user.map { try reader.credentials(of: $0) } ?? [])
      }
      #expect(found.0 != nil)
      #expect(found.0 == found.1)
      #expect(found.2.isEmpty)
      // A row that was refused has left no user behind.
      let carla = try BareJID("carla@localhost")
      let refused = try await core.parley.read { try $0.user(carla) }
      #expect(refused == nil)
      _ = try await core.accounts.verify(try BareJID("dora@localhost"), password: "secret")
      let denied = try await problem { _ = try await core.accounts.verify(anna, password: "") }
      #expect(denied.kind == .unauthenticated)
    }
  }

  // MARK: Dialogs

  private func create(
    _ dialog: String?, _ context: AdminContext, owner: String = "alice@localhost", name: String? = nil,
    isPublic: Bool = false, externalId: String? = nil, members: [String] = []
  ) async throws -> DialogRow {
    try await CreateDialog.perform(
      CreateDialog.Input(
        dialog: dialog, owner: owner, name: name, about: "About", topic: "Topic", isPublic: isPublic,
        externalId: externalId, members: members), in: context)
  }

  private func members(_ dialog: String, _ context: AdminContext, role: DialogRole? = nil) async throws -> [String] {
    try await ListDialogMembers.perform(
      ListDialogMembers.Input(dialog: dialog, role: role, after: nil, limit: 10), in: context
    ).items.map { "\($0.jid) \($0.role)" }
  }

  @Test func dialogsAreMadeListedAndShown() async throws {
    try await withCore { _, context, _ in
      for name in ["alice", "bob"] { try await add("\(name)@localhost", context) }
      let team = try await create(
        "team", context, name: "The team", externalId: "t1", members: ["bob@localhost"])
      #expect(team.jid == "team@conference.localhost")
      #expect(team.type == "group" && !team.listed && team.members == 2 && team.name == "The team")
      let square = try await create("square@conference.localhost", context, isPublic: true)
      #expect(square.type == "public" && square.listed)
      let nameless = try await create(nil, context)
      #expect(nameless.jid.hasSuffix("@conference.localhost"))

      func list(_ matching: String? = nil, after: String? = nil, limit: Int = 10) async throws -> ListDialogs.Output {
        try await ListDialogs.perform(
          ListDialogs.Input(domain: nil, matching: matching, after: after, limit: limit), in: context)
      }
      #expect(try await list().items.count == 3)
      #expect(try await list("TEAM").items.map(\.jid) == [team.jid])
      let page = try await list(limit: 2)
      let rest = try await list(after: page.nextCursor, limit: 2)
      #expect(page.items.count == 2 && rest.items.count == 1 && rest.nextCursor == nil)

      // The dialog is found by any of its names.
      for name in ["team", "team@conference.localhost", "TEAM", team.id] {
        let shown = try await ShowDialog.perform(ShowDialog.Input(dialog: name), in: context)
        #expect(shown.dialog == team)
        #expect(shown.about == "About" && shown.topic == "Topic" && shown.externalId == "t1")
        #expect(shown.owners == ["alice@localhost"] && shown.admins.isEmpty && shown.history == "all")
        #expect(shown.messages == 3)
      }
    }
  }

  /// An id that a user has given is in no backend's way, and the backend finds the user's dialog by both names.
  @Test func externalIDsOfUsersAreNoneOfTheBackends() async throws {
    try await withCore { core, context, _ in
      for name in ["alice", "bob"] { try await add("\(name)@localhost", context) }
      func found(_ id: String = "order-17", of creator: String? = nil) async throws -> [String] {
        try await ListDialogs.perform(
          ListDialogs.Input(domain: nil, matching: nil, after: nil, limit: 10, externalId: id, creator: creator),
          in: context
        ).items.map(\.jid)
      }
      let alice = try await context.user("alice@localhost").party
      let bob = try BareJID("bob@localhost")
      let draft = RoomDraft(
        externalID: .user(alice.id, "order-17"), settings: .group,
        members: [MemberDraft(address: bob, affiliation: .owner)])
      let own = try #require(try await core.parley.post(.room(.create(draft)), by: alice).room).address.description
      #expect(try await found().isEmpty)
      let team = try await create("team", context, owner: "bob@localhost", externalId: "order-17").jid
      #expect(try await found() == [team])
      #expect(try await found(of: "alice@localhost") == [own])
      for creator in ["bob@localhost", "nobody@localhost"] { #expect(try await found(of: creator).isEmpty) }
      #expect(try await found("order-18").isEmpty)
      #expect(try await found("order-18", of: "alice@localhost").isEmpty)

      let (backends, alices) = (
        try await ShowDialog.perform(ShowDialog.Input(dialog: team), in: context),
        try await ShowDialog.perform(ShowDialog.Input(dialog: own), in: context)
      )
      #expect([backends.externalId, backends.userExternalId, backends.creator] == ["order-17", nil, nil])
      #expect([alices.externalId, alices.userExternalId, alices.creator] == [nil, "order-17", "alice@localhost"])

      let incomplete = try await problem {
        _ = try await ListDialogs.perform(
          ListDialogs.Input(domain: nil, matching: nil, after: nil, limit: 10, creator: "alice@localhost"), in: context)
      }
      #expect(incomplete.code == "external-id-missing")
      // A dialog outlives its creator, and is not found any more once it is deleted itself.
      _ = try await DeleteUser.perform(DeleteUser.Input(jid: "alice@localhost", erase: false), in: context)
      #expect(try await found(of: "alice@localhost") == [own])
      for dialog in [team, own] {
        _ = try await DeleteDialog.perform(DeleteDialog.Input(dialog: dialog, reason: nil), in: context)
      }
      #expect(try await found().isEmpty)
      #expect(try await found(of: "alice@localhost").isEmpty)
      let late = try await problem {
        _ = try await create("other", context, owner: "bob@localhost", externalId: "order-17")
      }
      #expect(late.code == "room-destroyed")
    }
  }

  @Test func dialogsRefuseWhatIsWrong() async throws {
    try await withCore { _, context, _ in
      for name in ["alice", "bob"] { try await add("\(name)@localhost", context) }
      _ = try await create("team", context, externalId: "t1")
      for (refused, code) in [
        (try await problem { _ = try await create("team", context) }, "room-taken"),
        (try await problem { _ = try await create("other", context, externalId: "t1") }, "external-id-taken"),
        (try await problem { _ = try await create("a@b@c", context) }, "dialog-malformed"),
        (try await problem { _ = try await create("x@conference.elsewhere", context) }, "domain-not-served"),
        (try await problem { _ = try await create("x", context, owner: "nobody@localhost") }, "user-unknown"),
        (try await problem { _ = try await create("x", context, members: ["nobody@localhost"]) }, "user-unknown"),
        (try await problem { _ = try await members("nowhere", context) }, "dialog-unknown"),
        (try await problem { _ = try await members("x@conference.elsewhere", context) }, "domain-not-served"),
        (try await problem { _ = try await members(String(repeating: "0", count: 32), context) }, "dialog-unknown"),
      ] {
        #expect(refused.code == code, "\(refused)")
        #expect(refused.field != nil, "\(refused)")
      }
    }
  }

  @Test func membersOfDialogsComeChangeAndGo() async throws {
    try await withCore { _, context, _ in
      for name in ["alice", "bob", "carol"] { try await add("\(name)@localhost", context) }
      _ = try await create("team", context)
      func join(_ jid: String, _ role: DialogRole = .member) async throws -> DialogMemberRow {
        try await AddDialogMember.perform(
          AddDialogMember.Input(dialog: "team", jid: jid, role: role, nick: "B"), in: context)
      }
      func role(_ jid: String, _ role: DialogRole) async throws {
        _ = try await SetDialogRole.perform(
          SetDialogRole.Input(dialog: "team", jid: jid, role: role, reason: "why"), in: context)
      }
      func remove(_ jid: String) async throws {
        _ = try await RemoveDialogMember.perform(
          RemoveDialogMember.Input(dialog: "team", jid: jid, reason: nil), in: context)
      }
      let bob = try await join("bob@localhost")
      #expect(bob.jid == "bob@localhost" && bob.role == "member" && bob.nick == "B" && bob.since != nil)
      #expect(
        try await problem { _ = try await join("bob@localhost", .admin) }.text
          == "bob@localhost is member in team@conference.localhost already.")
      #expect(try await problem { _ = try await join("carol@localhost", .banned) }.code == "role-malformed")
      #expect(try await problem { try await role("carol@localhost", .admin) }.code == "member-unknown")
      #expect(try await problem { try await remove("carol@localhost") }.code == "member-unknown")
      #expect(try await problem { try await role("alice@localhost", .member) }.code == "last-owner")
      #expect(try await problem { try await remove("alice@localhost") }.code == "last-owner")

      try await role("bob@localhost", .owner)
      #expect(try await members("team", context) == ["alice@localhost owner", "bob@localhost owner"])
      // The operator acts in the name of the first owner, also where that is who goes.
      try await remove("alice@localhost")
      #expect(try await members("team", context) == ["bob@localhost owner"])
      try await role("carol@localhost", .banned)
      #expect(try await members("team", context) == ["bob@localhost owner"])
      #expect(try await members("team", context, role: .banned) == ["carol@localhost banned"])
      try await remove("carol@localhost")
      #expect(try await members("team", context, role: .banned).isEmpty)

      let gone = try await DeleteDialog.perform(DeleteDialog.Input(dialog: "team", reason: "over"), in: context)
      #expect(gone.jid == "team@conference.localhost")
      #expect(try await problem { _ = try await members("team", context) }.code == "dialog-unknown")
      // A former owner may make it again; others only after a time.
      #expect(try await problem { _ = try await create("team", context) }.kind == .conflict)
      _ = try await create("team", context, owner: "bob@localhost")
      #expect(try await members("team", context) == ["bob@localhost owner"])
    }
  }

  /// The later of two rows about one contact counts.
  @Test func importedContactsKeepTheOrderOfTheFile() async throws {
    try await withCore { _, context, _ in
      for name in ["alice", "bob"] { try await add("\(name)@localhost", context) }
      let rows = (0..<200).map {
        ImportContacts.Row(jid: "alice@localhost", contact: "bob@localhost", name: "\($0)", groups: [])
      }
      _ = try await ImportContacts.perform(ImportContacts.Input(rows: rows, mutual: false), in: context)
      let roster = try await ListRoster.perform(ListRoster.Input(jid: "alice@localhost"), in: context)
      #expect(roster.map(\.name) == ["199"])
    }
  }

  @Test func anInvalidRequestIsRefusedWithoutAnEcho() async throws {
    try await withCore { _, context, _ in
      let unknown = await AdminOperations.answer("users.frobnicate", [], in: context)
      #expect(unknown.status == 404)
      let malformed = await AdminOperations.answer(
        "users.add", Array(#"{"jid":1,"password":"topsecret"}"#.utf8), in: context)
      #expect(malformed.status == 400)
      #expect(!String(decoding: malformed.body, as: UTF8.self).contains("topsecret"))
    }
  }

  @Test func everyOperationHasItsOwnName() {
    let names = AdminOperations.all.map { $0.name }
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { AdminOperations.named($0) != nil })
  }
}
