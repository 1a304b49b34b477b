import Addresses

// Pushes (XEP-0357). Theory:
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
    var isAttended = false
  }

  static func isDue(_ message: Message, _ reader: Reader) -> Bool {
    // What somebody is to read, and calls: no receipt, marker, chat state, reaction, correction or retraction.
    guard message.traits.contains(.counts) || message.traits.contains(.rings) else { return false }
    if reader.isAuthor || reader.isShunned || reader.isAttended { return false }
    switch reader.alerts {
    case .always: return true
    case .onMention: return reader.isMentioned
    case .never: return false
    }
  }

  /// Whether somebody looks at one of these sessions, as far as a server can tell.
  static func isAttended(_ attendances: [Attendance]) -> Bool {
    attendances.contains { attendance in
      switch attendance.door {
      case .app: true
      case .remote: false
      case .xmpp:
        attendance.isConnected && !attendance.isInactive && attendance.priority >= 0
          && (attendance.presence?.availability == .online || attendance.presence?.availability == .chat
            || attendance.presence?.availability == .doNotDisturb)
      }
    }
  }
}

extension Judge {
  /// What a user wants to be told of in this place; the one function that asks. Read, and not remembered: it is asked for
  /// those only who would else be owed a push.
  ///
  /// - Parameter room: where that is.
  private func alerts(
    of user: Party, at entry: Entry, in room: Room?, _ writer: any StoreWriter
  ) throws -> Alerts {
    switch entry.place {
    case .peer: return try writer.settings(of: user.id, in: entry.dialog)?.alerts(at: time, usual: .always) ?? .always
    // Said to one alone: as in a direct chat, unless nothing of the room is to be heard.
    case .whisper(_, let room, _):
      let alerts = try writer.settings(of: user.id, in: room.dialog)?.alerts(at: time, usual: .always)
      return alerts == .never ? .never : .always
    case .room:
      guard let room, let settings = try writer.settings(of: user.id, in: room.id) else { return .never }
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
    guard pushes.has(id), case .message(let message) = entry.fact else { return }
    var reader = Pushes.Reader(alerts: .always)
    reader.isAuthor = entry.author.id == id
    reader.isMentioned = answered == id || entry.mentions.contains { $0.party.id == id }
    reader.isAttended = Pushes.isAttended(hub.attendances(of: id))
    guard Pushes.isDue(message, reader), let user = try writer.party(id) else { return }
    reader.alerts = try alerts(of: user, at: entry, in: room, writer)
    guard Pushes.isDue(message, reader) else { return }
    reader.isShunned = try isBlocked(
      entry.author, resource: entry.room == nil ? message.envelope.fromResource : nil, by: user, writer)
    guard Pushes.isDue(message, reader) else { return }
    try writer.owePush(OwedPush(position: entry.position, dialog: entry.dialog), to: user.id)
    tell(.owed(user.id))
  }

  mutating func push(_ post: Post, _ intent: PushIntent, _ writer: any StoreWriter) throws {
    let user = post.author.id
    switch intent {
    case .enable(let service, let node, let options, let resource):
      guard node.utf8.count <= Limits.nodeNameBytesMax, (options?.count ?? 0) <= Limits.pushOptionsBytesMax else {
        throw Problem(.tooLarge, "push-too-large", "The node's name or the publish options are too long.")
      }
      let position = nextPosition()
      var all = try writer.pushRegistrations(of: user)
      let known = all.first { $0.service == service && $0.node == node }
      let new = PushRegistration(
        user: user, service: service, node: node, options: options, resource: resource,
        pushed: known?.pushed ?? position, enabled: position)
      all.removeAll { $0.service == service && $0.node == node }
      if all.count >= Limits.pushRegistrationsMax, let oldest = all.min(by: { $0.enabled < $1.enabled }) {
        try writer.removePushRegistration(oldest)
      }
      try writer.put(new)
      try registrationsChanged(of: user, writer)
    case .disable(let service, let node):
      for registration in try writer.pushRegistrations(of: user)
      where registration.service == service && (node == nil || registration.node == node) {
        try writer.removePushRegistration(registration)
      }
      try registrationsChanged(of: user, writer)
    case .missed(let position):
      guard let told = try writer.pushRegistrations(of: user).map(\.pushed).min() else { break }
      for entry in try writer.replay(of: user, after: max(position, told), limit: Limits.pushesOwedMax) {
        try owe(entry, answering: answered(by: entry, writer), writer)
      }
    case .settled(let service, let node, let position, let outcome):
      guard
        var registration = try writer.pushRegistrations(of: user)
          .first(where: { $0.service == service && $0.node == node })
      else { break }
      // It was asked for anew since: what a service said before counts no more.
      if outcome != .taken, registration.enabled > position { break }
      switch outcome {
      case .taken:
        registration.pushed = max(registration.pushed, position)
        registration.failures = 0
      case .failed: registration.failures += 1
      case .refused: registration.failures = Limits.pushFailuresMax
      }
      if registration.failures >= Limits.pushFailuresMax {
        try writer.removePushRegistration(registration)
        try registrationsChanged(of: user, writer)
      } else {
        try writer.put(registration)
        try forgetTold(user, writer)
        // Of what waits long, no more than one publication stands for.
        if outcome == .failed, let oldest = try writer.pushesOwed(to: user, limit: Limits.pushesOwedMax).first {
          try writer.removePushesOwed(to: user, through: Position(oldest.position.number - 1))
        }
      }
    }
    settle(post)
  }

  private func answered(by entry: Entry, _ writer: any StoreWriter) throws -> UserID? {
    guard case .message(let message) = entry.fact, let reference = message.reference, reference.kind == .reply else {
      return nil
    }
    return try writer.entry(reference.target, in: entry.dialog)?.author.id
  }

  private mutating func registrationsChanged(of user: UserID, _ writer: any StoreWriter) throws {
    let resources = Set(try writer.pushRegistrations(of: user).map(\.resource))
    tell(.pushing(user, resources, rooms: resources.isEmpty ? [:] : try PushBook.rooms(of: user, writer)))
    try forgetTold(user, writer)
  }

  /// Rows that nobody is to be told of any more go.
  private func forgetTold(_ user: UserID, _ writer: any StoreWriter) throws {
    let told = try writer.pushRegistrations(of: user).map(\.pushed).min()
    try writer.removePushesOwed(to: user, through: told ?? .end)
  }
}
