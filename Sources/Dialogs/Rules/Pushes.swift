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
  /// What a user wants to be told of in a dialog (XEP-0492).
  enum Alerts: Sendable { case always, onMention, never }

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
  /// What a user wants to be told of in this place; the one function that asks.
  private func alerts(of user: Party, at place: Entry.Place) -> Pushes.Alerts {
    switch place {
    case .peer, .whisper: .always
    case .room: .onMention
    }
  }

  /// Puts down who is to be woken for an entry that has just been inserted.
  mutating func owe(_ entry: Entry, _ writer: any StoreWriter) throws {
    switch entry.place {
    case .peer(let reader), .whisper(let reader, _, _): try owe(entry, to: reader, writer)
    case .room:
      if entry.mentions.isEmpty { return }
      for reader in Set(entry.mentions.map(\.party)) { try owe(entry, to: reader, writer) }
    }
  }

  private mutating func owe(_ entry: Entry, to user: Party, _ writer: any StoreWriter) throws {
    guard pushes.has(user.id), case .message(let message) = entry.fact else { return }
    var reader = Pushes.Reader(alerts: alerts(of: user, at: entry.place))
    reader.isAuthor = entry.author == user
    reader.isMentioned = entry.mentions.contains { $0.party == user }
    reader.isAttended = Pushes.isAttended(hub.attendances(of: user.id))
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
        try owe(entry, writer)
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

  private mutating func registrationsChanged(of user: UserID, _ writer: any StoreWriter) throws {
    tell(.pushing(user, Set(try writer.pushRegistrations(of: user).map(\.resource))))
    try forgetTold(user, writer)
  }

  /// Rows that nobody is to be told of any more go.
  private func forgetTold(_ user: UserID, _ writer: any StoreWriter) throws {
    let told = try writer.pushRegistrations(of: user).map(\.pushed).min()
    try writer.removePushesOwed(to: user, through: told ?? .end)
  }
}
