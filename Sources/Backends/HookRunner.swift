import Basics
import Dialogs
public import Logging
import ServerMetrics

/// Delivers events to hooks. Theory:
///
/// A hook follows the log: it reads on from its position, sends the matching events, and moves the position after their
/// delivery. So a crash loses nothing, and repeated events have the same webhook-id; an unavailable hook costs a row
/// and a timer, whatever happens meanwhile, and delays no other. Events of one dialog are sent one after another,
/// others concurrently, and a dialog with many delays no other (`HookBatch`). An event that fails many times is recorded
/// among the hook's failures, so that it does not block all others.
public actor HookRunner {
  private let hooks: Hooks
  private var parley: Parley { hooks.parley }
  private let route: any HookRoute
  private let pause: @Sendable (Duration) async -> Void
  private let logger: Logger
  private var wakeSignals: [Int64: AsyncStream<Void>.Continuation] = [:]
  private var known: UInt64 = 0

  /// Creates a runner. `pause` sleeps, and returns early when its task is cancelled.
  public init(
    _ hooks: Hooks, route: any HookRoute, logger: Logger,
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.hooks = hooks
    self.route = route
    self.logger = logger
    self.pause = pause
  }

  /// Runs until its task is cancelled. It can be called once.
  public func run() async {
    await withDiscardingTaskGroup { group in
      for await _ in parley.registries.hooks.wakeSignal {
        let changes = parley.registries.hooks.changes
        if changes != known, let found = try? await parley.read({ try $0.hooks() }) {
          known = changes
          let ids = Set(found.map(\.id))
          for id in wakeSignals.keys where !ids.contains(id) { wakeSignals.removeValue(forKey: id)?.finish() }
          for id in ids where wakeSignals[id] == nil {
            let (wakes, wakeSignal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            wakeSignals[id] = wakeSignal
            let follower = HookFollower(id, hooks, route, logger: logger, pause: pause) {
              wakeSignal.yield()
            }
            group.addTask { for await _ in wakes { await follower.goOn() } }
          }
        }
        for wakeSignal in wakeSignals.values { wakeSignal.yield() }
      }
      for wakeSignal in wakeSignals.values { wakeSignal.finish() }
      group.cancelAll()
    }
  }
}

/// The follower of one hook.
actor HookFollower {
  private let id: Int64
  private let hooks: Hooks
  private var parley: Parley { hooks.parley }
  private let route: any HookRoute
  private let logger: Logger
  private let pause: @Sendable (Duration) async -> Void
  private let wake: @Sendable () -> Void
  /// The progress up to which all undelivered events are not for this hook.
  private var passed = (position: Position.zero, outboxEvent: Int64(0))
  /// The ids of delivered events of a page behind an undelivered one.
  private var taken: Set<String> = []
  /// The id of the event whose attempts are counted; `nil` if none has failed since the start.
  private var failing: String?
  /// The number of batches.
  private var turn = 0
  private var rest: (until: Timestamp, changes: UInt64, timer: Task<Void, Never>)?
  /// Decides whether the first failure after a success is logged: a hook that fails now and then does not fill the log.
  private var pace = LogPace(interval: BackendLimits.warningInterval, linesOfReasonMax: 1, linesMax: 1)
  /// Whether the present failure was logged; if it is older than the server's start, it was logged before.
  private var isFailureLogged = true

  init(
    _ id: Int64, _ hooks: Hooks, _ route: any HookRoute, logger: Logger,
    pause: @escaping @Sendable (Duration) async -> Void, wake: @escaping @Sendable () -> Void
  ) {
    self.id = id
    self.hooks = hooks
    self.route = route
    self.logger = logger
    self.pause = pause
    self.wake = wake
  }

  deinit { rest?.timer.cancel() }

  /// Delivers events until there are no more, or the hook has to wait.
  func goOn() async {
    while !Task.isCancelled {
      if let rest, parley.clock.now < rest.until, parley.registries.hooks.changes == rest.changes { return }
      rest?.timer.cancel()
      rest = nil
      let changes = parley.registries.hooks.changes
      guard let batch = try? await hooks.batch(of: id, passed: passed, turn: turn) else { return }
      turn &+= 1
      if !batch.due.isEmpty { await sendAgain(batch) }
      if let next = batch.hook.progress.next, parley.clock.now < next { return sleep(until: next, changes) }
      guard await advance(batch) else {
        // Not delivered, or not stored: the next attempt reads the state again.
        guard let hook = try? await parley.read({ [id] in try $0.hook(id) }), hook.progress.state == .active else {
          return
        }
        return sleep(until: hook.progress.next ?? parley.clock.now + BackendLimits.hookRetry, changes)
      }
      if !batch.isMore { return }
    }
  }

  private func sleep(until time: Timestamp, _ changes: UInt64) {
    let wait = Duration.milliseconds(max(0, time.milliseconds - parley.clock.now.milliseconds))
    let timer = Task { [pause, wake] in
      await pause(wait)
      if !Task.isCancelled { wake() }
    }
    rest = (time, changes, timer)
  }

  /// Delivers a batch. Returns `false` if an event was not delivered.
  private func advance(_ batch: HookBatch) async -> Bool {
    let all = (batch.events + batch.lanes.flatMap(\.events)).sorted {
      ($0.position, $0.outboxEvent) < ($1.position, $1.outboxEvent)
    }
    let refusals = await send(all.filter { !taken.contains($0.id) }, batch.hook)
    // A request cancelled by the end of the process is no failure of the hook.
    if Task.isCancelled { return false }
    var progress = batch.hook.progress
    var failure: HookFailure?
    let settled = self.lanes(after: batch)
    var lanes = settled.lanes
    if let first = all.first(where: { !taken.contains($0.id) }) {
      let refusal = refusals[first.id] ?? Hook.Progress.Refusal("It was not sent.")
      let isOfPage = batch.events.contains { $0.id == first.id }
      var place = (position: batch.position, outboxEvent: batch.outboxEvent)
      if let open = batch.events.first(where: { !taken.contains($0.id) }) {
        place = batch.place(before: open, progress)
      }
      let isSame = place.position == progress.position && place.outboxEvent == progress.outboxEvent
      if failing.map({ $0 != first.id }) ?? !isSame { progress.attempts = 0 }
      failing = first.id
      (progress.position, progress.outboxEvent) = place
      if progress.refused(refusal, now: parley.clock.now, jitter: .random(in: 0...1)) {
        parley.metrics.webhookDeliveries.add(.refused)
        failure = HookFailure(
          hook: id, position: first.outboxEvent > 0 ? .zero : first.position, outboxEvent: first.outboxEvent,
          event: first.name, message: first.id, failedAt: parley.clock.now, reason: refusal.reason)
        if first.outboxEvent > 0 {
          progress.outboxEvent = first.outboxEvent
        } else if isOfPage {
          progress.position = first.position
        } else {
          lanes.removeAll { $0.dialog.number == first.lane }
          lanes.append(HookLane(hook: id, dialog: DialogID(first.lane), position: first.position))
        }
      }
      if progress.state == .disabled {
        logger.warning(
          "a webhook is disabled: it took nothing for too long",
          metadata: ["webhook": "\(id)", "reason": "\(refusal.reason)"])
      } else if batch.hook.progress.failures == 0 {
        isFailureLogged = pace.note(refusal.reason, now: .now) != nil
        if isFailureLogged {
          logger.warning(
            "a webhook has not taken an event, which is sent again",
            metadata: ["webhook": "\(id)", "reason": "\(refusal.reason)"])
        }
      }
      taken.formIntersection(batch.events.map(\.id))
      _ = await note(progress, failure, lanes, settled.ended, in: batch.hook.realm)
      return false
    }
    taken = []
    progress.took(upTo: batch.position, outboxEvent: batch.outboxEvent)
    let moved = batch.position.number - batch.hook.progress.position.number
    // Progress without events is stored only now and then.
    if !batch.events.isEmpty || !batch.lanes.isEmpty || batch.hook.progress.failures > 0
      || moved >= BackendLimits.hookNoteEvery
    {
      guard await note(progress, nil, lanes, settled.ended, in: batch.hook.realm) else { return false }
      if batch.hook.progress.failures > 0, isFailureLogged {
        logger.notice("a webhook takes events again", metadata: ["webhook": "\(id)"])
      }
    }
    passed = (batch.position, batch.outboxEvent)
    return true
  }

  /// Returns the dialogs that are behind once what was delivered of a batch is noted, and those that have caught up.
  private func lanes(after batch: HookBatch) -> (lanes: [HookLane], ended: [DialogID]) {
    let isPageDelivered = batch.events.allSatisfy { taken.contains($0.id) }
    var (lanes, ended): ([HookLane], [DialogID]) = ([], [])
    for lane in batch.lanes {
      let open = lane.events.first(where: { !taken.contains($0.id) })
      // A page that is read again would send its events again.
      if open == nil, lane.isEnded, isPageDelivered {
        ended.append(lane.dialog)
      } else {
        lanes.append(HookLane(hook: id, dialog: lane.dialog, position: open?.position.previous ?? lane.position))
      }
    }
    if isPageDelivered { lanes += batch.parted.map { HookLane(hook: id, dialog: $0.key, position: $0.value) } }
    return (lanes, ended)
  }

  private func note(
    _ progress: Hook.Progress, _ failure: HookFailure?, _ lanes: [HookLane], _ ended: [DialogID], in realm: RealmID
  ) async -> Bool {
    do throws(Problem) {
      return try await parley.work(keepingCaches: true) { [id] writer in
        guard try writer.hook(id) != nil else { return true }
        try writer.setProgress(progress, of: id)
        for lane in lanes { try writer.put(lane) }
        for dialog in ended { try writer.remove(HookLane.self, .equal(.hook, id), .equal(.dialog, dialog)) }
        if let failure { try writer.insert(failure, keeping: BackendLimits.hookFailuresMax) }
        let all = try writer.hooks().filter { $0.realm == realm }.map(\.progress.outboxEvent)
        if let least = all.min(), least > 0 { try writer.removeOutboxEvents(in: realm, upTo: least) }
        return true
      }
    } catch {
      return false
    }
  }

  /// Sends events, those of one lane in order, several lanes concurrently. Lanes share rows, of equal length, each in the order of the
  /// events; a row ends with its first failure, so that the first event of all that is not delivered has been tried.
  ///
  /// - Returns: the failures, by id; delivered events are added to `taken`.
  private func send(_ events: [HookEvent], _ hook: Hook) async -> [String: Hook.Progress.Refusal] {
    if events.isEmpty { return [:] }
    var rows: [[HookEvent]] = Array(repeating: [], count: BackendLimits.hookRequestsMax)
    for lane in Dictionary(grouping: events, by: \.lane).values.sorted(by: { $0.count > $1.count }) {
      let shortest = rows.indices.min { rows[$0].count < rows[$1].count } ?? 0
      rows[shortest] += lane
    }
    rows = rows.map { row in row.sorted { ($0.position, $0.outboxEvent) < ($1.position, $1.outboxEvent) } }
    let metrics = parley.metrics
    let results = await withTaskGroup(of: (taken: [String], refused: (String, Hook.Progress.Refusal)?).self) { group in
      for row in rows where !row.isEmpty {
        group.addTask { [self] in
          var taken: [String] = []
          for event in row {
            switch await deliver(event, to: hook) {
            case .taken:
              taken.append(event.id)
              metrics.webhookDeliveries.add(.sent)
            case .refused(let refusal):
              metrics.webhookDeliveries.add(.failed)
              return (taken, (event.id, refusal))
            }
          }
          return (taken, nil)
        }
      }
      var results: [(taken: [String], refused: (String, Hook.Progress.Refusal)?)] = []
      for await result in group { results.append(result) }
      return results
    }
    var refusals: [String: Hook.Progress.Refusal] = [:]
    for result in results {
      taken.formUnion(result.taken)
      if let (id, refusal) = result.refused { refusals[id] = refusal }
    }
    return refusals
  }

  private nonisolated func deliver(_ event: HookEvent, to hook: Hook) async -> HookOutcome {
    let delivery = HookDelivery(event, to: hook, now: hooks.parley.clock.now)
    guard let traces = hooks.parley.traces else { return await route.deliver(delivery) }
    return await traces.sending("webhook \(event.name)", after: event.position) {
      await route.deliver(delivery)
    }
  }

  /// Sends due failures once; one that fails again waits until it is requested again.
  private func sendAgain(_ batch: HookBatch) async {
    for (failure, event) in batch.due {
      var failure = failure
      var isDone = true
      if let event {
        switch await deliver(event, to: batch.hook) {
        case .taken: parley.metrics.webhookDeliveries.add(.sent)
        case .refused(let refusal):
          parley.metrics.webhookDeliveries.add(.failed)
          (failure.reason, failure.failedAt, failure.isDue) = (refusal.reason, parley.clock.now, false)
          isDone = false
        }
      }
      if Task.isCancelled { return }
      _ = try? await parley.work(keepingCaches: true) { [id, failure, isDone] writer in
        if isDone { return try writer.removeHookFailures([failure.id], of: id) }
        try writer.replace(failure)
        return 0
      }
    }
  }
}
