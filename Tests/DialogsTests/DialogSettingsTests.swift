import Addresses
import Basics
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Users' settings of their dialogs, which are the same in a bookmark and in the app (XEP-0492, XEP-0469).
@Suite struct DialogSettingsTests {
  // MARK: Rules of a bookmark

  typealias Rule = NotificationRules.Rule

  struct Reading: Sendable, CustomStringConvertible {
    let description: String
    let rules: [NotificationRules.Rule]
    let expected: Alerts?
    init(_ description: String, _ rules: [NotificationRules.Rule], _ expected: Alerts?) {
      (self.description, self.rules, self.expected) = (description, rules, expected)
    }
  }

  /// XEP-0492 3 and its example of settings by identity.
  @Test(arguments: [
    Reading("nothing", [], nil),
    Reading("the fallback", [Rule(.never)], .never),
    Reading(
      "the example",
      [
        Rule(.never, category: "client", type: "pc"), Rule(.onMention, category: "client", type: "phone"),
        Rule(.onMention, category: "gateway"), Rule(.always),
      ], .onMention),
    Reading("others only", [Rule(.never, category: "client", type: "pc"), Rule(.never, category: "gateway")], nil),
    Reading("a category", [Rule(.always), Rule(.never, category: "client")], .never),
    Reading(
      "a type before its category",
      [Rule(.never, category: "client"), Rule(.always, category: "client", type: "phone")],
      .always),
    Reading("a type without its category", [Rule(.never, type: "phone"), Rule(.always)], .always),
    Reading("a type without its category, alone", [Rule(.never, type: "phone")], nil),
    Reading("two of a kind: the first", [Rule(.never), Rule(.always)], .never),
  ])
  func rulesThatApplyToAPhone(reading: Reading) {
    #expect(NotificationRules(reading.rules).alerts(for: .phone) == reading.expected)
  }

  struct Writing: Sendable, CustomStringConvertible {
    let description: String
    let before: [NotificationRules.Rule]
    let alerts: Alerts?
    let after: [NotificationRules.Rule]
    init(
      _ description: String, _ before: [NotificationRules.Rule], _ alerts: Alerts?, _ after: [NotificationRules.Rule]
    ) {
      (self.description, self.before, self.alerts, self.after) = (description, before, alerts, after)
    }
  }

  @Test(arguments: [
    Writing("the first rule is a fallback", [], .never, [Rule(.never)]),
    Writing("the fallback changes", [Rule(.always)], .never, [Rule(.never)]),
    Writing(
      "a desktop's own rule stays", [Rule(.never, category: "client", type: "pc"), Rule(.always)], .onMention,
      [Rule(.onMention), Rule(.never, category: "client", type: "pc")]),
    Writing(
      "the closest changes, the fallback stays", [Rule(.never, category: "client", type: "phone"), Rule(.always)],
      .onMention, [Rule(.onMention, category: "client", type: "phone"), Rule(.always)]),
    Writing(
      "a missing fallback is added (3)", [Rule(.never, category: "client")], .always,
      [Rule(.always, category: "client"), Rule(.always)]),
    Writing(
      "details stay, under another name", [Rule(.onMention, details: [1, 2])], .never, [Rule(.never, details: [1, 2])]),
    Writing("no two alike", [Rule(.always), Rule(.never)], .never, [Rule(.never)]),
    Writing(
      "no two alike, details stay", [Rule(.always), Rule(.never, details: [3])], .never, [Rule(.never, details: [3])]),
    Writing(
      "no two alike, whichever has details", [Rule(.always, details: [3]), Rule(.never)], .never,
      [Rule(.never, details: [3])]),
    Writing("as usual: nothing is said", [Rule(.never), Rule(.never, category: "client")], nil, []),
    Writing(
      "as usual: others' rules and details stay",
      [Rule(.never, category: "gateway"), Rule(.never, details: [1]), Rule(.always, category: "client")], nil,
      [Rule(.never, category: "gateway"), Rule(.never, details: [1])]),
  ])
  func rulesAsTheyAreWritten(writing: Writing) {
    var rules = NotificationRules(writing.before, others: [9])
    rules.set(writing.alerts, for: .phone)
    #expect(rules == NotificationRules(writing.after, others: [9]))
    if let alerts = writing.alerts { #expect(rules.alerts(for: .phone) == alerts) }
  }

  // MARK: Both doors

  private func settings(_ user: Party, _ dialog: DialogID, _ stage: Stage) async throws -> DialogSettings? {
    var settings = try await stage.parley.read { try $0.settings(of: user.id, in: dialog) }
    settings?.position = .zero
    return settings
  }

  @discardableResult
  private func set(
    _ draft: DialogSettingsDraft, _ dialog: DialogID, _ stage: Stage, by user: Party
  ) async throws -> Receipt {
    try await stage.parley.post(.settings(dialog, draft), by: user)
  }

  private func bookmark(_ address: BareJID, _ stage: Stage, _ owner: Party) async throws -> Bookmark? {
    let item = try await stage.parley.read { try $0.item(address.description, in: Bookmark.node, of: owner.id) }
    if case .bookmark(let bookmark)? = item?.content { return bookmark }
    return nil
  }

  private func publish(_ bookmark: Bookmark, _ stage: Stage, by owner: Party) async throws {
    let item = NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark))
    try await stage.parley.post(.node(.publish(NodePublication(node: Bookmark.node, item: item))), by: owner)
  }

  private func wished(_ change: (inout DialogSettings) -> Void) -> DialogSettings {
    var settings = DialogSettings()
    change(&settings)
    return settings
  }

  @Test func theAppSetsAndItsOtherSessionsAreTold() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let dialog = try await stage.say("hi", from: romeo, to: juliet).entry!.dialog  // a message has one
    let (phone, commitLoop) = (
      try await stage.session(juliet, "phone", door: .app), try await stage.session(juliet, "desk")
    )
    _ = phone.taken()
    let until = stage.clock.now + .seconds(60)
    let receipt = try await set(
      DialogSettingsDraft(alerts: .never, mutedUntil: until, isPinned: true, isArchived: true), dialog, stage,
      by: juliet)
    let expected = wished {
      $0.alerts = .never
      $0.mutedUntil = until
      $0.isPinned = true
      $0.isArchived = true
    }
    #expect(!receipt.isRepeat)
    #expect(try await settings(juliet, dialog, stage) == expected)
    #expect(
      phone.taken() == [.settings(DialogSettingsChange(dialog: dialog, settings: expected, isMarkedUnread: false))])
    #expect(commitLoop.taken() == [], "XMPP clients have bookmarks for it")

    // The same again is nothing new, and nobody else's settings have changed.
    #expect(try await set(DialogSettingsDraft(isPinned: true), dialog, stage, by: juliet).isRepeat)
    #expect(phone.taken() == [])
    #expect(try await settings(romeo, dialog, stage) == DialogSettings())

    // A time that has been is none, and so is nothing.
    try await set(
      DialogSettingsDraft(alerts: .some(nil), mutedUntil: stage.clock.now, isPinned: false, isArchived: false), dialog,
      stage, by: juliet)
    #expect(try await settings(juliet, dialog, stage) == DialogSettings())
    // The log holds only the last of all changes.
    let told = try await stage.parley.read { try $0.feed(of: juliet.id, after: .zero, limit: 99) }
      .filter { if case .settings = $0.fact { true } else { false } }
    #expect(told.count == 1)

    // The answer to a user who is not in the dialog is that of a dialog that does not exist.
    for stranger in [DialogID(dialog.number + 1_000), dialog] {
      #expect(
        try await problem { try await set(DialogSettingsDraft(isPinned: true), stranger, stage, by: paris) }
          == Problem.dialogUnknown)
    }
  }

  @Test func aMarkAsUnreadIsOverOnceOneReadsOn() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    func read(_ entry: Entry) async throws {
      try await stage.parley.post(
        .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(entry.id), isPrivate: true)),
        by: juliet)
    }
    func isMarked() async throws -> Bool {
      try await stage.parley.read { reader in
        let view = try reader.dialogs(of: juliet.id, before: .end, limit: 1).first
        return view.map { $0.settings.isMarkedUnread(displayed: $0.mark.displayed) } ?? false
      }
    }
    let first = try await stage.say("first", from: romeo, to: juliet).entry!  // said just now
    #expect(try await !isMarked())
    for _ in 0..<2 {
      try await read(first)
      try await set(DialogSettingsDraft(isMarkedUnread: true), first.dialog, stage, by: juliet)
      #expect(try await isMarked(), "reading the same again is no reading on")
    }
    try await set(DialogSettingsDraft(isMarkedUnread: false), first.dialog, stage, by: juliet)
    #expect(try await !isMarked())
    try await set(DialogSettingsDraft(isMarkedUnread: true), first.dialog, stage, by: juliet)
    try await read(try await stage.say("second", from: romeo, to: juliet).entry!)  // said just now
    #expect(try await !isMarked())
  }

  @Test func aBookmarkSetsAndIsSet() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let (phone, follower) = (
      try await stage.session(juliet, "phone", door: .app), try await stage.session(juliet, "follower")
    )
    stage.parley.hub.update(follower) { $0.interests = [Bookmark.node] }
    var mine = try #require(try await bookmark(room.address, stage, juliet), "the server has made one")

    // A bookmark sets what pushes and apps obey; its other content is kept as it came.
    mine.notifications = NotificationRules(
      [Rule(.never, category: "client", type: "pc"), Rule(.onMention, details: [1, 2])], others: [3])
    mine.isPinned = true
    mine.extensions = [4]
    try await publish(mine, stage, by: juliet)
    var expected = wished {
      $0.alerts = .onMention
      $0.isPinned = true
    }
    #expect(try await settings(juliet, room.dialog, stage) == expected)
    let change = DialogSettingsChange(dialog: room.dialog, settings: expected, isMarkedUnread: false)
    #expect(phone.taken().contains(.settings(change)))
    _ = follower.taken()
    try await publish(mine, stage, by: juliet)
    #expect(!phone.taken().contains(.settings(change)), "nothing has changed")
    _ = follower.taken()

    // A change by the app is told to XMPP clients as an item, without losing its other content.
    let sent = try await set(
      DialogSettingsDraft(alerts: .never, isPinned: false, isArchived: true), room.dialog, stage, by: juliet)
    #expect((sent.value as? DialogSettingsChange)?.settings.alerts == .never)
    mine.notifications = NotificationRules(
      [Rule(.never, details: [1, 2]), Rule(.never, category: "client", type: "pc")], others: [3])
    mine.isPinned = false
    #expect(try await bookmark(room.address, stage, juliet) == mine)
    let events = follower.taken().compactMap { heard -> NodeContent? in
      guard case .event(_, Bookmark.node, .published(let item)) = heard else { return nil }
      return item?.content
    }
    #expect(events == [.bookmark(mine)])
    #expect(phone.taken().filter { if case .settings = $0 { true } else { false } }.count == 1)

    // A setting that bookmarks do not have changes no bookmark. Unknown details may keep a rule.
    try await set(DialogSettingsDraft(isArchived: false), room.dialog, stage, by: juliet)
    #expect(follower.taken() == [])
    let kept = try await set(DialogSettingsDraft(alerts: .some(nil)), room.dialog, stage, by: juliet)
    #expect((kept.value as? DialogSettingsChange)?.settings.alerts == .never)
    #expect(try await bookmark(room.address, stage, juliet) == mine)

    // A client of the old form leaves it alone.
    try await stage.parley.post(
      .node(.bookmarks(BookmarksDraft(bookmarks: [Bookmark(address: room.address, name: "Renamed")], others: nil))),
      by: juliet)
    #expect(try await bookmark(room.address, stage, juliet)?.notifications == mine.notifications)
    expected = wished { $0.alerts = .never }
    #expect(try await settings(juliet, room.dialog, stage) == expected)
  }

  @Test func settingsOutliveTheBookmarkAndANewOneHasThem() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    try await set(DialogSettingsDraft(alerts: .never, isPinned: true), room.dialog, stage, by: juliet)
    try await stage.parley.post(
      .node(.retract(node: Bookmark.node, item: room.address.description, notifies: false)), by: juliet)
    let expected = wished {
      $0.alerts = .never
      $0.isPinned = true
    }
    #expect(try await settings(juliet, room.dialog, stage) == expected)
    // No bookmark is made for the setting.
    try await set(DialogSettingsDraft(alerts: .onMention), room.dialog, stage, by: juliet)
    #expect(try await bookmark(room.address, stage, juliet) == nil)
    try await publish(Bookmark(address: room.address), stage, by: juliet)
    #expect(
      try await bookmark(room.address, stage, juliet)
        == Bookmark(address: room.address, notifications: NotificationRules([Rule(.onMention)]), isPinned: true))
    // The bookmark's own content counts; one without content has the defaults.
    try await publish(Bookmark(address: room.address), stage, by: juliet)
    #expect(try await settings(juliet, room.dialog, stage) == DialogSettings())

    // The settings of a user who leaves are removed; a user who comes back has those of the bookmark, if there is one.
    try await set(DialogSettingsDraft(alerts: .never), room.dialog, stage, by: juliet)
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    #expect(try await settings(juliet, room.dialog, stage) == nil)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(try await settings(juliet, room.dialog, stage) == DialogSettings())
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await publish(
      Bookmark(address: room.address, notifications: NotificationRules([Rule(.always)])), stage, by: juliet)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(try await settings(juliet, room.dialog, stage) == wished { $0.alerts = .always })
  }

  /// XEP-0492 3: any element that says whose chat it is. A bookmark may be of a user's address; the server makes none.
  @Test func aDirectChatIsInStepWithABookmarkOfItsAddress() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    try await publish(
      Bookmark(address: romeo.address, notifications: NotificationRules([Rule(.never)]), isPinned: true), stage,
      by: juliet)
    let dialog = try await stage.say("hi", from: romeo, to: juliet).entry!.dialog  // a message has one
    #expect(
      try await settings(juliet, dialog, stage)
        == wished {
          $0.alerts = .never
          $0.isPinned = true
        })
    #expect(try await settings(romeo, dialog, stage) == DialogSettings())
    try await set(DialogSettingsDraft(alerts: .always), dialog, stage, by: juliet)
    #expect(try await bookmark(romeo.address, stage, juliet)?.notifications == NotificationRules([Rule(.always)]))
    try await set(DialogSettingsDraft(alerts: .never), dialog, stage, by: romeo)
    #expect(try await bookmark(juliet.address, stage, romeo) == nil)
    #expect(try await settings(romeo, dialog, stage) == wished { $0.alerts = .never })
  }

  @Test func notesToOneselfHaveSettingsToo() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let dialog = try await stage.say("milk", from: juliet, to: juliet).entry!.dialog  // a message has one
    try await set(DialogSettingsDraft(isPinned: true), dialog, stage, by: juliet)
    #expect(try await settings(juliet, dialog, stage) == wished { $0.isPinned = true })
  }

  @Test func aBatchThatFailsLeavesNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let before = try await bookmark(room.address, stage, juliet)
    stage.store.failNext(1)
    #expect(
      try await problem { try await set(DialogSettingsDraft(alerts: .never), room.dialog, stage, by: juliet) }
        == Problem.storage)
    #expect(try await settings(juliet, room.dialog, stage) == DialogSettings())
    #expect(try await bookmark(room.address, stage, juliet) == before)
  }
}
