import Addresses

// Pushes (XEP-0357, and devices of apps). Theory:
//
// A push is *owed* when a message is committed and nobody is there to read it: a row beside the message, in its transaction,
// so that neither a crash nor a slow service loses it. A `Pusher` reads the rows, publishes, and posts what became of it; a
// registration stands at the position up to which it has been told, so that nothing is told twice, and rows that all have
// been told of go.
//
// A session may be gone before anybody notices. When it turns out to be, it says how far its client had come, and what was
// said to it since is owed too.

/// Whether something said is worth waking somebody. Pure.
enum Pushes {
  /// What applies in a room of whose members who have said nothing of it (XEP-0492 5): in a group all messages, where
  /// that is no more than people can follow.
  static func usual(in room: Room) -> Alerts {
    room.settings.isMembersOnly && room.memberCount <= Limits.ringingMembersMax ? .always : .onMention
  }

  /// Where a message stands, seen from one of its readers.
  struct Reader: Sendable {
    var alerts: Alerts
    var isAuthor = false
    var isMentioned = false
    /// The author is blocked.
    var isShunned = false
    /// Somebody looks at one of the reader's sessions, or has this dialog on the screen.
    var isAttended = false
    /// Has a device that is there for calls, and rings whoever looks at another.
    var rings = false
    /// Has a device that is told silently of what the user wants no alert of.
    var hearsSilently = false
  }

  static func isDue(_ message: Message, _ reader: Reader) -> Bool {
    // What somebody is to read, and calls: no receipt, marker, chat state, reaction, correction or retraction.
    guard message.traits.contains(.counts) || message.traits.contains(.rings) else { return false }
    if reader.isAuthor || reader.isShunned { return false }
    if reader.isAttended, !(reader.rings && message.traits.contains(.rings)) { return false }
    switch reader.alerts {
    case .always: return true
    case .onMention: return reader.isMentioned
    case .never: return false
    }
  }

  /// How the reader is told; nil: not at all.
  static func kind(of message: Message, for reader: Reader) -> OwedPush.Kind? {
    if isDue(message, reader) { return .alert }
    guard reader.hearsSilently, message.traits.contains(.counts) else { return nil }
    var listener = reader
    listener.alerts = .always
    return isDue(message, listener) ? .silent : nil
  }

  /// Whether somebody looks at one of these sessions, as far as a server can tell.
  static func isAttended(_ onlineSessions: [OnlineSession]) -> Bool {
    onlineSessions.contains { onlineSession in
      switch onlineSession.door {
      // One that has said nothing yet is catching up. In the background an app says that it is away: the system may stop it
      // at any moment, and its connection stands for minutes after that.
      case .app: onlineSession.isReturning || onlineSession.presence.map(looks) ?? true
      case .remote: false
      case .xmpp:
        onlineSession.isConnected && !onlineSession.isInactive && onlineSession.priority >= 0
          && onlineSession.presence.map(looks) ?? false
      }
    }
  }

  /// Whether an app's session shows this dialog: whoever has it on the screen needs no alert of it, also while they are away
  /// from everything else.
  static func isOnScreen(_ dialog: DialogID, _ onlineSessions: [OnlineSession]) -> Bool {
    onlineSessions.contains { $0.door == .app && $0.activeDialog == dialog }
  }

  private static func looks(_ presence: Presence) -> Bool {
    switch presence.availability {
    case .online, .chat, .doNotDisturb: true
    case .away, .extendedAway, .offline: false
    }
  }

  /// Whether the device of this registration needs no waking: its session is connected. One of an app that is in the
  /// background does not count.
  static func isHere(_ registration: PushRegistration, _ onlineSessions: [OnlineSession]) -> Bool {
    let own = onlineSessions.filter { $0.resource == registration.resource }
    if registration.target.device != nil { return isAttended(own.filter { $0.door == .app }) }
    return own.contains { $0.door == .xmpp && $0.isConnected && $0.isAvailable }
  }

  /// What of this a target is told.
  ///
  /// - Parameters:
  ///   - rings: its user has devices for calls alone, by their logins.
  ///   - isAttended: somebody looks elsewhere, or has the dialog on the screen.
  static func isFor(
    _ target: PushRegistration, _ kind: OwedPush.Kind, isCall: Bool, rings: Set<Int64?>, isAttended: Bool
  ) -> Bool {
    guard let device = target.target.device else { return kind == .alert && !isAttended }
    let takesCalls = device.kind == .voip || !rings.contains(target.grant)
    switch kind {
    case .callEnd: return takesCalls
    case .silent: return device.kind == .alert && device.hearsSilently && !isAttended
    case .alert where isCall: return takesCalls && (device.kind == .voip || !isAttended)
    case .alert: return device.kind == .alert && !isAttended
    // No session is told of it, so it is told whoever looks.
    case .notification: return device.kind == .alert
    }
  }
}

extension Entry {
  /// What of it somebody may be woken for: what is said, and a call that rings.
  var pushed: Message? {
    switch fact {
    case .message(let message): message
    case .call(let change):
      change.rings
        ? Message(
          sequence: 0, content: Content(kind: .none), envelope: change.message?.envelope ?? Envelope(), traits: .rings)
        : nil
    default: nil
    }
  }
}

extension Judge {
  /// What a user wants to be told of in this place; the one function that asks. Read, and not remembered: it is asked for
  /// those only who would else be owed a push.
  ///
  /// - Parameter room: where that is.
  /// - Returns: nil: they are not there.
  private func alerts(
    of user: Party, at entry: Entry, in room: Room?, _ writer: any StoreWriter
  ) throws -> Alerts? {
    switch entry.place {
    case .peer: return try writer.settings(of: user.id, in: entry.dialog)?.alerts(at: time, usual: .always) ?? .always
    // Said to one alone: as in a direct chat, unless nothing of the room is to be heard.
    case .whisper(_, let room, _):
      let alerts = try writer.settings(of: user.id, in: room.dialog)?.alerts(at: time, usual: .always)
      return alerts == .never ? .never : .always
    case .room:
      guard let room, let settings = try writer.settings(of: user.id, in: room.id) else { return nil }
      return settings.alerts(at: time, usual: Pushes.usual(in: room))
    }
  }

  /// Puts down who is to be woken for an entry that has just been inserted.
  ///
  /// - Parameters:
  ///   - room: where it was said.
  ///   - answered: whose message it answers: as good as a mention (XEP-0492 5).
  mutating func owe(
    _ entry: Entry, in room: Room? = nil, answering answered: UserID? = nil, _ writer: any StoreWriter
  ) throws {
    switch entry.place {
    case .peer(let reader), .whisper(let reader, _, _): try owe(entry, to: reader.id, answering: answered, writer)
    case .room:
      guard let room else { return }
      var readers = pushes.listeners(in: room.id, usual: Pushes.usual(in: room))
      readers.formUnion(entry.mentions.map(\.party.id))
      if let answered { readers.insert(answered) }
      for reader in readers { try owe(entry, to: reader, in: room, answering: answered, writer) }
    }
  }

  private mutating func owe(
    _ entry: Entry, to id: UserID, in room: Room? = nil, answering answered: UserID?, _ writer: any StoreWriter
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
      let alerts = try alerts(of: user, at: entry, in: room, writer)
    else { return }
    reader.alerts = alerts
    guard Pushes.kind(of: message, for: reader) != nil else { return }
    reader.isShunned = try isBlocked(
      entry.author, resource: entry.room == nil ? message.envelope.fromResource : nil, by: user, writer)
    guard let kind = Pushes.kind(of: message, for: reader) else { return }
    try owe(OwedPush(position: entry.position, dialog: entry.dialog, kind: kind), to: user.id, writer)
  }

  mutating func owe(_ push: OwedPush, to user: UserID, _ writer: any StoreWriter) throws {
    try writer.owePush(push, to: user)
    tell(.owed(user))
  }

  /// Puts down that a call does not ring any more: it was taken back, or somebody has answered it. Devices that were told of it
  /// are told that, also where the user looks at another.
  ///
  /// - Parameters:
  ///   - position: of the entry that says so; behind `ring`.
  ///   - ring: the message that rang.
  mutating func oweEnd(
    at position: Position, of ring: Position, in dialog: DialogID, to user: UserID, _ writer: any StoreWriter
  ) throws {
    guard pushes.has(user) else { return }
    try owe(OwedPush(position: position, dialog: dialog, kind: .callEnd, subject: ring), to: user, writer)
  }

  mutating func push(_ post: Post, _ intent: PushIntent, _ writer: any StoreWriter) throws {
    let user = post.author.id
    switch intent {
    case .enable(let service, let node, let options, let resource):
      guard node.utf8.count <= Limits.nodeNameBytesMax, (options?.count ?? 0) <= Limits.pushOptionsBytesMax else {
        throw Problem(.tooLarge, "push-too-large", "The node's name or the publish options are too long.")
      }
      _ = try register(.service(service, node: node, options: options), resource: resource, of: user, writer)
    case .disable(let service, let node):
      for registration in try writer.pushRegistrations(of: user) {
        guard case .service(service, let known, _) = registration.target, node == nil || known == node else { continue }
        try writer.removePushRegistration(registration)
      }
      try registrationsChanged(of: user, writer)
    case .register(let device, let grant, let resource):
      // The login may have ended while the request was on its way.
      guard try writer.grants(of: user).contains(where: { $0.id == grant }) else {
        throw Problem(.unauthenticated, "token-invalid", "The access token is not valid; log in again.")
      }
      // A new id of the same installation: two would be told of everything twice.
      for registration in try writer.pushRegistrations(of: user)
      where registration.target.device?.hasAddress(of: device) == true && registration.name != .device(device.id) {
        try writer.removePushRegistration(registration)
      }
      let isNew = try register(.device(device), resource: resource, grant: grant, of: user, writer)
      var receipt = Receipt(position: head)
      receipt.isRepeat = !isNew
      return settle(post, receipt)
    case .unregister(let device):
      let found = try writer.pushRegistrations(of: user).first { $0.name == .device(device) }
      if let found {
        try writer.removePushRegistration(found)
        try registrationsChanged(of: user, writer)
      }
      var receipt = Receipt(position: head)
      receipt.isRepeat = found == nil
      return settle(post, receipt)
    case .recount: try registrationsChanged(of: user, writer)
    case .notify(let notification): return try notify(post, notification, writer)
    case .missed(let position):
      guard let told = try writer.pushRegistrations(of: user).map(\.pushed).min() else { break }
      for entry in try writer.replay(of: user, after: max(position, told), limit: Limits.pushesOwedMax) {
        try owe(entry, answering: answered(by: entry, writer), writer)
      }
    case .settled(let name, let position, let outcome):
      guard var registration = try writer.pushRegistrations(of: user).first(where: { $0.name == name }) else { break }
      // It was asked for anew since: what a service said before counts no more.
      if outcome != .taken, registration.enabled > position { break }
      switch outcome {
      case .taken:
        registration.pushed = max(registration.pushed, position)
        registration.failures = 0
      case .failed: registration.failures += 1
      // Nobody is to lose their devices by a key of the operator's that has run out.
      case .unavailable: registration.failures = min(registration.failures + 1, Limits.pushFailuresMax - 1)
      case .refused: registration.failures = Limits.pushFailuresMax
      }
      if registration.failures >= Limits.pushFailuresMax {
        try writer.removePushRegistration(registration)
        try registrationsChanged(of: user, writer)
      } else {
        try writer.put(registration)
        try forgetTold(user, writer)
        // Of what waits long, no more than one publication stands for.
        if outcome != .taken, let oldest = try writer.pushesOwed(to: user, limit: Limits.pushesOwedMax).first {
          try writer.removePushesOwed(to: user, through: Position(oldest.position.number - 1))
        }
      }
    }
    settle(post)
  }

  /// - Returns: whether it is new.
  private mutating func register(
    _ target: PushTarget, resource: String, grant: Int64? = nil, of user: UserID, _ writer: any StoreWriter
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
    try registrationsChanged(of: user, writer)
    return known == nil
  }

  private func answered(by entry: Entry, _ writer: any StoreWriter) throws -> UserID? {
    guard case .message(let message) = entry.fact, let reference = message.reference, reference.kind == .reply else {
      return nil
    }
    return try writer.entry(reference.target, in: entry.dialog)?.author.id
  }

  private mutating func registrationsChanged(of user: UserID, _ writer: any StoreWriter) throws {
    let asked = PushRegistry.Asked(try writer.pushRegistrations(of: user))
    tell(.pushing(user, asked, rooms: asked == .nothing ? [:] : try PushRegistry.rooms(of: user, writer)))
    try forgetTold(user, writer)
  }

  /// Rows that nobody is to be told of any more go.
  private func forgetTold(_ user: UserID, _ writer: any StoreWriter) throws {
    let told = try writer.pushRegistrations(of: user).map(\.pushed).min()
    try writer.removePushesOwed(to: user, through: told ?? .end)
  }
}
