import Basics
import Dialogs

/// An event on its way to one hook.
struct HookEvent: Sendable {
  /// The webhook-id, which is the same for each attempt.
  let id: String
  let name: String
  let body: [UInt8]
  /// The position, by which the two sequences of a hook's progress are merged.
  let position: Position
  /// The id of the outbox event; 0 for an entry.
  let outboxEvent: Int64
  /// The lane, whose events are sent in order: that of a dialog, or of a user.
  let lane: Int64
}

/// The next events of a hook.
struct HookBatch: Sendable {
  let hook: Hook
  /// The failures to send again; the event is `nil` if its subject no longer exists.
  let due: [(failure: HookFailure, event: HookEvent?)]
  /// The events, in order.
  let events: [HookEvent]
  /// The progress at the end of the batch.
  let position: Position
  let outboxEvent: Int64
  let isMore: Bool

  /// Returns the progress of a hook that has received everything before this event.
  func place(before event: HookEvent, _ progress: Hook.Progress) -> (position: Position, outboxEvent: Int64) {
    let before = events.prefix { $0.id != event.id }.last { $0.outboxEvent > 0 }?.outboxEvent ?? progress.outboxEvent
    if event.outboxEvent > 0 { return (max(progress.position, event.position), event.outboxEvent - 1) }
    return (event.position.previous, before)
  }
}

extension Hooks {
  /// Returns the next batch; `nil` if there is no such hook, or it is disabled.
  ///
  /// - Parameter passed: the progress up to which the follower knows that no event is for it.
  func batch(
    of id: Int64, passed: (position: Position, outboxEvent: Int64)
  ) async throws(Problem) -> HookBatch? {
    try await parley.read { reader in
      guard let hook = try reader.hook(id), hook.progress.state == .active else { return nil }
      let due = try reader.dueHookFailures(of: id, limit: BackendLimits.hookPage).map {
        ($0, try event($0, of: hook, reader))
      }
      let after = max(hook.progress.position, passed.position)
      let head = try reader.head().position
      let entries = try reader.log(for: .hooks, after: after, limit: BackendLimits.hookPage)
      let isFull = entries.count == BackendLimits.hookPage
      let end = isFull ? entries.last?.position ?? head : head
      let since = max(hook.progress.outboxEvent, passed.outboxEvent)
      let found = try reader.outboxEvents(in: hook.realm, after: since, limit: BackendLimits.hookPage)
      let outboxEvents = found.filter { !isFull || $0.position <= end }
      var events: [HookEvent] = []
      var next = outboxEvents[...]
      func add(_ outboxEvent: OutboxEvent) throws {
        guard hook.wants(outboxEvent.kind.event), let event = try event(outboxEvent, reader) else {
          return
        }
        events.append(event)
      }
      for entry in entries {
        while let first = next.first, first.position < entry.position { try add(next.removeFirst()) }
        guard let event = try event(entry, in: hook.realm, reader), hook.wants(event.name) else {
          continue
        }
        events.append(event)
      }
      for outboxEvent in next { try add(outboxEvent) }
      return HookBatch(
        hook: hook, due: due, events: events, position: end, outboxEvent: outboxEvents.last?.id ?? since,
        isMore: isFull || found.count == BackendLimits.hookPage)
    }
  }

  private func event(_ entry: Entry, in realm: RealmID, _ reader: any StoreReader) throws -> HookEvent? {
    guard self.realm(of: entry) == realm, entry.whisper == nil,
      let (name, body) = try rendering.event(entry, in: realm, reader)
    else { return nil }
    return HookEvent(
      id: "evt_\(entry.id)", name: name, body: body, position: entry.position, outboxEvent: 0,
      lane: entry.dialog.number)
  }

  private func event(_ outboxEvent: OutboxEvent, _ reader: any StoreReader) throws -> HookEvent? {
    guard let (name, body) = try rendering.event(outboxEvent, reader) else { return nil }
    var bytes = Array("occurrence \(outboxEvent.id) ".utf8)
    bytes += parley.realmTable.realm(outboxEvent.realm)?.key ?? []
    return HookEvent(
      id: "evt_\(PublicID(bytes: Token.hash(bytes)))", name: name, body: body, position: outboxEvent.position,
      outboxEvent: outboxEvent.id, lane: -outboxEvent.user.number)
  }

  private func event(_ failure: HookFailure, of hook: Hook, _ reader: any StoreReader) throws -> HookEvent? {
    if failure.outboxEvent > 0 {
      return try reader.outboxEvent(failure.outboxEvent).flatMap { try event($0, reader) }
    }
    return try reader.entry(at: failure.position, for: .hooks).flatMap {
      try event($0, in: hook.realm, reader)
    }
  }

  /// Returns the realm of an entry; for a remote user's that of the users they communicate with.
  private func realm(of entry: Entry) -> RealmID {
    switch entry.place {
    case .room(let room), .whisper(_, let room, _): room.realm
    case .peer(let peer): entry.author.realm.isRemote ? parley.home(of: peer.realm) : entry.author.realm
    }
  }
}
