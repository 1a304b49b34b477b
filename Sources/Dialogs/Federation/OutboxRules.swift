import Addresses
import Basics
import ServerMetrics

/// The rules of the outbox (`Outbox.swift`).
extension Judge {
  /// Returns whether a party is a user elsewhere, for whom there are rows of the outbox. Components take what is for
  /// their users while they are connected, and have none.
  func isElsewhere(_ party: Party) -> Bool { realms.isElsewhere(party) }

  // MARK: Rows

  /// Refuses a post for a user elsewhere if too much waits already. A post that is accepted may add several rows.
  mutating func checkOutbox(from author: Party, to peer: Party) throws {
    guard isElsewhere(peer) else { return }
    let pair = DomainPair(local: author.address.domain, remote: peer.address.domain)
    if try ledger().isFull(for: author.id, pair) {
      throw Problem(
        .overloaded, "outbox-full",
        "Too much waits for \(pair.remote) and other servers that cannot be reached. Try again later.",
        retryAfter: Limits.outboxRetry)
    }
  }

  /// Adds an entry to what a user elsewhere must get, in place of a row of their feed. What occupants of a room say to
  /// each other is for those who are there, and what only apps show is not sent.
  mutating func owe(_ entry: Entry, to peer: Party) throws {
    guard isElsewhere(peer), entry.peer != nil else { return }
    if case .message(let message) = entry.fact, message.isUnspoken { return }
    try owe(.entry(entry), at: entry.position, from: entry.author, to: peer.address)
  }

  /// Sends a stanza to a user: one elsewhere must get it, and any other gets it if they are online.
  ///
  /// - Parameter position: the position of the entry whose stanza it is; `nil` if it has none.
  mutating func send(
    _ stanza: RelayedStanza, to peer: Party, at position: Position? = nil, by session: SessionID?
  ) throws {
    if isElsewhere(peer) {
      try owe(.stanza(stanza), at: position ?? nextPosition(), from: stanza.from, to: stanza.to)
    } else {
      tell(.signal(.stanza(stanza), session, stanza.from, .user(stanza.to, resource: stanza.toResource)))
    }
  }

  /// Adds an invitation to a room, which the room sends (XEP-0045 7.8.2).
  mutating func owe(_ invitation: Invitation, _ entry: Entry, to invited: Party) throws {
    try owe(.entry(entry), at: entry.position, from: invitation.inviter, to: invited.address)
  }

  private mutating func owe(_ item: OutboxRow.Item, at position: Position, from: Party, to: BareJID) throws {
    let pair = DomainPair(local: item.sender.domain, remote: to.domain)
    // What accepted posts entail, and what answers others, may exceed the bounds once.
    if try ledger().isFull(for: from.id, pair, times: 2) { return }
    if case .stanza(let stanza) = item { countBeside(Int(Limits.storedMessageBytes) + stanza.byteCount) }
    let row = OutboxRow(position: position, expiresAt: time + giveUp, item: item)
    let number = try number(of: pair)
    try writer.insert(row, by: from.id, pair: number)
    outbox?.pairs[pair]?.rows += 1
    outbox?.authors[from.id, default: 0] += 1
    tell(.outbox(pair, row))
  }

  mutating func remove(_ positions: ClosedRange<Position>, of pair: DomainPair) throws {
    guard let number = try ledger().pairs[pair]?.number else { return }
    let authors = try writer.removeOutbox(positions, pair: number)
    outbox?.pairs[pair]?.rows -= authors.count
    for author in authors {
      let rest = (outbox?.authors[author] ?? 0) - 1
      outbox?.authors[author] = rest > 0 ? rest : nil
    }
    if outbox?.pairs[pair]?.rows == 0 { emptiedPairs.insert(pair) }
  }

  /// Removes the pairs for which nothing waits any more, if there are many. The caller empties `emptiedPairs` once the batch is
  /// committed: one that fails has removed nothing.
  mutating func forgetEmptiedPairs() throws {
    guard hasEmptiedMany else { return }
    for pair in emptiedPairs { try forget(pair) }
  }

  var hasEmptiedMany: Bool { emptiedPairs.count >= Limits.outboxPairsEmptiedMax }

  // MARK: Reports of links

  mutating func outbox(_ post: Post, _ intent: OutboxIntent) throws {
    switch intent {
    case .owe(let stanza):
      guard let realm = realms.federated(of: realms.home(of: stanza.from.realm)) else { break }
      let peer = Party(remote: stanza.to, realm: realm.id)
      try checkOutbox(from: stanza.from, to: peer)
      try send(stanza, to: peer, by: nil)
    case .forward(let report, let way): try forward(report, way)
    case .overdue(let pair, let position): try tellQueued(pair, through: position)
    case .taken(let pair, let position):
      if let end = try take(pair, through: position) {
        return leave(Post.Begun(left: .outbox(.taken(pair, through: end)), entry: nil))
      }
    case .bounce(let pair, let positions, let failure):
      // What is written from now on is not meant.
      let end = min(positions.upperBound, head)
      guard positions.lowerBound <= end else { break }
      if let next = try bounce(positions.lowerBound...end, of: pair, failure) {
        let rest = OutboxIntent.bounce(pair, positions: next...end, failure)
        tell(.later(Post(author: post.author, intent: .outbox(rest), completion: .none)))
      }
    case .attempted(let pair, let failures, let next, let reason):
      // If nothing waits, nothing is shown, or tried again.
      if failures > 0, try (ledger().pairs[pair]?.rows ?? 0) == 0 { break }
      try change(pair) {
        $0.failures = failures
        $0.nextAttemptAt = next
        $0.reason = reason
      }
    case .verified(let pair):
      var state = try writer.state(of: pair) ?? writer.put(DomainPairState(pair))
      state.verifiedAt = time
      try writer.replace(state)
    case .unverified(let pairs, let start):
      for pair in pairs {
        try change(pair) { state in
          if let time = state.verifiedAt, time < start { state.verifiedAt = nil }
        }
        try forget(pair)
      }
    case .failed(let id, let to, let failure):
      var receipt = Receipt(position: head)
      receipt.isRepeat = try !fail(id, from: post.author, to: to, failure)
      receipt.position = head
      return settle(post, receipt)
    case .expire(let pair):
      let rows = try writer.outbox(of: pair, after: .zero, limit: Limits.outboxBouncedMax)
      // Later rows expire later. A row whose entry is gone has nobody to be told.
      let last = rows.last { $0.expiresAt <= time }?.position ?? rows.first?.position.previous ?? head
      _ = try bounce(.zero...last, of: pair, .timedOut(pair.remote))
    }
    settle(post)
  }

  /// Gives up the first rows at these positions, apart from those that were taken and are still to be removed. Returns the position of
  /// the next ones; `nil` if there are none.
  private mutating func bounce(
    _ positions: ClosedRange<Position>, of pair: DomainPair, _ failure: FederationFailure
  ) throws -> Position? {
    let first = takenThrough[pair]?.next ?? .zero
    guard first <= positions.upperBound else { return nil }
    let positions = max(first, positions.lowerBound)...positions.upperBound
    let rows = try writer.outbox(of: pair, after: positions.lowerBound.previous, limit: Limits.outboxBouncedMax)
    let isFull = rows.count == Limits.outboxBouncedMax
    let end = isFull ? min(rows.last?.position ?? .zero, positions.upperBound) : positions.upperBound
    try remove(positions.lowerBound...end, of: pair)
    for row in rows where row.position <= end { try tellUndelivered(row, failure) }
    metrics.bounced.add(BounceReason(condition: failure.condition), rows.count { $0.position <= end })
    return end < positions.upperBound ? end.next : nil
  }

  private mutating func tellUndelivered(_ row: OutboxRow, _ failure: FederationFailure) throws {
    switch row.item {
    case .entry(let entry): try tellUndelivered(entry, failure)
    case .stanza(let stanza):
      // Nobody waits for a marker, and errors are not answered (RFC 6120 8.3.1).
      guard stanza.room == nil, !stanza.from.realm.isRemote, case .presence = stanza.name else { return }
      tell(.signal(.undelivered(stanza, failure), nil, stanza.from, .user(stanza.from.address, resource: nil)))
    }
  }

  /// Tells the author of an entry that it was not delivered, by an entry of their `self` dialog. Nobody waits for a
  /// marker. Returns whether there is anybody to tell.
  @discardableResult
  private mutating func tellUndelivered(_ entry: Entry, _ failure: FederationFailure) throws -> Bool {
    guard let message = entry.fact.stanza, let peer = entry.peer, !entry.author.realm.isRemote else { return false }
    if case .marker = entry.fact { return false }
    if entry.state?.failure != nil { return true }
    let position = nextPosition()
    let changed = try change(entry, .failed(failure), at: position)
    let undelivered = Undelivered(
      dialog: entry.dialog, target: entry.position, peer: peer, fromResource: message.envelope.fromResource,
      toResource: message.envelope.toResource,
      // An app's message has one id everywhere.
      stanzaID: (message.traits.contains(.fromApp) ? nil : Envelope.kept(message.envelope.id)) ?? entry.id.description,
      failure: failure, outcome: changed)
    let told = try insertOwn(
      .undelivered(undelivered), of: entry.author, at: position, traits: [.inbound, .replayed])
    tell(.entry(told, author: nil))
    return true
  }

  /// Notes that the server of `peer` has returned a message. Returns `false` if there is no such message to them.
  private mutating func fail(
    _ id: String, from peer: Party, to address: BareJID, _ failure: FederationFailure
  ) throws -> Bool {
    guard isElsewhere(peer), let peer = try user(peer.address, seenFrom: peer.realm)?.party,
      let author = try user(address, seenFrom: peer.realm)?.party, !author.realm.isRemote,
      let dialog = try writer.dialog(between: author.id, and: peer.id)
    else { return false }
    let position =
      try PublicID(id).flatMap { realms.position(of: $0, in: author.realm) }
      ?? writer.find(id, by: author.id, in: dialog.id)?.position
    guard let position, let entry = try writer.entry(position, in: .server(dialog.id, .rules)),
      entry.author.id == author.id
    else { return false }
    return try tellUndelivered(entry, failure)
  }

  // MARK: Pairs

  mutating func ledger() throws -> OutboxLedger {
    if let outbox { return outbox }
    let totals = try writer.outboxTotals()
    var states: [DomainPairState] = []
    for number in Set(totals.map(\.pair)) {
      if let state = try writer.record(DomainPairState.self, .equal(.id, number)) { states.append(state) }
    }
    let loaded = OutboxLedger(states, totals, head: head)
    outbox = loaded
    return loaded
  }

  private mutating func number(of pair: DomainPair) throws -> Int64 {
    if let known = try ledger().pairs[pair]?.number { return known }
    let number = try (writer.state(of: pair) ?? writer.put(DomainPairState(pair))).id
    outbox?.pairs[pair] = OutboxLedger.Waiting(number: number, rows: 0)
    return number
  }

  /// Changes what is known of a pair, if anything is.
  private func change(_ pair: DomainPair, _ change: (inout DomainPairState) -> Void) throws {
    guard var state = try writer.state(of: pair) else { return }
    change(&state)
    try writer.replace(state)
  }

  /// Removes a pair for which nothing waits from memory, and from the store unless a certificate of its domain is remembered.
  private mutating func forget(_ pair: DomainPair) throws {
    guard try (ledger().pairs[pair]?.rows ?? 0) == 0 else { return }
    outbox?.pairs[pair] = nil
    takenThrough[pair] = nil
    try writer.remove(
      DomainPairState.self, .equal(.local, pair.local), .equal(.remote, pair.remote),
      .equal(.verifiedAt, Timestamp?.none))
  }
}

extension Judge {
  /// Counts rows that were removed with their author's data: reading all rows again after each piece would take longer than the piece.
  mutating func forget(_ rows: [Int64: Int], of author: UserID) {
    for pair in outbox?.forget(rows, of: author) ?? [] { takenThrough[pair] = nil }
  }
}

/// The number of rows that wait, in memory: counting them for each message would read them all. It is read from the
/// store when it is first needed, and again after a failed batch. It has the pairs with rows, and those that were just emptied.
struct OutboxLedger {
  struct Waiting {
    let number: Int64
    var rows: Int
    /// The rows up to here have been looked at by `tellQueued`.
    var lookedAt = Position.zero
    /// Behind this no row's author has been told that it waits.
    var toldThrough = Position.zero
  }
  var pairs: [DomainPair: Waiting] = [:]
  var authors: [UserID: Int] = [:]

  /// Returns whether as many rows wait as the bounds allow, or so many times as many.
  func isFull(for author: UserID, _ pair: DomainPair, times: Int = 1) -> Bool {
    pairs[pair]?.rows ?? 0 >= times * Limits.outboxRowsPerPairMax
      || authors[author] ?? 0 >= times * Limits.outboxRowsPerAuthorMax
  }

  /// Counts removed rows of an author, by the number of their pair. Returns the pairs for which nothing waits any more, and forgets
  /// them.
  mutating func forget(_ removed: [Int64: Int], of author: UserID) -> [DomainPair] {
    let left = (authors[author] ?? 0) - removed.values.reduce(0, +)
    authors[author] = left > 0 ? left : nil
    var emptied: [DomainPair] = []
    for (pair, waiting) in pairs {
      guard let count = removed[waiting.number] else { continue }
      pairs[pair]?.rows = max(0, waiting.rows - count)
      if waiting.rows <= count { emptied.append(pair) }
    }
    for pair in emptied { pairs[pair] = nil }
    return emptied
  }

  /// - Parameter head: The end of the log: whom rows that wait already were told of is not known.
  init(_ states: [DomainPairState], _ totals: [OutboxTotal], head: Position) {
    var rows: [Int64: Int] = [:]
    for total in totals {
      rows[total.pair, default: 0] += total.rows
      authors[total.author, default: 0] += total.rows
    }
    for state in states {
      guard let count = rows[state.id] else { continue }
      pairs[state.pair] = Waiting(number: state.id, rows: count, toldThrough: head)
    }
  }
}
