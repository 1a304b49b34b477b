import Foundation

/// The local state of an account in memory: the loaded dialogs, counts, users, presence, and the place in the log. A value without IO,
/// changed by events, each applied by id so that a repeat changes nothing more, and by answers.
struct Store: Equatable, Sendable {
  enum ListPosition: Equatable, Sendable { case start, at(String), complete }

  /// The durable event that was applied last.
  var cursor: String?
  /// Where the list of dialogs continues.
  var listPosition = ListPosition.start
  private(set) var dialogs: [String: Dialog] = [:]
  private(set) var users = Recent<User>(Limits.users)
  private(set) var presences = Recent<Presence>(Limits.presences)
  private(set) var typing: [String: [String]] = [:]
  private(set) var totalUnread = 0
  private(set) var totalMentions = 0
  /// Counts events, so that an answer older than an event does not undo it.
  private(set) var clock = 0
  private var stamps = Recent<Int>(1000)

  // What the owner takes after each change.
  /// Dialogs that have changed.
  var changed: Set<String> = []
  /// Dialogs that are to be fetched.
  var missing: Set<String> = []

  /// Pinned ones first, then by the last message.
  var list: [Dialog] {
    func time(_ dialog: Dialog) -> Date {
      dialog.lastMessage?.sentAt ?? dialog.updatedAt ?? dialog.createdAt ?? .distantPast
    }
    return dialogs.values.sorted { one, other in
      let (isPinned, isOtherPinned) = (one.me?.pinned ?? false, other.me?.pinned ?? false)
      if isPinned != isOtherPinned { return isPinned }
      return time(one) == time(other) ? one.id < other.id : time(one) > time(other)
    }
  }

  /// Puts dialogs of an answer that was asked for when the clock showed `asked`. One that an event has changed since is fetched again.
  mutating func put(_ answers: [Dialog], asked: Int) {
    for dialog in answers {
      if let stamp = stamps[dialog.id], stamp > asked {
        missing.insert(dialog.id)
        continue
      }
      set(dialog)
      if let user = dialog.user { users[user.id] = user }
    }
  }

  /// Takes the first page of the list in place of everything that was known, but for what events have changed since it was asked for.
  mutating func replace(by page: DialogPage, asked: Int) {
    let listed = Set(page.items.map(\.id))
    for id in dialogs.keys where !listed.contains(id) && (stamps[id] ?? 0) <= asked { remove(id) }
    put(page, asked: asked)
  }

  mutating func put(_ page: DialogPage, asked: Int) {
    put(page.items, asked: asked)
    cursor = cursor ?? page.cursor
    listPosition = page.nextCursor.map { .at($0) } ?? .complete
    setTotals(page.totalUnread, page.totalMentions)
  }

  mutating func setTotals(_ unread: Int?, _ mentions: Int?) {
    totalUnread = unread ?? totalUnread
    totalMentions = mentions ?? totalMentions
  }

  private mutating func set(_ dialog: Dialog) {
    dialogs[dialog.id] = dialog
    changed.insert(dialog.id)
    if dialogs.count > Limits.dialogs, let last = list.last { remove(last.id) }
  }

  mutating func put(_ user: User) { users[user.id] = user }

  mutating func remove(_ id: String) {
    dialogs[id] = nil
    typing[id] = nil
    changed.insert(id)
  }

  /// Changes a dialog because of an event. One that is not known is fetched.
  private mutating func change(_ id: String, _ change: (inout Dialog) -> Void) {
    stamps[id] = clock
    guard var dialog = dialogs[id] else { return }
    change(&dialog)
    set(dialog)
  }

  private mutating func changeMine(_ id: String, _ change: (inout Dialog.Mine) -> Void) {
    self.change(id) { dialog in
      var mine = dialog.me ?? Dialog.Mine()
      change(&mine)
      dialog.me = mine
    }
  }

  mutating func add(_ message: Message) {
    guard dialogs[message.dialogId] != nil else {
      stamps[message.dialogId] = clock
      missing.insert(message.dialogId)
      return
    }
    change(message.dialogId) { dialog in
      if let last = dialog.lastMessage {
        if last.id == message.id {
          dialog.lastMessage = newer(last, message)
          return
        }
        if last.seq > message.seq { return }
      }
      dialog.lastMessage = message
      dialog.updatedAt = message.sentAt
    }
  }

  mutating func update(_ id: String, in dialogId: String, _ update: (Message) -> Message) {
    guard let last = dialogs[dialogId]?.lastMessage, last.id == id else { return }
    change(dialogId) { $0.lastMessage = update(last) }
  }

  /// The state of a dialog in an event is without what differs between those who see it.
  private mutating func apply(_ dialog: Dialog, _ message: Message?) {
    if dialogs[dialog.id] == nil { missing.insert(dialog.id) }
    change(dialog.id) { old in
      var next = dialog
      next.me = old.me
      next.user = old.user
      next.ownerId = dialog.ownerId ?? old.ownerId
      next.externalId = dialog.externalId ?? old.externalId
      next.createdAt = dialog.createdAt ?? old.createdAt
      if (dialog.lastMessage?.seq ?? 0) < (old.lastMessage?.seq ?? 0) { next.lastMessage = old.lastMessage }
      old = next
    }
    if let message { add(message) }
  }

  mutating func apply(_ settings: DialogSettings) {
    changeMine(settings.dialogId) {
      ($0.notify, $0.mutedUntil) = (settings.notify, settings.mutedUntil)
      ($0.pinned, $0.archived, $0.markedUnread) = (settings.pinned, settings.archived, settings.markedUnread)
      $0.retentionDays = settings.retentionDays
    }
  }

  mutating func apply(_ marker: Marker, me: String) {
    guard marker.userId == me else { return }
    changeMine(marker.dialogId) {
      $0.deliveredMessageId = marker.delivered ?? $0.deliveredMessageId
      $0.readMessageId = marker.read ?? $0.readMessageId
    }
  }

  mutating func setDraft(_ draft: Draft?, in dialogId: String) { changeMine(dialogId) { $0.draft = draft } }

  /// Applies an event that the user with the id `me` was told.
  mutating func apply(_ event: ServerEvent, me: String) {
    clock += 1
    switch event {
    case .caughtUp(let data): setTotals(data.totalUnread, data.totalMentions)
    case .messageCreated(let message): add(message)
    case .messageUpdated(let message): update(message.id, in: message.dialogId) { newer($0, message) }
    case .messageDeleted(let data):
      if let message = data.message {
        update(data.messageId, in: data.dialogId) { newer($0, message) }
      } else if dialogs[data.dialogId]?.lastMessage?.id == data.messageId {
        missing.insert(data.dialogId)
      }
    case .markerUpdated(let marker): apply(marker, me: me)
    case .userUpdated(let user):
      if users[user.id] != nil { users[user.id] = user }
      for dialog in dialogs.values where dialog.user?.id == user.id { change(dialog.id) { $0.user = user } }
    case .dialogCreated(let data), .dialogUpdated(let data): apply(data.dialog, data.message)
    case .dialogDeleted(let data): remove(data.dialogId)
    case .dialogCleared(let data): missing.insert(data.dialogId)
    case .memberUpdated(let data):
      let isMine = data.member.userId == me
      if isMine, data.member.role == .none || data.member.role == .banned { return remove(data.dialogId) }
      apply(data.dialog, data.message)
      if isMine {
        changeMine(data.dialogId) {
          ($0.role, $0.nick, $0.kicked) = (data.member.role, data.member.nick, data.member.kicked)
        }
      }
    case .settingsUpdated(let settings): apply(settings)
    case .draftUpdated(let data): setDraft(data.draft, in: data.dialogId)
    case .unreadUpdated(let data):
      changeMine(data.dialogId) { ($0.unreadCount, $0.mentionCount) = (data.unreadCount, data.mentionCount) }
      setTotals(data.totalUnread, data.totalMentions)
    case .typingUpdated(let data): typing[data.dialogId] = data.userIds.isEmpty ? nil : data.userIds
    case .presenceUpdated(let presence): presences[presence.userId] = presence
    case .ready, .resync, .messageStarred, .contactUpdated, .contactsChanged, .blockUpdated, .dialogInvited,
      .scheduledUpdated, .callUpdated, .callSignal, .custom, .sessionRevoked, .goaway, .unknown:
      break
    }
  }
}

/// A dictionary of bounded size: what was set longest ago goes.
struct Recent<Value: Equatable & Sendable>: Equatable, Sendable {
  private let bound: Int
  private var values: [String: (value: Value, at: Int)] = [:]
  private var time = 0

  init(_ bound: Int) { self.bound = bound }

  static func == (one: Self, other: Self) -> Bool { one.values.mapValues(\.value) == other.values.mapValues(\.value) }

  subscript(key: String) -> Value? {
    get { values[key]?.value }
    set {
      time += 1
      values[key] = newValue.map { ($0, time) }
      // A tenth at a time, so that few insertions look for the oldest.
      guard values.count > bound + bound / 10 else { return }
      for (key, _) in values.sorted(by: { $0.value.at < $1.value.at }).prefix(values.count - bound) {
        values[key] = nil
      }
    }
  }
}
