import Addresses
import Basics
import Dialogs
import Logging

/// The real core, for one script on a database: all that the simulation uses of it stands here and in `Follower`. Confined
/// to the committer's thread while that runs.
final class Core {
  let parties: [Party]
  var store: FailingStore { database.store }
  var clock: SetClock { database.clock }
  private let database: Database
  /// The number of the script in the database, which is in the addresses of its rooms.
  private let script: Int
  private var parley: Parley
  /// By number.
  private var entries: [Int: Entry] = [:]
  private var dialogs: [Model.Place: DialogID] = [:]
  private var texts: [Int: Int] = [:]

  /// Starts the server for one more script.
  init(_ database: Database) throws {
    self.database = database
    (script, parties) = try database.nextScript()
    parley = try Self.start(database)
  }

  private static func start(_ database: Database) throws -> Parley {
    var options = Parley.Options(domains: [Database.domain])
    // A batch is what the script says, however long it takes.
    options.judgingClocks = JudgingClocks(wall: { .zero }, thread: { .zero })
    return try Parley(
      store: database.store, clock: database.clock, options: options,
      logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() })
  }

  func stop() async {
    await parley.stop()
    store.recover()
  }

  /// Starts the server again on the same database.
  func restart(reopens: Bool) throws {
    if reopens { try database.reopen() }
    parley = try Self.start(database)
  }

  // MARK: Posts

  /// The post of an action; nil: nobody could post that now.
  ///
  /// - Parameter text: in place of the action's own.
  func post(
    _ action: Action, text: Int? = nil, by session: Session?, completion: Post.Completion
  ) -> Post? {
    guard let (user, intent) = intent(action, text: text, session) else { return nil }
    return Post(author: parties[user], intent: intent, completion: completion)
  }

  func submit(_ post: Post) -> Bool { parley.submit(post) }

  /// Runs `body` on the committer's thread, behind what was submitted.
  func finally(_ body: @escaping @Sendable () -> Void) -> Bool {
    let nothing = WriteTransaction(keepsCaches: true) { _ in 0 }
    return parley.submit(Post(author: parties[0], intent: .work(nothing), completion: .callback { _ in body() }))
  }

  func unregister(_ session: Session) { parley.hub.unregister(session, time: clock.now) }

  private func intent(_ action: Action, text: Int?, _ session: Session?) -> (Int, Intent)? {
    switch action {
    case .say(let user, let door, let chat, let id):
      return (user, message(text ?? id, door, to: chat, key: id))
    case .forward(let user, let target, let chat, let number):
      guard let entry = entries[target] else { return nil }
      return (user, message(number, .app, to: chat, forward: ForwardDraft(dialog: entry.dialog, message: entry.id)))
    case .change(let user, let door, let change, let target, let number):
      guard let entry = entries[target], let chat = chat(of: entry, for: user), door == .app || change == .edit else {
        return nil
      }
      let kind: Reference.Kind =
        switch change {
        case .reply: .reply
        case .edit: .correction
        case .react: .reactions(["👍"])
        case .retract: .retraction(reason: nil)
        case .moderate: .moderation(reason: nil)
        }
      return (
        user,
        message(
          change == .reply || change == .edit ? number : nil, door, to: chat,
          reference: ReferenceDraft(kind: kind, target: .entry(entry.id)))
      )
    case .mark(let user, let mark, let target):
      guard let entry = entries[target] else { return nil }
      let kind = mark == .delivered ? Marker.Kind.delivered : .displayed
      let isPrivate = mark == .displayedPrivately
      switch chat(of: entry, for: user) {
      case nil: return nil
      case .user(let peer):
        let with = parties[peer].address
        return (user, .marker(MarkerDraft(with: with, kind: kind, target: .entry(entry.id), isPrivate: isPrivate)))
      case .room(let room):
        return (user, .room(.marker(at(room), RoomMarkerDraft(kind: kind, target: entry.id, isPrivate: isPrivate))))
      }
    case .hide(let user, let target):
      return entries[target].map { (user, .perUser($0.dialog, .hide($0.id))) }
    case .clear(let user, let chat):
      return dialogs[Model.Place(user, chat)].map { (user, .perUser($0, .clear(leaves: false))) }
    case .block(let user, let other): return (user, .block([BlockPattern(JID(parties[other].address))]))
    case .unblock(let user, let other): return (user, .unblock([BlockPattern(JID(parties[other].address))]))
    case .create(let user, let room, let isOpen, let sinceJoin):
      var settings = isOpen ? RoomSettings.open : .group
      settings.history = sinceJoin ? .sinceJoin : .all
      return (user, .room(.create(RoomDraft(localpart: name(of: room), settings: settings))))
    case .affiliate(let actor, let user, let wanted, let room):
      let affiliation: Affiliation =
        switch wanted {
        case .outcast: .outcast
        case .none: .none
        case .member: .member
        case .admin: .admin
        case .owner: .owner
        }
      // With the nick under which they will enter: one that is chosen then is an entry.
      let draft = MemberDraft(
        address: parties[user].address, affiliation: affiliation, nick: wanted.isMember ? "user\(user)" : nil)
      return (actor, .room(.members(at(room), [draft])))
    case .join(let user, let room): return (user, .room(.register(at(room), nick: nil)))
    case .enter(let user, let room):
      guard let session else { return nil }
      let entering = Entering(
        session: session, nick: "user\(user)", password: nil, presence: presence(of: session), isJoin: true)
      return (user, .room(.enter(at(room), entering)))
    case .exit(let user, let room): return (user, .room(.exit(at(room), nil)))
    case .kick(let actor, let user, let room):
      return (actor, .room(.roles(at(room), [RoleDraft(nick: "user\(user)", role: .none, reason: nil)])))
    case .configure(let user, let room, let sinceJoin, let isReadOnly):
      let draft = SettingsDraft { settings in
        settings.history = sinceJoin ? .sinceJoin : .all
        settings.isReadOnly = isReadOnly
      }
      return (user, .room(.configure(at(room), draft)))
    case .destroy(let user, let room): return (user, .room(.destroy(at(room), reason: nil, alternate: nil)))
    case .come(let user, let door):
      guard let session else { return nil }
      var online = OnlineSession(session: session, door: door == .app ? .app : .xmpp, resource: door.rawValue)
      online.presence = presence(of: session)
      online.carbons = door == .xmpp
      return (user, .goOnline(online))
    case .go(let user, _): return session.map { (user, .room(.vacate($0.id))) }
    case .expire(let through, let limit):
      guard let (dialog, end) = entries[through].map({ ($0.dialog, $0.position) }) else { return nil }
      return work(agingIn: dialog) { writer in
        while try writer.expire(dialog, through: end, limit: limit, within: .seconds(3_600), endingFiles: nil).isMore {}
      }
    case .age(let user, let through):
      guard let (dialog, end) = entries[through].map({ ($0.dialog, $0.position) }) else { return nil }
      let id = parties[user].id
      return work(agingIn: dialog) { writer in
        if try writer.hasEntry(at: end, in: dialog) { try writer.age(dialog, through: end, for: id) }
      }
    case .holdDialog(let target): return entries[target].flatMap { hold(.dialog($0.dialog)) }
    case .holdUser(let user): return hold(.user(parties[user].id))
    case .release: return work { writer in for hold in try writer.holds(in: nil) { try writer.remove(hold) } }
    case .again, .reuse, .stall, .resume, .lag, .catchUp, .fetch, .show, .wait, .commit, .fail, .restart, .crash:
      return nil
    }
  }

  /// What no user posts.
  private func work(
    agingIn dialog: DialogID? = nil, _ body: @escaping @Sendable (any StoreWriter) throws -> Void
  ) -> (Int, Intent) {
    let body: @Sendable (any StoreWriter) throws -> any Sendable = {
      try body($0)
      return 0
    }
    return (0, .work(dialog.map { WriteTransaction(agingIn: $0, body) } ?? WriteTransaction(keepsCaches: true, body)))
  }

  private func hold(_ subject: Hold.Subject) -> (Int, Intent) {
    let hold = Hold(subject, in: parties[0].realm, note: nil, since: clock.now)
    return work { try $0.put(hold) }
  }

  /// - Parameter number: what it says; nil: nothing.
  private func message(
    _ number: Int?, _ door: Door, to chat: Chat, key: Int? = nil, reference: ReferenceDraft? = nil,
    forward: ForwardDraft? = nil
  ) -> Intent {
    let content = number.map { Content(kind: .text, text: Self.text($0)) } ?? Content(kind: .none)
    var traits: Message.Traits = [.counts, .archived, .replayed]
    if door == .app { traits.formUnion([.fromApp, .markable, .receipted]) }
    let key = key.map {
      RepeatKey(rule: door == .app ? .app : .xmpp, id: "id\($0)", bodyHash: UInt64(number ?? 0))
    }
    let envelope = Envelope(
      type: .chat, fromResource: door.rawValue, id: number.map { "id\($0)" })
    switch chat {
    case .user(let peer):
      return .message(
        MessageDraft(
          to: parties[peer].address, content: content, envelope: envelope, traits: traits, key: key,
          reference: reference, forward: forward))
    case .room(let room):
      return .room(
        .say(
          at(room),
          RoomMessageDraft(
            content: content, envelope: envelope, traits: traits, key: key, reference: reference, forward: forward)))
    }
  }

  static func text(_ number: Int) -> String { "word number\(number)" }

  /// By its address, which is known before the room is.
  private func at(_ room: Int) -> RoomReference {
    .address(BareJID(parsing: "\(name(of: room))@\(Database.rooms)") ?? parties[0].address)
  }

  private func name(of room: Int) -> String { "room\(room).\(script)" }

  private func presence(of session: Session) -> Presence {
    Presence(from: session.party, resource: session.door.rawValue, availability: .online, time: clock.now)
  }

  private func user(_ party: Party) -> Int? { parties.firstIndex { $0.id == party.id } }

  /// nil: the user cannot name it.
  private func chat(of entry: Entry, for user: Int) -> Chat? {
    if let room = entry.room {
      return room.address.local.flatMap { Int($0.dropFirst("room".count).prefix { $0 != "." }) }.map { .room($0) }
    }
    guard let author = self.user(entry.author), let peer = entry.peer.flatMap({ self.user($0) }) else { return nil }
    return user == author ? .user(peer) : user == peer ? .user(author) : nil
  }

  /// What the author is told, of which the core keeps the ids.
  func answer(to action: Action, text: Int?, _ result: Result<Receipt, Problem>) -> Answer {
    switch result {
    case .failure(let problem): return problem == .storage ? .failed : .refused(problem.code)
    case .success(let receipt):
      if let entry = receipt.entry {
        if entry.fact.isShown, let number = text ?? action.message { entries[number] = entry }
        if let place = action.place { dialogs[place] = entry.dialog }
      }
      return .done(
        head: receipt.position.number, isRepeat: receipt.isRepeat, entry: receipt.entry?.position.number)
    }
  }

  // MARK: What is stored

  /// Compares what is stored with the model, and at the end of a script also what users find in it.
  func violation(against model: Model, isEnd: Bool) throws -> String? {
    // What looks for messages is filled later than the log.
    while try store.write({ try $0.indexMessages(limit: 10_000, bytes: .max) }) {}
    let expected = Expected(model)
    return try store.read { reader in
      for place in expected.places {
        if let violation = try violation(in: place, expected, reader) { return violation }
      }
      for user in model.users {
        if let violation = try violation(inCountsOf: user, expected, reader) { return violation }
        guard isEnd else { continue }
        if let violation = try violation(inFeedOf: user, expected, reader) { return violation }
        if let violation = try violation(inReadingOf: user, expected, reader) { return violation }
        if let violation = try violation(inSearchesOf: user, expected, reader) { return violation }
      }
      return nil
    }
  }

  /// The model at the end of a run, with what each comparison looks for in it.
  private struct Expected {
    let model: Model
    let places: Set<Model.Place>
    let shown: [Model.Place: [Model.Event]]
    /// How many of those that were shown have gone.
    let gone: [Model.Place: Int]
    let said: [Model.Place: [Model.Message]]
    let events: [Int64: Model.Event]

    init(_ model: Model) {
      self.model = model
      shown = Dictionary(
        grouping: model.events.filter { $0.isShown && !model.gone.contains($0.position) }, by: \.place)
      gone = Dictionary(grouping: model.events.filter { $0.isShown && model.gone.contains($0.position) }, by: \.place)
        .mapValues(\.count)
      places = Set(model.events.map(\.place))
      said = Dictionary(grouping: model.messages.values, by: \.place)
      events = Dictionary(model.events.map { ($0.position, $0) }) { $1 }
    }
  }

  /// Everything that was acknowledged is in the log once, in the order in which it was posted, and nothing else.
  private func violation(in place: Model.Place, _ expected: Expected, _ reader: any StoreReader) throws -> String? {
    guard let dialog = dialogs[place] else { return "\(place) has events and no dialog" }
    let stored = try reader.history(
      of: .server(dialog, .rules), after: .zero, before: .end, limit: 100_000, ascending: true)
    let model = expected.model
    let events = expected.shown[place] ?? []
    guard stored.map(\.position.number) == events.map(\.position) else {
      return "the log of \(place) has \(stored.map(\.position.number)), the model \(events.map(\.position))"
    }
    for (number, (entry, event)) in zip(stored, events).enumerated() {
      let index = number + (expected.gone[place] ?? 0)
      switch (entry.fact, event.subject) {
      case (.message(let said), .message(let number)):
        guard let message = model.messages[number] else { return "message \(number) is unknown" }
        let now = message.isRetracted ? "" : entry.state?.text ?? said.content.text
        guard said.sequence == index + 1, user(entry.author) == message.author,
          said.content.text == (message.isRetracted ? "" : Self.text(message.said)),
          now == (message.isRetracted ? "" : Self.text(message.text)),
          (entry.state?.retraction != nil) == message.isRetracted,
          Set((entry.state?.reactions ?? []).compactMap { self.user($0.user) }) == message.reactions
        else {
          return
            "message \(number) is stored as number \(said.sequence), \"\(said.content.text)\", now \"\(now)\": \(message)"
        }
      case (.room(let change), .notice):
        if change.sequence != index + 1 { return "the notice at \(entry.position) is number \(change.sequence)" }
      default: return "the entry at \(entry.position) is \(entry.fact), not \(event.subject)"
      }
    }
    return nil
  }

  /// What makes dialogs unread is what a recount finds.
  private func violation(inCountsOf user: Int, _ expected: Expected, _ reader: any StoreReader) throws -> String? {
    let (party, model) = (parties[user], expected.model)
    var sum: Int64 = 0
    for place in expected.places where place.has(user) != false {
      let recount = model.unread(user, in: place, expected.said[place] ?? [])
      if let violation = try violation(inUnreadOf: user, in: place, recount, reader) { return violation }
      sum += Int64(recount ?? 0)
    }
    let total = try reader.unread(of: party.id)
    return total == sum ? nil : "unread of user \(user): \(total), not \(sum)"
  }

  private func violation(
    inUnreadOf user: Int, in place: Model.Place, _ recount: Int?, _ reader: any StoreReader
  ) throws -> String? {
    guard let dialog = dialogs[place] else { return nil }
    let ordinal = try reader.dialog(dialog)?.ordinal ?? reader.room(dialog)?.ordinal ?? 0
    let unread = try reader.mark(parties[user].id, in: dialog)?.unread(ordinal: ordinal)
    if unread == recount.map(Int64.init) { return nil }
    return "unread of user \(user) in \(place): \(String(describing: unread)), not \(String(describing: recount))"
  }

  /// The same in one place, after a batch.
  func violation(inUnreadOf user: Int, in place: Model.Place, against model: Model) throws -> String? {
    let recount = model.unread(user, in: place, model.messages.values.filter { $0.place == place })
    return try store.read { try violation(inUnreadOf: user, in: place, recount, $0) }
  }

  /// Searches find what the user may read, and nothing else.
  private func violation(inSearchesOf user: Int, _ expected: Expected, _ reader: any StoreReader) throws -> String? {
    let model = expected.model
    var found: Set<Int64> = []
    var query = MessageQuery(text: "word", limit: 500)
    while true {
      let page = try reader.find(query, for: parties[user])
      found.formUnion(page.entries.map(\.position.number))
      guard let next = page.next else { break }
      query.before = next
    }
    let readable = Set(model.messages.values.filter { !$0.isRetracted && model.reads(user, $0) }.map(\.position))
    if found == readable { return nil }
    return
      "user \(user) finds \(found.subtracting(readable)) against the rules, and misses \(readable.subtracting(found))"
  }

  /// Compares what each way of reading gives a user with what is theirs to read: the history of each dialog, the archives of
  /// XMPP, and the inbox. Who reads is asked of the core, as the doors ask for it.
  private func violation(
    inReadingOf user: Int, _ expected: Expected, _ reader: any StoreReader
  ) throws -> String? {
    let (party, model) = (parties[user], expected.model)
    let log = LogAccess.withMemberships(of: party)
    let archive = Dictionary(grouping: try Self.all { try reader.archive(of: log, $0) }, by: \.dialog)
    let inbox = try reader.conversations(of: log, ConversationQuery(limit: 500)).conversations
    let conversations = Dictionary(inbox.map { ($0.dialog, $0) }) { $1 }
    for place in expected.places where place.has(user) != false {
      guard let dialog = dialogs[place] else { continue }
      let said = expected.said[place] ?? []
      let readable = Set(said.filter { model.reads(user, $0) }.map(\.position))
      let messages = try reader.messages(in: dialog, for: party)?.messages
      let history = try messages.map { try Self.history(of: $0, reader) } ?? []
      let archived =
        place.has(user) == true
        ? archive[dialog] ?? [] : try messages.map { room in try Self.all { try reader.archive(of: room, $0) } } ?? []
      for (way, entries) in [("history", history), ("archive", archived)] {
        let found = Set(entries.map(\.position.number)).intersection(said.map(\.position))
        if found != readable {
          return
            "user \(user) reads \(found.subtracting(readable)) in the \(way) of \(place) against the rules, and misses "
            + "\(readable.subtracting(found))"
        }
      }
      guard let conversation = conversations[dialog] else { continue }
      let unread = model.unread(user, in: place, said)
      if unread.map(Int64.init) != conversation.unread {
        return
          "the inbox of user \(user) has \(conversation.unread) unread in \(place), not \(String(describing: unread))"
      }
      let last = try reader.last(of: conversation, for: party).message
      if let last, case .message = last.fact, !readable.contains(last.position.number) {
        return "user \(user) reads the message at \(last.position) in the inbox against the rules"
      }
    }
    return nil
  }

  /// Returns all pages of an archive.
  private static func all(_ page: (ArchiveQuery) throws -> ArchivePage) throws -> [Entry] {
    var query = ArchiveQuery(limit: 500)
    var entries: [Entry] = []
    while true {
      let page = try page(query)
      entries += page.entries
      guard !page.complete, let last = page.next ?? page.entries.last?.position else { return entries }
      query.after = last
    }
  }

  private static func history(of messages: MessageAccess, _ reader: any StoreReader) throws -> [Entry] {
    try reader.history(of: messages, after: .zero, before: .end, limit: 100_000, ascending: true)
  }

  /// Compares the history that a room shows to a user who has just entered it with what is theirs to read.
  func violation(entering room: Int, _ user: Int, _ receipt: Receipt, against model: Model) throws -> String? {
    guard let enteredRoom = receipt.value as? EnteredRoom else { return nil }
    let entries =
      try enteredRoom.messages.map { messages in try store.read { try Self.history(of: messages, $0) } } ?? []
    let said = model.messages.values.filter { $0.place == .room(room) }
    let found = Set(entries.map(\.position.number)).intersection(said.map(\.position))
    let readable = Set(said.filter { model.readsInside(user, $0) }.map(\.position))
    if found == readable { return nil }
    return
      "user \(user) enters room \(room), reads \(found.subtracting(readable)) against the rules, and misses "
      + "\(readable.subtracting(found))"
  }

  /// A client that comes for the first time and asks for everything is told what concerns the user, and nothing of what was
  /// taken back.
  private func violation(inFeedOf user: Int, _ expected: Expected, _ reader: any StoreReader) throws -> String? {
    let party = parties[user]
    let log = LogAccess.withMemberships(of: party)
    let (model, events) = (expected.model, expected.events)
    var told: [Int64] = []
    var after = Position.zero
    while true {
      let page = try reader.page(of: log, after: after, limit: 100)
      for entry in page.entries where Session.isCompared(entry, by: party) {
        told.append(entry.position.number)
        guard case .message(let message) = entry.fact, let event = events[entry.position.number] else { continue }
        let text: Int? =
          switch event.subject {
          case .message(let number): model.messages[number].flatMap { $0.isRetracted ? nil : $0.said }
          case .change(let target, let text): model.messages[target]?.isRetracted == true ? nil : text
          case .marker, .notice: nil
          }
        if message.content.text != text.map(Self.text) ?? "" {
          return "user \(user) is told \(message.content.text) by \(event)"
        }
      }
      after = page.end
      if page.isLast {
        if let gone = told.first(where: model.gone.contains) { return "user \(user) is told \(gone), which has gone" }
        return model.violation(ofTold: told, to: user, after: 0)
      }
    }
  }
}

extension Action {
  /// The message that it posts.
  var message: Int? {
    switch self {
    case .say(_, _, _, let number), .forward(_, _, _, let number), .change(_, _, _, _, let number): number
    default: nil
    }
  }

  /// The earlier message whose entry it names.
  var target: Int? {
    switch self {
    case .forward(_, let target, _, _), .change(_, _, _, let target, _), .mark(_, _, let target), .hide(_, let target),
      .expire(let target, _), .age(_, let target):
      target
    default: nil
    }
  }

  /// Where it is known from the action alone.
  var place: Model.Place? {
    switch self {
    case .say(let user, _, let chat, _), .forward(let user, _, let chat, _): Model.Place(user, chat)
    case .create(_, let room, _, _): .room(room)
    default: nil
    }
  }
}
