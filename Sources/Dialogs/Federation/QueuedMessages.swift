/// The news that authors get of messages that wait for servers elsewhere. Theory:
///
/// A message that its server takes at once is never told of. One that still waits after `Limits.queuedAfter` gets the
/// state `queued`, and loses it when it is taken, or fails. The state is the message's own (`MessageState.delivery`)
/// and counts as a change of it, so that of two copies the newer is known, wherever they were read; each change is an
/// entry for its author's apps. XMPP has nothing for it.
///
/// A link notices what is overdue, and reports it once for many rows. Which rows were told of is known from their
/// messages; a position in memory (`OutboxLedger`) saves the look at them where none was, which is always.
extension Judge {
  /// Tells the authors of the rows up to a position that they wait.
  mutating func tellQueued(_ pair: DomainPair, through end: Position) throws {
    guard let waiting = try ledger().pairs[pair], waiting.rows > 0, waiting.lookedAt < end else { return }
    var last = min(end, head)
    let rows = try writer.outbox(of: pair, after: waiting.lookedAt, limit: Limits.outboxToldAtOnce)
    for row in rows where row.position <= end { try tell(.queued, of: row) }
    if rows.count == Limits.outboxToldAtOnce, let read = rows.last?.position, read < last {
      last = read
      tell(.later(Post(author: Parley.nobody, intent: .outbox(.overdue(pair, through: end)), completion: .none)))
    }
    outbox?.pairs[pair]?.lookedAt = last
    outbox?.pairs[pair]?.toldThrough = max(last, waiting.toldThrough)
  }

  /// Removes the rows up to a position, which the other server has taken, and notifies those authors who know that their messages
  /// wait: `Limits.outboxToldAtOnce` of these in one post. Returns the position if more rows remain: they do not expire before they
  /// are removed.
  mutating func take(_ pair: DomainPair, through end: Position) throws -> Position? {
    guard let waiting = try ledger().pairs[pair] else { return nil }
    let end = min(end, head)
    let told = min(end, waiting.toldThrough)
    var last = end
    if told > .zero {
      let rows = try writer.outbox(of: pair, after: .zero, limit: Limits.outboxToldAtOnce)
      for row in rows where row.position <= told { try tell(nil, of: row) }
      if rows.count == Limits.outboxToldAtOnce, let read = rows.last?.position, read < told { last = read }
    }
    let isRestLeft = last < end
    if !isRestLeft, told == waiting.toldThrough { outbox?.pairs[pair]?.toldThrough = .zero }
    // Reports of one pair may overlap.
    if isRestLeft { takenThrough[pair] = max(end, takenThrough[pair] ?? .zero) }
    try remove(.zero...last, of: pair)
    return isRestLeft ? end : nil
  }

  /// Tells the author of a message that it waits, or has been taken after that.
  private mutating func tell(_ delivery: MessageState.Delivery?, of row: OutboxRow) throws {
    guard case .entry(let entry) = row.item, case .message = entry.fact, !entry.author.realm.isRemote,
      entry.state?.delivery == (delivery == nil ? .queued : nil)
    else { return }
    let position = nextPosition()
    guard let changed = try change(entry, delivery, at: position),
      try !writer.isHidden(entry.position, in: entry.dialog, for: entry.author.id)
    else { return }
    let told = PerUserMessageChange(.delivery, in: entry.dialog, target: entry.position, outcome: changed)
    tell(.entry(try insertOwn(.perUser(told), of: entry.author, at: position), author: nil))
  }

  /// Changes what is known of a message's way. Returns the message; `nil` if it shows nothing.
  mutating func change(
    _ entry: Entry, _ delivery: MessageState.Delivery?, at position: Position
  ) throws -> Entry? {
    guard (entry.fact.stanza?.sequence ?? 0) > 0, entry.state?.retraction == nil else { return nil }
    var state = entry.state ?? MessageState(version: position)
    state.version = position
    state.revision += 1
    state.delivery = delivery
    try writer.put(state, of: entry.position, in: entry.dialog)
    return entry.with(state)
  }
}
