public import Addresses

// Pushes (XEP-0357, and devices of apps). Theory:
//
// If a recipient has push registrations and no active session, the message's transaction also inserts a pending-push
// row, so that neither a crash nor a slow service loses it. The rows of a batch are written at its end, for each user no
// more than a publication can contain. The author of a message is charged for all of its rows, as a message to a group has
// one for each absent member. The pusher (`PushServices`) reads the rows, publishes, and posts the outcome; a registration
// stores the position up to which everything was pushed, so that nothing is pushed twice, and rows are removed once all
// registrations have them.
//
// A session may end before anyone notices. When this is discovered, its last confirmed position is posted, and later
// messages to it are pushed too.

extension StoreReader {
  /// Returns whether the client or server at an address may be a user's push service: it gets requests in the name of the
  /// user's server, with texts that the user and others have chosen. A client here is the user's own, or one of somebody
  /// who shares their presence with the user, or has agreed to (RFC 6121 3.4); other users here have not.
  public func mayServe(_ service: JID, asPushServiceOf user: Party) throws -> Bool {
    guard let owner = try self.user(service.bare), !owner.realm.isRemote, owner.id != user.id else { return true }
    guard owner.state == .active, let contact = try contact(of: owner.id, user.address) else { return false }
    // What was approved for a free address is void.
    return contact.subscription.from || contact.subscription.preApproved && contact.isChosen(by: owner.address)
  }
}

/// Decides whether a message is pushed; pure functions.
package enum Pushes {
  /// Returns the default of members without a setting (XEP-0492 5): in a group all messages, unless it is too large to
  /// follow.
  static func usual(in room: Room) -> Alerts {
    room.settings.isMembersOnly && room.memberCount <= Limits.ringingMembersMax ? .always : .onMention
  }

  /// The properties of a reader that decide about a push.
  struct Reader: Sendable {
    var alerts: Alerts
    var isAuthor = false
    var isMentioned = false
    /// Whether they block the author.
    var isShunned = false
    /// Whether one of the reader's sessions is active, or shows this dialog.
    var isAttended = false
    /// Whether they have a device for calls, which rings even if another device is active.
    var rings = false
    /// Whether a device wants silent pushes of muted dialogs.
    var hearsSilently = false
  }

  static func isDue(_ message: Message, _ reader: Reader) -> Bool {
    // Only messages to read, and calls: no receipt, marker, chat state, reaction, correction or retraction.
    guard message.traits.contains(.counts) || message.traits.contains(.rings) else { return false }
    if reader.isAuthor || reader.isShunned { return false }
    if reader.isAttended, !(reader.rings && message.traits.contains(.rings)) { return false }
    switch reader.alerts {
    case .always: return true
    case .onMention: return reader.isMentioned
    case .never: return false
    }
  }

  /// Returns the kind of the push; `nil` for none.
  static func kind(of message: Message, for reader: Reader) -> OwedPush.Kind? {
    if isDue(message, reader) { return .alert }
    guard reader.hearsSilently, message.traits.contains(.counts) else { return nil }
    var listener = reader
    listener.alerts = .always
    return isDue(message, listener) ? .silent : nil
  }

  /// Returns whether the user is active in one of these sessions, as far as the server can tell.
  package static func isAttended(_ onlineSessions: [OnlineSession]) -> Bool {
    onlineSessions.contains { onlineSession in
      switch onlineSession.door {
      // A session without presence is catching up. An app in the background sends away: the system may stop it at any
      // moment, and its connection survives that for minutes.
      case .app: onlineSession.isReturning || onlineSession.presence.map(looks) ?? true
      case .remote: false
      case .xmpp:
        onlineSession.isConnected && !onlineSession.isInactive && onlineSession.priority >= 0
          && onlineSession.presence.map(looks) ?? false
      }
    }
  }

  /// Returns whether an app session shows this dialog: then it needs no alert, even if the user is otherwise away.
  package static func isOnScreen(_ dialog: DialogID, _ onlineSessions: [OnlineSession]) -> Bool {
    onlineSessions.contains { $0.door == .app && $0.activeDialog == dialog }
  }

  private static func looks(_ presence: Presence) -> Bool {
    switch presence.availability {
    case .online, .chat, .doNotDisturb: true
    case .away, .extendedAway, .offline: false
    }
  }
}

extension Entry {
  /// The message that a push is about: the entry's own, or that of a ringing call.
  package var pushed: Message? {
    switch fact {
    case .message(let message): message
    case .call(let change):
      change.rings
        ? Message(
          sequence: 0, content: Content(kind: .none), envelope: change.message?.envelope ?? Envelope(), traits: .rings)
        : nil
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings,
      .perUser, .draft, .scheduledMessage, .notification, .undelivered:
      nil
    }
  }
}

/// The pending pushes that the committer has still to write, and what it knows to decide about further ones.
struct OwedPushes {
  struct Place: Hashable {
    let user: UserID
    let dialog: DialogID
  }
  /// The pushes that the batch adds for each user.
  var added: [UserID: [OwedPush]] = [:]
  /// The settings of dialogs that were read in the batch; `nil` for a user without the dialog.
  var settings: [Place: DialogSettings?] = [:]
  /// The users whose rooms the batch has read for the registry, which knows them after it.
  var roomsRead: Set<UserID> = []
  /// The rows that were written for each user since the old ones were last removed; rows of failed batches may count, and
  /// rows from before a restart do not. Beyond `Limits.cachedUsersMax` users it is emptied. Users of services that take no
  /// pushes then have more rows, until the next publication fails.
  var written: [UserID: Int] = [:]

  /// Adds a push; of many only the newest are kept.
  mutating func add(_ push: OwedPush, to user: UserID) {
    added[user, default: []].append(push)
    if added[user]?.count == 2 * Limits.pushesOwedMax { added[user]?.keepNewest() }
  }

  mutating func settingsChanged(of user: UserID, in dialog: DialogID) {
    settings.removeValue(forKey: Place(user: user, dialog: dialog))
  }

  mutating func batchEnded() {
    added = [:]
    settings = [:]
    roomsRead = []
    if written.count > Limits.cachedUsersMax { written = [:] }
  }
}

extension [OwedPush] {
  /// Removes all pushes but the newest that one publication combines. They are sorted first, as missed messages may be older
  /// than the pushes before them.
  fileprivate mutating func keepNewest() {
    if count <= Limits.pushesOwedMax { return }
    self = Array(sorted { $0.position < $1.position }.suffix(Limits.pushesOwedMax))
  }
}

extension Judge {
  /// Returns the user's notification setting for an entry. It is asked for only for users who would otherwise get a push.
  ///
  /// - Parameter room: the room of the entry.
  /// - Returns: `nil` if they do not belong to it.
  private mutating func alerts(
    of user: Party, at entry: Entry, in room: Room?
  ) throws -> Alerts? {
    switch entry.place {
    case .peer: return try settings(of: user, in: entry.dialog)?.alerts(at: time, usual: .always) ?? .always
    // A private message of a room counts as a direct chat, unless the room is muted.
    case .whisper(_, let room, _):
      let alerts = try settings(of: user, in: room.dialog)?.alerts(at: time, usual: .always)
      return alerts == .never ? .never : .always
    case .room:
      guard let room, let settings = try settings(of: user, in: room.id) else { return nil }
      return settings.alerts(at: time, usual: Pushes.usual(in: room))
    }
  }

  /// Returns the user's settings of a dialog, which are read once in a batch while nothing changes them; `nil` if they do not
  /// have it.
  private mutating func settings(of user: Party, in dialog: DialogID) throws -> DialogSettings? {
    let place = OwedPushes.Place(user: user.id, dialog: dialog)
    if let known = owedPushes.settings[place] { return known }
    charge(rows: 1)
    let found = try writer.settings(of: user.id, in: dialog)
    owedPushes.settings[place] = .some(found)
    return found
  }

  /// Adds the pending pushes of an entry that has just been inserted, and charges its author for them.
  ///
  /// - Parameters:
  ///   - room: the room of the entry.
  ///   - answered: the author of the message that it replies to, which counts as a mention (XEP-0492 5).
  mutating func owe(
    _ entry: Entry, in room: Room? = nil, answering answered: UserID? = nil
  ) throws {
    switch entry.place {
    case .peer(let reader), .whisper(let reader, _, _): try owe(entry, to: reader.id, answering: answered)
    case .room:
      guard let room else { return }
      var readers = pushes.listeners(in: room.id, usual: Pushes.usual(in: room))
      readers.formUnion(entry.mentions.map(\.party.id))
      if let answered { readers.insert(answered) }
      for reader in readers { try owe(entry, to: reader, in: room, answering: answered) }
    }
  }

  private mutating func owe(
    _ entry: Entry, to id: UserID, in room: Room? = nil, answering answered: UserID?
  ) throws {
    guard let asked = pushes.asked(id), let message = entry.pushed else { return }
    var reader = Pushes.Reader(alerts: .always)
    reader.isAuthor = entry.author.id == id
    reader.isMentioned = answered == id || entry.mentions.contains { $0.party.id == id }
    let onlineSessions = hub.onlineSessions(of: id)
    reader.isAttended = Pushes.isAttended(onlineSessions) || Pushes.isOnScreen(entry.dialog, onlineSessions)
    reader.rings = asked.rings
    reader.hearsSilently = asked.hearsSilently
    guard Pushes.isDue(message, reader), let user = try writer.party(id),
      let alerts = try alerts(of: user, at: entry, in: room)
    else { return }
    reader.alerts = alerts
    guard Pushes.kind(of: message, for: reader) != nil else { return }
    reader.isShunned = try isBlocked(
      entry.author, resource: entry.room == nil ? message.envelope.fromResource : nil, by: user)
    guard let kind = Pushes.kind(of: message, for: reader) else { return }
    owe(OwedPush(position: entry.position, dialog: entry.dialog, kind: kind), to: user.id)
  }

  /// Adds a pending push, which is stored at the end of the batch.
  mutating func owe(_ push: OwedPush, to user: UserID) {
    // The row is written, and removed once it is published.
    charge(rows: 2)
    owedPushes.add(push, to: user)
  }

  /// Stores the pushes that the batch has added so far.
  mutating func writePushes() throws {
    for user in Array(owedPushes.added.keys) { try writePushes(to: user) }
  }

  /// Stores the pushes that the batch has added for a user, the newest that one publication combines. Old rows, which none
  /// would contain, are removed after each `Limits.pushesOwedMax` rows: not every service takes pushes all the time.
  private mutating func writePushes(to user: UserID) throws {
    guard var pushes = owedPushes.added.removeValue(forKey: user) else { return }
    pushes.keepNewest()
    for push in pushes { try writer.owePush(push, to: user) }
    tell(.owed(user))
    let written = owedPushes.written[user, default: 0] + pushes.count
    if written < Limits.pushesOwedMax {
      owedPushes.written[user] = written
    } else {
      owedPushes.written[user] = nil
      try removeOldPushes(of: user)
    }
  }

  /// Removes the pending pushes that no publication would contain, as there are enough newer ones.
  private func removeOldPushes(of user: UserID) throws {
    guard let oldest = try writer.pushesOwed(to: user, limit: Limits.pushesOwedMax).first else { return }
    try writer.removePushesOwed(to: user, through: Position(oldest.position.number - 1))
  }

  /// Adds the pending push of the end of ringing: the call was retracted, or answered. Devices that were told of the
  /// call get it, even if the user is active elsewhere.
  ///
  /// - Parameters:
  ///   - position: the position of the entry of the end, behind `ring`.
  ///   - ring: the message that rang.
  mutating func oweEnd(
    at position: Position, of ring: Position, in dialog: DialogID, to user: UserID
  ) {
    guard pushes.has(user) else { return }
    owe(OwedPush(position: position, dialog: dialog, kind: .callEnd, subject: ring), to: user)
  }

  mutating func push(_ post: Post, _ intent: PushIntent) throws {
    let user = post.author.id
    // The rows that it may remove are those of the posts before it.
    try writePushes(to: user)
    switch intent {
    case .enable(let service, let node, let options, let resource):
      guard node.utf8.count <= Limits.nodeNameBytesMax, (options?.count ?? 0) <= Limits.pushOptionsBytesMax else {
        throw Problem(.tooLarge, "push-too-large", "The node's name or the publish options are too long.")
      }
      guard try writer.mayServe(service, asPushServiceOf: post.author) else { throw Problem.notYours }
      _ = try register(.service(service, node: node, options: options), resource: resource, of: user)
    case .disable(let service, let node):
      for registration in try writer.pushRegistrations(of: user) {
        guard case .service(service, let known, _) = registration.target, node == nil || known == node else { continue }
        try writer.removePushRegistration(registration)
      }
      try registrationsChanged(of: user)
    case .register(let device, let grant, let resource):
      // The login may have ended while the request was on its way.
      guard try writer.grants(of: user).contains(where: { $0.id == grant }) else {
        throw Problem(.unauthenticated, "token-invalid", "The access token is not valid; log in again.")
      }
      // A new id of the same installation: keeping both would push everything twice.
      for registration in try writer.pushRegistrations(of: user)
      where registration.target.device?.hasAddress(of: device) == true && registration.name != .device(device.id) {
        try writer.removePushRegistration(registration)
      }
      let isNew = try register(.device(device), resource: resource, grant: grant, of: user)
      var receipt = Receipt(position: head)
      receipt.isRepeat = !isNew
      return settle(post, receipt)
    case .unregister(let device):
      let found = try writer.pushRegistrations(of: user).first { $0.name == .device(device) }
      if let found {
        try writer.removePushRegistration(found)
        try registrationsChanged(of: user)
      }
      var receipt = Receipt(position: head)
      receipt.isRepeat = found == nil
      return settle(post, receipt)
    case .recount: try registrationsChanged(of: user)
    case .notify(let notification): return try notify(post, notification)
    case .missed(let position):
      guard let told = try writer.pushRegistrations(of: user).map(\.pushed).min() else { break }
      for entry in try writer.replay(
        of: .server(user, .pushes), after: max(position, told), limit: Limits.pushesOwedMax,
        looksMax: Limits.missedLooksMax)
      {
        try owe(entry, answering: answered(by: entry))
      }
    case .settled(let name, let position, let outcome):
      try settled(name, at: position, outcome, of: user)
    }
    settle(post)
  }

  /// Notes what has become of the pushes to a target, and removes one that fails again and again.
  private mutating func settled(
    _ name: PushTarget.Name, at position: Position, _ outcome: PushOutcome, of user: UserID
  ) throws {
    guard var registration = try writer.pushRegistrations(of: user).first(where: { $0.name == name }) else { return }
    // It was registered again since: an earlier outcome does not count.
    if outcome != .taken, registration.enabled > position { return }
    switch outcome {
    case .taken:
      registration.pushed = max(registration.pushed, position)
      registration.failures = 0
    case .failed: registration.failures += 1
    // An expired key of the operator's must not remove users' devices.
    case .unavailable: registration.failures = min(registration.failures + 1, Limits.pushFailuresMax - 1)
    case .refused: registration.failures = Limits.pushFailuresMax
    }
    if registration.failures >= Limits.pushFailuresMax {
      try writer.removePushRegistration(registration)
      try registrationsChanged(of: user)
    } else {
      try writer.put(registration)
      try forgetTold(user)
      // While a service fails, no more pushes are kept than one publication combines.
      if outcome != .taken { try removeOldPushes(of: user) }
    }
  }

  /// Registers a target. Returns whether it is new.
  private mutating func register(
    _ target: PushTarget, resource: String, grant: Int64? = nil, of user: UserID
  ) throws -> Bool {
    let position = nextPosition()
    var all = try writer.pushRegistrations(of: user)
    let known = all.first { $0.name == target.name }
    let new = PushRegistration(
      user: user, target: target, resource: resource, grant: grant, pushed: known?.pushed ?? position, enabled: position
    )
    all.removeAll { $0.name == target.name }
    if all.count >= Limits.pushRegistrationsMax, let oldest = all.min(by: { $0.enabled < $1.enabled }) {
      try writer.removePushRegistration(oldest)
    }
    try writer.put(new)
    try registrationsChanged(of: user)
    return known == nil
  }

  private func answered(by entry: Entry) throws -> UserID? {
    guard case .message(let message) = entry.fact, let reference = message.reference, reference.kind == .reply else {
      return nil
    }
    return try writer.entry(reference.target, in: .server(entry.dialog, .rules))?.author.id
  }

  private mutating func registrationsChanged(of user: UserID) throws {
    let asked = PushRegistry.Asked(try writer.pushRegistrations(of: user))
    var rooms: [DialogID: PushRegistry.Preference]?
    if asked != .nothing, !pushes.knowsRooms(of: user), owedPushes.roomsRead.insert(user).inserted {
      let found = try PushRegistry.rooms(of: user, writer)
      charge(rows: found.count)
      rooms = found
    }
    tell(.pushing(user, asked, rooms: rooms))
    try forgetTold(user)
  }

  /// Removes the rows that every registration has.
  private func forgetTold(_ user: UserID) throws {
    let told = try writer.pushRegistrations(of: user).map(\.pushed).min()
    try writer.removePushesOwed(to: user, through: told ?? .end)
  }
}
