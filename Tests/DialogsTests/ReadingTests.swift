import Accounts
import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// Who may read what, wherever it is asked: viewer x settings of the room x surface. What is expected is the table of `Viewer` and
/// `Kind` alone, and the same of every surface.
@Suite struct ReadingTests {
  /// The relation of a user to the room.
  enum Viewer: String, CaseIterable, Sendable {
    case author, admin, member, latecomer, returned, blocked, cleared, hiding
    case occupant, former, outcast, stranger, guest, administrator, foreigner
    /// The last: who was kicked enters again while they are asked, and a notice of it is then the newest for all.
    case kicked

    /// From where on they read; nil: nothing. `visit`: what is said while they are there, which no history has.
    enum Beginning { case room, join, visit }

    var reads: Beginning? {
      switch self {
      case .author, .admin, .member, .kicked, .blocked, .cleared, .hiding: .room
      case .latecomer, .returned: .join
      case .occupant, .former, .stranger, .guest, .administrator: .visit
      case .outcast, .foreigner: nil
      }
    }
  }

  struct Kind: CustomStringConvertible, Sendable {
    var isOpen: Bool
    var isListed: Bool
    var showsAddresses: Bool
    var sinceJoin: Bool

    static let all = [false, true].flatMap { isOpen in
      [false, true].flatMap { isListed in
        [false, true].flatMap { showsAddresses in
          [false, true].map {
            Kind(isOpen: isOpen, isListed: isListed, showsAddresses: showsAddresses, sinceJoin: $0)
          }
        }
      }
    }

    var settings: RoomSettings {
      var settings = RoomSettings()
      settings.isMembersOnly = !isOpen
      settings.isListed = isListed
      settings.showsAddresses = showsAddresses
      settings.history = sinceJoin ? .sinceJoin : .all
      settings.membersPin = true
      return settings
    }

    var description: String {
      [
        isOpen ? "open" : "closed", isListed ? "listed" : "hidden", showsAddresses ? "known" : "anonymous",
        sinceJoin ? "since join" : "all",
      ].joined(separator: ", ")
    }

    // MARK: The table

    /// What a viewer reads of: "early", said before the latecomers; "late"; "secret", which the hiding one has deleted for
    /// themselves; "gone", which was taken back.
    func readable(by viewer: Viewer, byAddress: Bool) -> Set<String> {
      guard let beginning = viewer.reads else { return [] }
      // A user who may enter an open room may read it over XMPP, which names it by its address.
      if beginning == .visit, !isOpen || !byAddress { return [] }
      switch viewer {
      case .cleared: return []
      case .hiding: return ["early", "late"]
      default: break
      }
      switch (beginning, sinceJoin) {
      case (.room, _), (_, false): return ["early", "late", "secret"]
      case (.join, true): return ["late", "secret"]
      case (.visit, true): return []
      }
    }

    /// Whether a viewer knows that the room is there.
    func isKnown(to viewer: Viewer, byAddress: Bool) -> Bool {
      switch viewer {
      case .foreigner: false
      case .outcast: isListed
      case .former, .stranger, .guest, .administrator, .occupant: isListed || byAddress && isOpen
      default: true
      }
    }

    /// Whether a viewer knows the others by their addresses.
    func showsPeople(to viewer: Viewer) -> Bool { showsAddresses || looksAfter(viewer) }

    /// Whether a viewer sees who is banned, and what others' messages said before.
    func looksAfter(_ viewer: Viewer) -> Bool { viewer == .author || viewer == .admin }
  }

  // MARK: The surfaces

  private struct Scene: Sendable {
    let stage: Stage
    let room: RoomName
    let kind: Kind
    let said: [String: Entry]
    /// The changes of the messages, as sessions are told of them live.
    let changes: [String: Reference]
    /// The log ended here before anything of it.
    let start: Position

    var all: [Position] { said.values.map(\.position).sorted() }

    func text(_ entry: Entry?) -> String? {
      guard let entry, entry.state?.retraction == nil, case .message(let message) = entry.fact, message.sequence > 0
      else { return nil }
      return message.content.text
    }

    func texts(_ entries: [Entry]) -> Set<String> { Set(entries.compactMap { text($0) }) }

    func read<Result: Sendable>(_ body: @escaping @Sendable (any StoreReader) throws -> Result) async throws -> Result {
      try await stage.parley.read(body)
    }

    /// Returns the answer about the room to a session that asks over XMPP.
    func asking(_ viewer: Party) async -> RoomAccess {
      let receipt = try? await stage.act(.place(.address(room.address)), by: viewer)
      return (receipt?.value as? Occupancy)?.access ?? .none
    }

    func archive(
      _ viewer: Party, _ change: @escaping @Sendable (inout ArchiveQuery) -> Void
    ) async throws -> Set<String> {
      guard let messages = await asking(viewer).readable?.messages else { return [] }
      return texts(
        try await read { reader in
          var query = ArchiveQuery(limit: 50)
          change(&query)
          return try reader.archive(of: messages, query).entries
        })
    }

    func app(
      _ viewer: Party, _ body: @escaping @Sendable (ReadableRoom, any StoreReader) throws -> [Entry]
    ) async throws -> Set<String> {
      texts(
        try await read { [room] reader in
          try reader.access(to: room.dialog, for: viewer).readable.map { try body($0, reader) } ?? []
        })
    }

    /// Those that do not fail.
    func possible(_ body: (Entry) async throws -> Void) async -> Set<String> {
      var texts: Set<String> = []
      for (text, entry) in said where (try? await body(entry)) != nil { texts.insert(text) }
      return texts
    }

    func newest(_ texts: Set<String>) -> Set<String> {
      let newest = texts.max { (said[$0]?.position ?? .zero) < (said[$1]?.position ?? .zero) }
      return newest.map { [$0] } ?? []
    }
  }

  private struct Surface: Sendable {
    let name: String
    /// The room is named by its address.
    var namesAddress = false
    /// It tells the newest only.
    var isLast = false
    /// That may be a notice of the server, as of who has joined.
    var tellsNotices = false
    /// It begins where one joined, whatever the room says.
    var followsJoin = false
    let texts: @Sendable (Scene, Party) async throws -> Set<String>
  }

  private static let surfaces: [Surface] = [
    Surface(name: "archive", namesAddress: true) { try await $0.archive($1) { _ in } },
    Surface(name: "archive, backwards", namesAddress: true) { try await $0.archive($1) { $0.backwards = true } },
    Surface(name: "archive, by id", namesAddress: true) { scene, viewer in
      let all = scene.all
      return try await scene.archive(viewer) { $0.positions = all }
    },
    Surface(name: "archive, searched", namesAddress: true) { scene, viewer in
      var found: Set<String> = []
      for text in scene.said.keys { found.formUnion(try await scene.archive(viewer) { $0.text = text }) }
      return found
    },
    Surface(name: "history") { scene, viewer in
      try await scene.app(viewer) {
        try $1.history(of: $0.messages, after: .zero, before: .end, limit: 50, ascending: true)
      }
    },
    Surface(name: "history, newest first") { scene, viewer in
      try await scene.app(viewer) {
        try $1.history(of: $0.messages, after: .zero, before: .end, limit: 50, ascending: false)
      }
    },
    Surface(name: "export") { scene, viewer in
      let room = scene.room.dialog
      return scene.texts(
        try await scene.read { reader in
          let places = try reader.memberships(of: viewer.id).map(\.room.dialog).filter { $0 == room }
          return try places.compactMap { try reader.messages(in: $0, for: viewer) }.flatMap {
            try reader.history(of: $0.messages, after: .zero, before: .end, limit: 50, ascending: true)
          }
        })
    },
    Surface(name: "one message") { scene, viewer in
      let all = scene.all
      return try await scene.app(viewer) { room, reader in
        try all.compactMap { try reader.message($0, in: room.messages, of: room)?.entry }
      }
    },
    Surface(name: "pins") { scene, viewer in
      try await scene.app(viewer) { room, reader in
        try reader.pins(of: room.messages).compactMap { try reader.entry($0, in: room.messages) }
      }
    },
    Surface(name: "dialog list", isLast: true, tellsNotices: true) { scene, viewer in
      let room = scene.room.dialog
      return scene.texts(
        try await scene.read { reader in
          try reader.dialogList(of: viewer, before: .end, limit: 50).views.compactMap { view in
            if case .room(let view) = view, view.room.id == room { view.lastMessage } else { nil }
          }
        })
    },
    Surface(name: "rooms", isLast: true, tellsNotices: true) { scene, viewer in
      let room = scene.room.dialog
      return scene.texts(
        try await scene.read { reader in
          try reader.rooms(of: .own(viewer), before: .end, limit: 99).filter { $0.room.id == room }
            .compactMap(\.lastMessage)
        })
    },
    Surface(name: "inbox", isLast: true) { scene, viewer in
      let room = scene.room.dialog
      return scene.texts(
        try await scene.read { reader in
          try reader.conversations(of: .own(viewer), ConversationQuery(limit: 50)).conversations
            .filter { $0.dialog == room }.compactMap { try reader.last(of: $0, for: viewer).message }
        })
    },
    Surface(name: "search") { scene, viewer in
      let (room, words) = (scene.room.dialog, Array(scene.said.keys))
      return scene.texts(
        try await scene.read { reader in
          try words.flatMap { word in
            try reader.find(MessageQuery(text: word, limit: 50), for: viewer).entries.filter { $0.dialog == room }
          }
        })
    },
    Surface(name: "search in the dialog") { scene, viewer in
      let (room, words) = (scene.room.dialog, Array(scene.said.keys))
      return scene.texts(
        try await scene.read { reader in
          try words.flatMap { try reader.find(MessageQuery(text: $0, dialog: room, limit: 50), for: viewer).entries }
        })
    },
    Surface(name: "sync", followsJoin: true) { scene, viewer in
      let (room, start) = (scene.room.dialog, scene.start)
      return scene.texts(
        try await scene.read { reader in
          let page = try FeedPage.read(viewer, after: start, limit: 1_000, reader)
          return page.log.entries.filter { $0.dialog == room && !page.subjects.hidden.contains($0.position) }
        })
    },
    Surface(name: "sync, what was changed") { scene, viewer in
      let (room, start) = (scene.room.dialog, scene.start)
      return scene.texts(
        try await scene.read { reader in
          let page = try FeedPage.read(viewer, after: start, limit: 1_000, reader)
          return page.subjects.targets.values.filter { $0.dialog == room }
        })
    },
    Surface(name: "live, what was changed") { scene, viewer in
      let memberships = try await scene.read { try $0.memberships(of: viewer.id) }
      guard let since = memberships.first(where: { $0.room.dialog == scene.room.dialog })?.since else { return [] }
      return Set(scene.changes.filter { $0.value.isReadable(for: viewer.id, since: since) }.keys).subtracting(["gone"])
    },
    Surface(name: "forward") { scene, viewer in
      await scene.possible { entry in
        let draft = MessageDraft(
          to: viewer.address, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: [.archived],
          key: nil, forward: ForwardDraft(dialog: scene.room.dialog, message: entry.id))
        try await scene.stage.parley.post(.message(draft), by: viewer)
      }
    },
    Surface(name: "star") { scene, viewer in
      await scene.possible { entry in
        try await scene.stage.parley.post(.perUser(scene.room.dialog, .star(entry.id, true)), by: viewer)
      }
    },
  ]

  // MARK: The stage

  private func people(_ stage: Stage) async throws -> [Viewer: Party] {
    var people: [Viewer: Party] = [:]
    for viewer in Viewer.allCases {
      switch viewer {
      case .guest:
        let user = try await stage.accounts.makeGuest(in: "localhost", from: "192.0.2.1")
        people[viewer] = Party(id: user.id, realm: user.realm, address: user.address)
      case .foreigner:
        let realm = stage.parley.realms[1]
        let (address, now) = (try BareJID("foreigner@\(realm.domain)"), stage.clock.now)
        let user = try await stage.parley.work {
          try $0.insertUser(address, in: realm.id, profile: Profile(), createdAt: now)
        }
        people[viewer] = Party(id: user.id, realm: user.realm, address: user.address)
      default: people[viewer] = try await stage.user(viewer.rawValue)
      }
    }
    return people
  }

  private func reserveNick(of party: Party, in room: RoomName, _ stage: Stage) async throws {
    try await stage.act(.register(.dialog(room.dialog), nick: party.name), by: party)
  }

  /// - Parameter texts: what is said when everybody has come.
  private func scene(
    _ kind: Kind, _ texts: [String], _ name: String, _ people: [Viewer: Party], _ stage: Stage
  ) async throws -> Scene {
    func party(_ viewer: Viewer) throws -> Party { try #require(people[viewer]) }
    let author = try party(.author)
    let start = try await stage.parley.read { try $0.head().position }
    let early: [Viewer] = [.member, .returned, .kicked, .blocked, .cleared, .hiding, .former]
    let room = try await stage.room(
      name, by: author, kind.settings, with: early.map { (try party($0), .member) } + [(try party(.admin), .admin)])
    let owner = try #require(try await stage.seats(room, author).first)
    var said: [String: Entry] = [:]
    func say(_ text: String) async throws {
      said[text] = try await stage.say(text, in: room, by: author).entry
    }
    // Entering reserves a nick, which is an entry: it is not to come between what is said.
    for viewer in early + [.admin] { try await reserveNick(of: try party(viewer), in: room, stage) }
    try await say("early")
    if kind.isOpen { try await stage.enter(room, RecordingSession(try party(.occupant))) }
    for viewer in [Viewer.returned, .former] {
      try await stage.affiliate(try party(viewer), .none, in: room, by: author)
    }
    for viewer in [Viewer.returned, .latecomer] {
      try await stage.affiliate(try party(viewer), .member, in: room, by: author)
      try await reserveNick(of: try party(viewer), in: room, stage)
    }
    try await stage.affiliate(try party(.outcast), .outcast, in: room, by: author)
    try await stage.enter(room, RecordingSession(try party(.kicked)))
    try await stage.role(Viewer.kicked.rawValue, .none, in: room, by: owner)
    for text in texts { try await say(text) }
    if let secret = said["secret"] {
      try await stage.parley.post(.perUser(room.dialog, .hide(secret.id)), by: try party(.hiding))
    }
    try await stage.parley.post(.perUser(room.dialog, .clear(leaves: false)), by: try party(.cleared))
    // Everything is pinned and changed by what comes later.
    var changes: [String: Reference] = [:]
    for (text, entry) in said {
      for kind in [Reference.Kind.pin(true), .reactions(["+"])] {
        var draft = stage.draft("", app: true)
        draft.content = Content(kind: .none)
        draft.traits = [.fromApp]
        draft.reference = ReferenceDraft(kind: kind, target: .entry(entry.id))
        let change = try await stage.act(.say(.dialog(room.dialog), draft), by: author).entry
        if case .message(let message)? = change?.fact { changes[text] = message.reference }
      }
      if text == "gone" {
        var draft = stage.draft("", app: true)
        draft.content = Content(kind: .none)
        draft.reference = ReferenceDraft(kind: .retraction(reason: nil), target: .entry(entry.id))
        try await stage.act(.say(.dialog(room.dialog), draft), by: author)
      }
    }
    return Scene(stage: stage, room: room, kind: kind, said: said, changes: changes, start: start)
  }

  // MARK: The walk

  @Test func everySurfaceReadsTheSame() async throws {
    let policy = GuestPolicy(domains: ["localhost"], guestsMax: 9, perNetworkMax: 9, rights: [])
    let stage = try Stage(
      admins: [try BareJID("administrator@localhost")], guests: policy, domains: ["localhost", "elsewhere.localhost"])
    let people = try await people(stage)
    let author = try #require(people[.author])
    try await stage.parley.post(.block([BlockPattern(JID(try #require(people[.blocked]).address))]), by: author)
    for (number, kind) in Kind.all.enumerated() {
      try await walk(try await scene(kind, ["gone", "secret", "late"], "whole\(number)", people, stage), people)
      try await walk(try await scene(kind, [], "early\(number)", people, stage), people)
    }
  }

  private func walk(_ scene: Scene, _ people: [Viewer: Party]) async throws {
    try await MessageIndex(scene.stage.parley).update()
    for viewer in Viewer.allCases {
      let party = try #require(people[viewer])
      for surface in Self.surfaces {
        var expected = scene.kind.readable(by: viewer, byAddress: surface.namesAddress).intersection(scene.said.keys)
        if surface.followsJoin, viewer.reads == .join { expected.remove("early") }
        if surface.isLast { expected = scene.newest(expected) }
        if surface.tellsNotices { expected.remove("early") }
        let texts = try await surface.texts(scene, party)
        #expect(texts == expected, "\(viewer.rawValue), \(scene.kind), \(surface.name)")
      }
      try await check(scene, viewer, party, people)
    }
    // The server reads everything.
    let (dialog, start) = (scene.room.dialog, scene.start)
    let hooks = try await scene.read { reader in
      try reader.log(for: .hooks, after: start, limit: 200).filter { $0.dialog == dialog }
    }
    #expect(scene.texts(hooks) == Set(scene.said.keys).subtracting(["gone"]), "hooks, \(scene.kind)")
  }

  /// Checks what is no message: the members and occupants, earlier versions, and the history on entering.
  private func check(
    _ scene: Scene, _ viewer: Viewer, _ party: Party, _ people: [Viewer: Party]
  ) async throws {
    let (kind, room) = (scene.kind, scene.room.dialog)
    let (author, outcast) = (try #require(people[.author]), try #require(people[.outcast]))
    let told = try await scene.read { try $0.affiliation(of: outcast.id, in: room, for: party) }
    #expect((told == .outcast) == (kind.looksAfter(viewer) || viewer == .outcast), "\(viewer.rawValue), \(kind)")
    let byID = try await scene.read { try $0.access(to: room, for: party) }
    #expect((byID.room != nil) == kind.isKnown(to: viewer, byAddress: false), "\(viewer.rawValue), \(kind)")
    let byAddress = await scene.asking(party)
    // A banned user is told so.
    if viewer != .outcast {
      #expect((byAddress.room != nil) == kind.isKnown(to: viewer, byAddress: true), "\(viewer.rawValue), \(kind)")
    }
    let isMember = byID.readable != nil
    if !isMember { #expect(byAddress.readable?.contacts == nil, "\(viewer.rawValue), \(kind)") }
    let enteredRoom = try? await scene.stage.enter(scene.room, RecordingSession(party))
    #expect(!isMember || enteredRoom != nil, "\(viewer.rawValue), \(kind)")
    if let enteredRoom, let messages = enteredRoom.messages {
      let history = try await scene.read { try $0.archive(of: messages, ArchiveQuery(limit: 50)).entries }
      #expect(
        scene.texts(history) == kind.readable(by: viewer, byAddress: true).intersection(scene.said.keys),
        "\(viewer.rawValue), \(kind), entering")
      #expect(enteredRoom.follows.since == enteredRoom.position)
    }
    #expect((byID.owners != nil) == (byID.room != nil))
    guard let readable = byID.readable else { return }
    #expect(readable.showsPeople == kind.showsPeople(to: viewer), "\(viewer.rawValue), \(kind)")
    #expect(readable.members.among.contains(.outcast) == kind.looksAfter(viewer), "\(viewer.rawValue), \(kind)")
    let listed = try await scene.read { try $0.members(of: readable.members, after: nil, limit: 99).map(\.affiliation) }
    #expect(listed.contains(.outcast) == kind.looksAfter(viewer), "\(viewer.rawValue), \(kind)")
    #expect((readable.contacts != nil) == kind.showsPeople(to: viewer), "\(viewer.rawValue), \(kind)")
    #expect((readable.list(.member) != nil) == kind.showsPeople(to: viewer), "\(viewer.rawValue), \(kind)")
    let listsOwners = readable.list(.owner) != nil
    #expect(listsOwners == (kind.showsAddresses || viewer == .author), "\(viewer.rawValue), \(kind)")
    let page = try await scene.read { [start = scene.start] in try FeedPage.read(party, after: start, limit: 1_000, $0)
    }
    #expect(page.subjects.anonymized.contains(room) != kind.showsPeople(to: viewer), "\(viewer.rawValue), \(kind)")
    // A search by author would tell who it is.
    let query = MessageQuery(text: "late", author: author.id, dialog: room, limit: 9)
    let found = scene.texts(try await scene.read { try $0.find(query, for: party).entries })
    let isFound = kind.showsPeople(to: viewer) && kind.readable(by: viewer, byAddress: false).contains("late")
    #expect(found.contains("late") == (isFound && scene.said["late"] != nil), "\(viewer.rawValue), \(kind)")
    guard let entry = scene.said["late"] else { return }
    let message = try await scene.read { try $0.message(entry.position, in: readable.messages, of: readable) }
    #expect((message?.edits != nil) == (kind.looksAfter(viewer) && message != nil), "\(viewer.rawValue), \(kind)")
  }

  @Test func aDestroyedRoomIsForNobody() async throws {
    let policy = GuestPolicy(domains: ["localhost"], guestsMax: 9, perNetworkMax: 9, rights: [])
    let stage = try Stage(
      admins: [try BareJID("administrator@localhost")], guests: policy, domains: ["localhost", "elsewhere.localhost"])
    let people = try await people(stage)
    let kind = Kind(isOpen: true, isListed: true, showsAddresses: true, sinceJoin: false)
    let scene = try await scene(kind, ["gone", "secret", "late"], "ruin", people, stage)
    let author = try #require(people[.author])
    let room = try #require(try await stage.parley.read { try $0.room(scene.room.dialog) })
    try await stage.act(.destroy(.dialog(scene.room.dialog), reason: nil, alternate: nil), by: author)
    try await MessageIndex(stage.parley).update()
    var destroyed = room
    destroyed.isDestroyed = true
    for viewer in Viewer.allCases {
      let party = try #require(people[viewer])
      for surface in Self.surfaces {
        #expect(try await surface.texts(scene, party) == [], "\(viewer.rawValue), \(surface.name)")
      }
      let access = RoomAccess(
        of: destroyed, for: party, as: try await stage.member(party, of: scene.room), role: .moderator,
        holdsAddress: true)
      #expect(access.room == nil, "\(viewer.rawValue)")
    }
  }

  /// In larger rooms only the author of a message sees whom it reached.
  @Test func receiptsOfLargeRoomsAreForAuthors() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let name = try await stage.room(by: romeo, with: [(juliet, .member)])
    let said = try #require(try await stage.say("hello", in: name, by: romeo).entry)
    var room = try await stage.stored(name)
    for (count, isLarge) in [(Limits.markersToldMax, false), (Limits.markersToldMax + 1, true)] {
      room.memberCount = count
      for viewer in [romeo, juliet] {
        let member = try await stage.member(viewer, of: name)
        let readable = try #require(RoomAccess(of: room, for: viewer, as: member).readable)
        #expect(ReadableMessage(said, for: viewer.id, in: readable).showsReceipts == (viewer == romeo || !isLarge))
      }
    }
  }

  /// An id is as good as a URL, but for users of other realms there is no such file.
  @Test func aFileIsForItsRealm() async throws {
    let stage = try Stage(domains: ["localhost", "elsewhere.localhost"])
    let (romeo, juliet, _) = try await cast(stage)
    let now = stage.clock.now
    let realm = stage.parley.realms[1]
    let foreigner = try await stage.parley.work { writer in
      let user = try writer.insertUser(
        try BareJID("foreigner@\(realm.domain)"), in: realm.id, profile: Profile(), createdAt: now)
      return Party(id: user.id, realm: user.realm, address: user.address)
    }
    let blob = Blob(
      id: BlobID(PublicID(high: 0x8000_0000_0000_0aff, low: 1)), realm: romeo.realm, owner: romeo.id, name: "file",
      mediaType: nil, size: 10, purpose: .message, state: .stored, createdAt: now, expiresAt: nil)
    try await stage.parley.work { try $0.put(blob) }
    for (viewer, isTheirs) in [(romeo, true), (juliet, true), (foreigner, false), (nil, true)] as [(Party?, Bool)] {
      let found = try await stage.parley.read { try $0.blob(blob.id, .holder(viewer)) }
      #expect((found != nil) == isTheirs, "\(String(describing: viewer))")
    }
  }

  // MARK: Private dialogs

  /// The two who are in it read it, whoever blocks whom; nobody else does.
  @Test func aPrivateDialogIsForItsTwoUsers() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let said = try #require(try await stage.say("hello", from: romeo, to: juliet).entry)
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    try await MessageIndex(stage.parley).update()
    func surfaces(_ viewer: Party) async throws -> [Bool] {
      let isForwarded =
        try await problem {
          try await stage.parley.post(
            .message(
              MessageDraft(
                to: viewer.address, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: [.archived],
                key: nil, forward: ForwardDraft(dialog: said.dialog, message: said.id))), by: viewer)
        } == nil
      return try await stage.parley.read { reader in
        let messages = try reader.dialog(said.dialog)?.messages(for: viewer.id)
        let own = LogAccess.own(viewer)
        func has(_ entries: [Entry]) -> Bool { entries.contains { $0.position == said.position } }
        return [
          isForwarded, try messages.map { try reader.entry(said.position, in: $0) != nil } ?? false,
          has(
            try messages.map {
              try reader.history(of: $0, after: .zero, before: .end, limit: 9, ascending: true)
            } ?? []),
          has(try reader.archive(of: own, ArchiveQuery(limit: 9)).entries),
          has(try reader.find(MessageQuery(text: "hello", limit: 9), for: viewer).entries),
          has(try reader.find(MessageQuery(text: "hello", dialog: said.dialog, limit: 9), for: viewer).entries),
          has(try FeedPage.read(viewer, after: .zero, limit: 99, reader).log.entries),
          has(
            try reader.conversations(of: own, ConversationQuery(limit: 9)).conversations.compactMap {
              try reader.last(of: $0, for: viewer).message
            }.filter { $0.dialog == said.dialog }),
        ]
      }
    }
    #expect(try await surfaces(romeo) == [Bool](repeating: true, count: 8))
    #expect(try await surfaces(juliet) == [Bool](repeating: true, count: 8))
    #expect(try await surfaces(paris) == [Bool](repeating: false, count: 8))
    for (viewer, isAuthor) in [(romeo, true), (juliet, false)] {
      let message = try await stage.parley.read { reader in
        try reader.dialog(said.dialog)?.messages(for: viewer.id).flatMap {
          try reader.message(said.position, in: $0, of: nil)
        }
      }
      #expect((message?.edits != nil) == isAuthor)
      #expect(message?.showsReceipts == true)
    }
    try await stage.parley.post(.perUser(said.dialog, .clear(leaves: false)), by: juliet)
    var left = [Bool](repeating: false, count: 8)
    // The log says that it was said; the page says that nothing of it is told.
    left[6] = true
    #expect(try await surfaces(juliet) == left)
    #expect(try await surfaces(romeo) == [Bool](repeating: true, count: 8))
  }

  // MARK: Presence

  private enum Level { case none, known, reads }

  /// Both rosters say so, and nobody is blocked; the store and the hub decide alike.
  @Test func presenceIsForThoseItIsSharedWith() async throws {
    let stage = try Stage()
    // None, to, from, both.
    let subscriptions = [0, 33, 34, 35].compactMap { Subscription(rawValue: $0) }
    #expect(subscriptions.count == 4)
    var number = 0
    for theirs in subscriptions {
      for own in subscriptions {
        for blocks in [false, true] {
          number += 1
          let (user, viewer) = (try await stage.user("user\(number)"), try await stage.user("viewer\(number)"))
          try await stage.parley.work { writer in
            for (owner, peer, subscription) in [(user, viewer, theirs), (viewer, user, own)] {
              try writer.put(
                Contact(
                  owner: owner.id, address: peer.address, peer: peer.id, subscription: subscription,
                  version: Position(1)))
            }
            if blocks {
              try writer.insert(RankedBlock(rank: 0, pattern: BlockPattern(JID(viewer.address))), of: user.id)
            }
          }
          let sessions = [try await stage.session(user, "r"), try await stage.session(viewer, "r")]
          let shares = theirs.from && own.to && !blocks
          let expected: Level = shares ? .reads : blocks ? .none : .known
          let access = try await stage.parley.read {
            try $0.presenceAccess(to: user.address, for: viewer, at: JID(viewer.address))
          }
          let level: Level =
            switch access {
            case .none: .none
            case .known: .known
            case .reads: .reads
            }
          #expect(level == expected, "\(theirs), \(own), \(blocks)")
          for visibility in Visibility.allCases {
            try await stage.parley.work { writer in
              var settings = UserSettings()
              settings.lastSeen = visibility
              try writer.put(settings, of: user.id)
            }
            let isShown = try await stage.parley.read { try $0.showsLastSeen(access, to: viewer) }
            #expect(
              isShown == (visibility == .everybody && expected != .none || visibility == .contacts && shares),
              "\(theirs), \(own), \(blocks), \(visibility)")
          }
          #expect((stage.parley.hub.sessions(of: user.address, seenBy: JID(viewer.address)) != nil) == shares)
          #expect(stage.parley.hub.sessions(of: user.address, seenBy: JID(user.address))?.count == 1)
          _ = sessions
        }
      }
    }
    let ghost = try BareJID("ghost@localhost")
    let romeo = try await stage.user("romeo")
    let unknown = try await stage.parley.read { try $0.presenceAccess(to: ghost, for: romeo, at: JID(romeo.address)) }
    if case .none = unknown {} else { Issue.record("a ghost") }
    var suspended = try #require(try await stage.parley.read { try $0.user(romeo.address) })
    suspended.state = .disabled
    try await stage.parley.work { [suspended] in try $0.update(suspended) }
    let own = try await stage.parley.read {
      try $0.presenceAccess(to: romeo.address, for: romeo, at: JID(romeo.address))
    }
    if case .none = own {} else { Issue.record("suspended") }
  }
}
