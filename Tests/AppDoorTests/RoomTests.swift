import Addresses
import Basics
import JSON
import StoreConformance
import Testing

@testable import AppDoor
@testable import Dialogs

@Suite struct SystemContentTests {
  private static func party(_ number: Int64, _ name: String) -> Party {
    Party(id: UserID(number), realm: RealmID(1), address: BareJID(parsing: "\(name)@localhost")!)  // constants
  }
  private static let juliet = party(1, "juliet")
  private static let romeo = party(2, "romeo")

  private func json(_ change: RoomChange.Change, by author: Party = juliet) throws -> String {
    let content = SystemContent.of(change, by: author, .open)
    var writer = JSONWriter()
    content.write(to: &writer)
    // It is JSON, and no member comes twice.
    _ = try JSONValue(parsing: writer.text)
    return writer.text
  }

  private static func settings(_ change: (inout RoomSettings) -> Void) -> RoomChange.Change {
    var now = RoomSettings.group
    change(&now)
    return .settings(now, was: .group)
  }

  private static func member(
    _ was: Affiliation, _ now: Affiliation, _ party: Party = romeo, nick: String? = nil, reason: String? = nil
  ) -> RoomChange.Change {
    .member(MemberChange(party: party, was: was, now: now, nick: nick, reason: reason))
  }

  private static let time = Timestamp(milliseconds: 0)

  @Test(
    arguments: [
      (.created, #"{"type":"system","text":"juliet created the dialog","kind":"created"}"#),
      (
        settings { $0.name = "Verona" },
        #"{"type":"system","text":"juliet named the dialog \"Verona\"","kind":"named","name":"Verona"}"#
      ),
      // Other apps show the text: a name in it turns nothing around. The field has it as it was written.
      (
        settings { $0.name = "Ver\u{202e}ona" },
        "{\"type\":\"system\",\"text\":\"juliet named the dialog \\\"Verona\\\"\",\"kind\":\"named\",\"name\":\"Ver\u{202e}ona\"}"
      ),
      (
        settings { $0.become(.isPublic) },
        #"{"type":"system","text":"juliet changed the dialog's settings","kind":"settings","dialogType":"public"}"#
      ),
      (
        settings {
          $0.history = .sinceJoin
          $0.about = "A"
        },
        #"{"type":"system","text":"juliet changed the dialog's settings","kind":"settings","about":"A","historyVisibility":"sinceJoin"}"#
      ),
      (
        settings { $0.retentionDays = 1 },
        #"{"type":"system","text":"juliet changed the dialog's settings: messages go after 1 day","kind":"settings"}"#
      ),
      (
        .topic(Topic(text: "Love", nick: "J", time: time)),
        #"{"type":"system","text":"juliet set the topic: Love","kind":"topic","topic":"Love"}"#
      ),
      (
        .topic(Topic(text: "", nick: nil, time: time)),
        #"{"type":"system","text":"juliet removed the topic","kind":"topic"}"#
      ),
      (
        member(.none, .member, nick: "R"),
        #"{"type":"system","text":"juliet added romeo","kind":"added","userId":"romeo","role":"member","nick":"R"}"#
      ),
      (
        member(.none, .member, juliet),
        #"{"type":"system","text":"juliet joined","kind":"joined","userId":"juliet","role":"member"}"#
      ),
      (
        member(.watcher, .none, juliet),
        #"{"type":"system","text":"juliet left","kind":"left","userId":"juliet","role":"none"}"#
      ),
      (
        member(.member, .none, reason: "why"),
        #"{"type":"system","text":"juliet removed romeo","kind":"removed","userId":"romeo","role":"none","reason":"why"}"#
      ),
      (
        member(.member, .outcast),
        #"{"type":"system","text":"juliet banned romeo","kind":"banned","userId":"romeo","role":"banned"}"#
      ),
      (
        member(.none, .outcast),
        #"{"type":"system","text":"juliet banned romeo","kind":"banned","userId":"romeo","role":"banned"}"#
      ),
      (
        member(.outcast, .none),
        #"{"type":"system","text":"juliet lifted the ban on romeo","kind":"role","userId":"romeo","role":"none"}"#
      ),
      (
        member(.outcast, .member),
        #"{"type":"system","text":"juliet added romeo","kind":"added","userId":"romeo","role":"member"}"#
      ),
      (
        member(.member, .admin),
        #"{"type":"system","text":"juliet made romeo an admin","kind":"role","userId":"romeo","role":"admin"}"#
      ),
      (
        member(.owner, .watcher, juliet),
        #"{"type":"system","text":"juliet is a watcher now","kind":"role","userId":"juliet","role":"watcher"}"#
      ),
      (
        member(.member, .member, nick: "Mon"),
        #"{"type":"system","text":"romeo is called Mon here","kind":"role","userId":"romeo","role":"member","nick":"Mon"}"#
      ),
      (
        .member(
          MemberChange(party: romeo, was: .member, now: .member, nick: "R", reason: "why", isKicked: true)),
        #"{"type":"system","text":"juliet kicked romeo","kind":"kicked","userId":"romeo","role":"member","nick":"R","reason":"why"}"#
      ),
      (
        .member(MemberChange(party: romeo, was: .member, now: .member, nick: "R", reason: nil, wasKicked: true)),
        #"{"type":"system","text":"romeo joined again","kind":"joined","userId":"romeo","role":"member","nick":"R"}"#
      ),
      (
        .destroyed(reason: "over", alternate: nil),
        #"{"type":"system","text":"juliet deleted the dialog","kind":"destroyed","reason":"over"}"#
      ),
    ] as [(RoomChange.Change, String)])
  func theContentOfNotices(change: RoomChange.Change, expected: String) throws {
    #expect(try json(change) == expected)
  }

  /// The notice is one JSON object, whatever characters a name contains.
  @Test func namesAreQuoted() throws {
    let text = try json(Self.settings { $0.name = "\"},\n\\" })
    #expect(try JSONValue(parsing: text)["name"] == .string("\"},\n\\"))
  }
}

@Suite struct RoomAccessTests {
  private static let name = RoomName(
    dialog: DialogID(7), realm: RealmID(1), address: BareJID(parsing: "g@conference.localhost")!)  // a constant
  private static let party = Party(
    id: UserID(1), realm: RealmID(1), address: BareJID(parsing: "romeo@localhost")!)  // a constant

  private func access(isMember: Bool, _ settings: RoomSettings = .group) -> RoomAccess {
    RoomAccess(
      of: Room(name: Self.name, externalID: nil, createdAt: Timestamp(milliseconds: 0), settings: settings),
      for: Self.party,
      as: isMember
        ? Member(
          room: Self.name.dialog, party: Self.party, affiliation: .member, nick: "R", since: Position(9),
          joinedAt: Timestamp(milliseconds: 0), version: Position(9)) : nil)
  }

  /// A user who must not know of a dialog gets the same answer as for an invented id.
  @Test(arguments: [Problem.notAdmin, .roomBanned, .roomUnknown, .roomDestroyed, .lastOwner])
  func strangersLearnNothing(problem: Problem) {
    #expect(access(isMember: false).refusal(problem) == DialogResolver.unknown)
    #expect(problem.isTelling)
  }

  @Test func membersLearnWhy() {
    #expect(access(isMember: true).refusal(.notAdmin) == .notAdmin)
    #expect(access(isMember: true).refusal(.roomUnknown) == .roomUnknown)
  }

  @Test func aViewerOfAListedDialogIsToldToJoin() {
    #expect(access(isMember: false, .open).refusal(.roomUnknown).code == "dialog-not-joined")
    #expect(access(isMember: false, .open).refusal(.roomBanned) == .roomBanned)
  }

  @Test func theServersOwnTroublesTellNothing() {
    #expect(!Problem.overloaded.isTelling)
    #expect(!Problem.storage.isTelling)
  }

  @Test func historyBeginsWhereTheDialogSays() {
    var settings = RoomSettings.group
    #expect(access(isMember: true, settings).readable?.messages.behind == .zero)
    settings.history = .sinceJoin
    #expect(access(isMember: true, settings).readable?.messages.behind == Position(9))
  }
}

@Suite struct RoomWordTests {
  @Test func rolesAreAffiliations() throws {
    for role in MemberBody.Role.allCases { #expect(Affiliation(role).wire == role.rawValue) }
    #expect(Affiliation.none.wire == MemberBody.gone)
    #expect(try Checks.role("banned") == .outcast)
    for bad in ["none", "outcast", "Owner", ""] {
      #expect { try Checks.role(bad) } throws: { ($0 as? Problem)?.code == "role-unknown" }
    }
  }

  @Test func typesAreSettings() {
    var settings = RoomSettings.group
    settings.name = "N"
    #expect(settings.wireType == .group)
    settings.become(.isPublic)
    #expect(settings.wireType == .isPublic && settings.isListed && !settings.showsAddresses)
    settings.become(.group)
    #expect(settings.wireType == .group && !settings.isListed && settings.showsAddresses)
    #expect(settings.name == "N")
  }

  @Test func historyHasTwoWords() throws {
    #expect(try Checks.history("all") == .all)
    #expect(try Checks.history("sinceJoin").wire == .sinceJoin)
    #expect { try Checks.history("none") } throws: { ($0 as? Problem)?.code == "history-visibility-unknown" }
  }

  /// A new setting has a line in the table, or is named here.
  @Test func appsHaveEverySetting() throws {
    let members = RoomSetting.members(of: .noDefaults, isFederated: true)
    let input = try InputDecoder.decode(UpdateDialogInput.self, from: members.value, parameters: ["dialogId": "d"])
    var read = RoomSettings()
    for wish in input.settings.wishes { try wish.change.get()(&read) }
    let ownMembers: Set = ["name", "about", "metadata", "avatarHash"]
    let type: Set = ["isMembersOnly", "isListed", "showsAddresses"]
    let onlyOfXMPP: Set = [
      "isModerated", "password", "occupantsMax", "whispers", "membersInvite", "participantsSetTopic", "language",
      "lifetime", "historyMax",
    ]
    #expect(read.differences(from: .noDefaults) == ownMembers.union(type).union(onlyOfXMPP))
  }

  @Test func settingsHaveTheirMembersAndRefusals() throws {
    func members(_ settings: RoomSettings, isFederated: Bool) -> String {
      RoomSetting.members(of: settings, isFederated: isFederated).text
    }
    let some = #""historyVisibility":"sinceJoin","slowModeSeconds":30,"whoPins":"members""#
    #expect(members(.noDefaults, isFederated: true).hasPrefix("{\(some),\"acceptsRemote\":false,\"retentionDays\":7"))
    #expect(members(.noDefaults, isFederated: false).hasPrefix("{\(some),\"retentionDays\":7"))
    #expect(!members(.group, isFederated: true).contains("retentionDays"))
    let texts: [(String, String)] = [
      (#"{"historyVisibility":"none"}"#, #"historyVisibility is "all" or "sinceJoin"."#),
      (#"{"whoPins":"everybody"}"#, #"whoPins is "admins" or "members"."#),
    ]
    for (text, refusal) in texts {
      let wishes = try InputDecoder.decode(RoomSettingsInput.self, from: JSONValue(parsing: text)).wishes
      #expect(throws: Problem.self) { _ = try wishes.first?.change.get() }
      if case .failure(let problem) = wishes.first?.change { #expect(problem.text == refusal) }
    }
    // The type is checked before the dialog is looked for.
    #expect(throws: InputError(path: "slowModeSeconds", text: "must be an integer, not a string")) {
      try InputDecoder.decode(RoomSettingsInput.self, from: JSONValue(parsing: #"{"slowModeSeconds":"3"}"#))
    }
    let unchanged = #"{"slowModeSeconds":null,"whoPins":null,"acceptsRemote":null}"#
    #expect(try InputDecoder.decode(RoomSettingsInput.self, from: JSONValue(parsing: unchanged)).wishes.isEmpty)
  }

  @Test func changesOfADialogAreAbsentNullOrThere() throws {
    let input = try InputDecoder.decode(
      UpdateDialogInput.self,
      from: JSONValue(parsing: #"{"name":"N","topic":null,"slowModeSeconds":3,"retentionDays":null}"#),
      parameters: ["dialogId": "d"])
    #expect(input.settings.wishes.map(\.name) == ["slowModeSeconds", "retentionDays"])
    #expect(input.settings.wishes.map(\.value) == [.number("3"), .null])
    #expect(
      input == UpdateDialogInput(dialogId: "d", name: .set("N"), topic: .clear, settings: input.settings))
    let deletion = try InputDecoder.decode(
      DeleteDialogInput.self, from: .object([]), parameters: ["dialogId": "d", "for": "everyone"])
    #expect(deletion == DeleteDialogInput(dialogId: "d", whom: "everyone"))
  }
}
