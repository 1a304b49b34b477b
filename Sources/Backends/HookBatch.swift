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

/// The next events of a hook. Theory:
///
/// Events are read in the order of the log, and a page has few of each dialog. The further ones of a dialog are left out, which
/// gets a position of its own (`HookLane`); from then on it is read from there, few events at a time, and pages leave its entries
/// out. A dialog that has caught up with the page is read with the others again. So a dialog with any number of events delays no
/// other by more than a page.
struct HookBatch: Sendable {
  /// The events of a dialog that is behind.
  struct Lane: Sendable {
    let dialog: DialogID
    let events: [HookEvent]
    /// The position of the dialog when they are delivered.
    let position: Position
    /// Whether the dialog has caught up with the page then.
    let isEnded: Bool
  }

  let hook: Hook
  /// The failures to send again; the event is `nil` if its subject no longer exists.
  let due: [(failure: HookFailure, event: HookEvent?)]
  /// The events of the page, in order.
  let events: [HookEvent]
  /// The progress at the end of the page.
  let position: Position
  let outboxEvent: Int64
  /// The dialogs that the page leaves behind, with the positions of their last events in it.
  let parted: [DialogID: Position]
  /// The dialogs that are behind already.
  let lanes: [Lane]
  let isMore: Bool

  /// Returns the progress of a hook that has received everything before this event.
  func place(before event: HookEvent, _ progress: Hook.Progress) -> (position: Position, outboxEvent: Int64) {
    let before = events.prefix { $0.id != event.id }.last { $0.outboxEvent > 0 }?.outboxEvent ?? progress.outboxEvent
    if event.outboxEvent > 0 { return (max(progress.position, event.position), event.outboxEvent - 1) }
    return (event.position.previous, before)
  }
}

/// The page of a hook while it is read.
private struct HookPage {
  var events: [HookEvent] = []
  var position: Position
  var outboxEvent: Int64
  var parted: [DialogID: Position] = [:]
  /// Whether there is more behind it.
  var isMore = false
}

extension Hooks {
  /// Returns the next batch; `nil` if there is no such hook, or it is disabled.
  ///
  /// - Parameters:
  ///   - passed: the progress up to which the follower knows that no event is for it.
  ///   - turn: the number of the batch: the dialogs that are behind take turns.
  func batch(
    of id: Int64, passed: (position: Position, outboxEvent: Int64), turn: Int
  ) async throws(Problem) -> HookBatch? {
    try await parley.read { reader in
      guard let hook = try reader.hook(id), hook.progress.state == .active else { return nil }
      let due = try reader.dueHookFailures(of: id, limit: BackendLimits.hookPage).map {
        ($0, try event($0, of: hook, reader))
      }
      let behind = try reader.hookLanes(of: id)
      let page = try self.page(of: hook, without: behind, passed, reader)
      let lanes = try self.lanes(behind, of: hook, upTo: page.position, turn: turn, reader)
      return HookBatch(
        hook: hook, due: due, events: page.events, position: page.position, outboxEvent: page.outboxEvent,
        parted: page.parted, lanes: lanes,
        isMore: page.isMore || lanes.count < behind.count || lanes.contains { !$0.isEnded })
    }
  }

  /// Reads the page behind the hook's progress, without the entries of dialogs that are behind it.
  private func page(
    of hook: Hook, without behind: [HookLane], _ passed: (position: Position, outboxEvent: Int64),
    _ reader: any StoreReader
  ) throws -> HookPage {
    var page = HookPage(
      position: max(hook.progress.position, passed.position),
      outboxEvent: max(hook.progress.outboxEvent, passed.outboxEvent))
    let left = Set(behind.map(\.dialog))
    let found = try reader.outboxEvents(in: hook.realm, after: page.outboxEvent, limit: BackendLimits.hookPage)
    // Behind the last one there may be more.
    let end: Position = found.count == BackendLimits.hookPage ? found.last?.position ?? .end : .end
    var next = found[...]
    func add(_ outboxEvent: OutboxEvent) throws {
      page.outboxEvent = outboxEvent.id
      guard hook.wants(outboxEvent.kind.event), let event = try event(outboxEvent, reader) else { return }
      page.events.append(event)
    }
    var counts: [DialogID: (count: Int, last: Position)] = [:]
    var scanned = 0
    scan: while true {
      let entries = try reader.log(for: .hooks, after: page.position, limit: BackendLimits.hookPage)
      for entry in entries {
        if page.events.count >= BackendLimits.hookPage || entry.position > end {
          if page.events.count < BackendLimits.hookPage { page.position = max(page.position, end) }
          page.isMore = true
          break scan
        }
        while let first = next.first, first.position < entry.position { try add(next.removeFirst()) }
        if !left.contains(entry.dialog), page.parted[entry.dialog] == nil,
          let event = try event(entry, in: hook.realm, reader), hook.wants(event.name)
        {
          let count = counts[entry.dialog] ?? (count: 0, last: Position.zero)
          if count.count < BackendLimits.hookDialogPage {
            counts[entry.dialog] = (count: count.count + 1, last: entry.position)
            page.events.append(event)
          } else {
            page.isMore = true
            guard left.count + page.parted.count < BackendLimits.hookLanesMax else { break scan }
            page.parted[entry.dialog] = count.last
          }
        }
        page.position = entry.position
      }
      if entries.count < BackendLimits.hookPage {
        page.position = max(page.position, try reader.head().position)
        break
      }
      scanned += entries.count
      if scanned >= BackendLimits.hookScanMax {
        page.isMore = true
        break
      }
    }
    while let first = next.first, first.position <= page.position { try add(next.removeFirst()) }
    if found.count == BackendLimits.hookPage { page.isMore = true }
    return page
  }

  /// Reads the next events of dialogs that are behind, up to the end of the page.
  private func lanes(
    _ behind: [HookLane], of hook: Hook, upTo end: Position, turn: Int, _ reader: any StoreReader
  ) throws -> [HookBatch.Lane] {
    var lanes: [HookBatch.Lane] = []
    var (eventsLeft, entriesLeft) = (BackendLimits.hookPage, BackendLimits.hookScanMax)
    for index in behind.indices where eventsLeft > 0 && entriesLeft > 0 {
      let lane = behind[(index + turn) % behind.count]
      var (events, position, hasCaughtUp): ([HookEvent], Position, Bool) = ([], lane.position, false)
      scan: while entriesLeft > 0 {
        let entries = try reader.log(for: .hooks, after: position, limit: BackendLimits.hookPage)
        entriesLeft -= entries.count
        for entry in entries {
          if entry.position > end {
            hasCaughtUp = true
            break scan
          }
          if entry.dialog == lane.dialog, let event = try event(entry, in: hook.realm, reader), hook.wants(event.name) {
            if events.count == BackendLimits.hookDialogPage { break scan }
            events.append(event)
          }
          position = entry.position
        }
        if entries.count < BackendLimits.hookPage {
          hasCaughtUp = true
          break
        }
      }
      if hasCaughtUp { position = max(position, end) }
      eventsLeft -= events.count
      lanes.append(
        HookBatch.Lane(
          dialog: lane.dialog, events: events, position: position, isEnded: hasCaughtUp && position <= end))
    }
    return lanes
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
