/// Writes what hooks are told: the doors know the words, the core does not.
public protocol HookRendering: Sendable {
  /// Every event that there is, but `Occurrence`s.
  var events: [String] { get }
  /// nil: nothing that the backend is told. Reads what the event needs beside the entry.
  func event(_ entry: Entry, in realm: RealmID, _ reader: any StoreReader) throws -> (name: String, body: [UInt8])?
  /// nil: what it is about has gone.
  func event(_ occurrence: Occurrence, _ reader: any StoreReader) throws -> (name: String, body: [UInt8])?
}

extension Occurrence.Kind {
  /// Of the event.
  public var event: String {
    switch self {
    case .userCreated: "user.created"
    case .userDeleted: "user.deleted"
    case .reportCreated: "report.created"
    }
  }
}

/// What asks the backend. Returns when it has answered, or did not in time.
public protocol HookRoute: Sendable {
  func deliver(_ delivery: HookDelivery) async -> HookOutcome
}

/// One request.
public struct HookDelivery: Sendable {
  public let url: String
  /// Else the URL may lead to public addresses only.
  public let isTrusted: Bool
  public let headers: [(name: String, value: String)]
  public let body: [UInt8]
}

public enum HookOutcome: Hashable, Sendable {
  /// The answer was 2xx.
  case taken
  case refused(Hook.Progress.Refusal)
}

/// An event on its way to one hook.
struct HookEvent: Sendable {
  /// The webhook-id: the same each time.
  let id: String
  let name: String
  let body: [UInt8]
  /// Where it stands in the two rows of a hook's progress, which are merged by position.
  let position: Position
  /// 0: an entry.
  let occurrence: Int64
  /// Events of one lane are told in order: those of a dialog, or of a user.
  let lane: Int64
}

/// What one hook is to be told next.
struct HookBatch: Sendable {
  let hook: Hook
  /// What is to be sent again; nil: what it was about has gone.
  let due: [(failure: HookFailure, event: HookEvent?)]
  /// In order.
  let events: [HookEvent]
  /// Where the batch ends.
  let position: Position
  let occurrence: Int64
  let isMore: Bool

  /// Where a hook stands that has taken everything before this event.
  func place(before event: HookEvent, _ progress: Hook.Progress) -> (position: Position, occurrence: Int64) {
    let before = events.prefix { $0.id != event.id }.last { $0.occurrence > 0 }?.occurrence ?? progress.occurrence
    if event.occurrence > 0 { return (max(progress.position, event.position), event.occurrence - 1) }
    return (event.position.previous, before)
  }
}

extension Parley {
  /// nil: there is no such hook, or it is disabled.
  ///
  /// - Parameter passed: how far the follower knows that nothing is for it.
  func hookBatch(
    of id: Int64, passed: (position: Position, occurrence: Int64), _ rendering: any HookRendering
  ) async throws(Problem) -> HookBatch? {
    try await read { [self] reader in
      guard let hook = try reader.hook(id), hook.progress.state == .active else { return nil }
      let due = try reader.dueHookFailures(of: id, limit: Limits.hookPage).map {
        ($0, try hookEvent($0, of: hook, rendering, reader))
      }
      let after = max(hook.progress.position, passed.position)
      let head = try reader.head().position
      let entries = try reader.log(after: after, limit: Limits.hookPage)
      let isFull = entries.count == Limits.hookPage
      let end = isFull ? entries.last?.position ?? head : head
      let since = max(hook.progress.occurrence, passed.occurrence)
      let found = try reader.occurrences(in: hook.realm, after: since, limit: Limits.hookPage)
      let occurrences = found.filter { !isFull || $0.position <= end }
      var events: [HookEvent] = []
      var next = occurrences[...]
      func add(_ occurrence: Occurrence) throws {
        guard hook.wants(occurrence.kind.event), let event = try hookEvent(occurrence, rendering, reader) else {
          return
        }
        events.append(event)
      }
      for entry in entries {
        while let first = next.first, first.position < entry.position { try add(next.removeFirst()) }
        guard let event = try hookEvent(entry, in: hook.realm, rendering, reader), hook.wants(event.name) else {
          continue
        }
        events.append(event)
      }
      for occurrence in next { try add(occurrence) }
      return HookBatch(
        hook: hook, due: due, events: events, position: end, occurrence: occurrences.last?.id ?? since,
        isMore: isFull || found.count == Limits.hookPage)
    }
  }

  private func hookEvent(
    _ entry: Entry, in realm: RealmID, _ rendering: any HookRendering, _ reader: any StoreReader
  ) throws -> HookEvent? {
    guard self.realm(of: entry) == realm, entry.whisper == nil,
      let (name, body) = try rendering.event(entry, in: realm, reader)
    else { return nil }
    return HookEvent(
      id: "evt_\(entry.id)", name: name, body: body, position: entry.position, occurrence: 0,
      lane: entry.dialog.number)
  }

  private func hookEvent(
    _ occurrence: Occurrence, _ rendering: any HookRendering, _ reader: any StoreReader
  ) throws -> HookEvent? {
    guard let (name, body) = try rendering.event(occurrence, reader) else { return nil }
    var bytes = Array("occurrence \(occurrence.id) ".utf8)
    bytes += realmTable.realm(occurrence.realm)?.key ?? []
    return HookEvent(
      id: "evt_\(PublicID(bytes: Token.hash(bytes)))", name: name, body: body, position: occurrence.position,
      occurrence: occurrence.id, lane: -occurrence.user.number)
  }

  private func hookEvent(
    _ failure: HookFailure, of hook: Hook, _ rendering: any HookRendering, _ reader: any StoreReader
  ) throws -> HookEvent? {
    if failure.occurrence > 0 {
      return try reader.occurrence(failure.occurrence).flatMap { try hookEvent($0, rendering, reader) }
    }
    return try reader.entry(at: failure.position).flatMap { try hookEvent($0, in: hook.realm, rendering, reader) }
  }

  /// Whose it is: a remote user's is that of the realm whose users they reach.
  private func realm(of entry: Entry) -> RealmID {
    switch entry.place {
    case .room(let room), .whisper(_, let room, _): room.realm
    case .peer(let peer): entry.author.realm.isRemote ? home(of: peer.realm) : entry.author.realm
    }
  }
}
