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
  /// The positions of delivered events behind an undelivered one, by id.
  private var taken: [String: Position] = [:]
  /// The id of the event whose attempts are counted; `nil` if none has failed since the start.
  private var failing: String?
  /// The number of delivered batches. The dialogs that are behind take turns; after a failure it is the turn of the same ones, so that
  /// the attempts for an event follow each other.
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
      if !batch.due.isEmpty { await sendAgain(batch) }
      if let next = batch.hook.progress.next, parley.clock.now < next { return sleep(until: next, changes) }
      guard await advance(batch) else {
        // Not delivered, or not stored: the next attempt reads the state again.
        guard let hook = try? await parley.read({ [id] in try $0.hook(id) }), hook.progress.state == .active else {
          return
        }
        return sleep(until: hook.progress.next ?? parley.clock.now + BackendLimits.hookRetry, changes)
      }
      turn &+= 1
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
    let refusals = await send(all.filter { taken[$0.id] == nil }, batch.hook)
    // A request cancelled by the end of the process is no failure of the hook.
    if Task.isCancelled { return false }
    var progress = batch.hook.progress
    var failure: HookFailure?
    if let first = all.first(where: { taken[$0.id] == nil }) {
      let refusal = refusals[first.id] ?? Hook.Progress.Refusal("It was not sent.")
      var place = (position: batch.position, outboxEvent: batch.outboxEvent)
      if let open = batch.events.first(where: { taken[$0.id] == nil }) {
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
        } else if batch.events.contains(where: { $0.id == first.id }) {
          progress.position = first.position
        }
        // The position of its dialog is that behind it.
        taken[first.id] = first.position
      }
      log(refusal, progress, of: batch)
      if await !note(progress, failure, of: batch), let failure { taken[failure.message] = nil }
      return false
    }
    progress.took(upTo: batch.position, outboxEvent: batch.outboxEvent)
    let moved = batch.position.number - batch.hook.progress.position.number
    // Progress without events is stored only now and then.
    if !batch.events.isEmpty || !batch.lanes.isEmpty || batch.hook.progress.failures > 0
      || moved >= BackendLimits.hookNoteEvery
    {
      guard await note(progress, nil, of: batch) else { return false }
      if batch.hook.progress.failures > 0, isFailureLogged {
        logger.notice("a webhook takes events again", metadata: ["webhook": "\(id)"])
      }
    }
    passed = (batch.position, batch.outboxEvent)
    return true
  }

  /// Logs that an event was not taken, at most as often as the pace allows.
  private func log(_ refusal: Hook.Progress.Refusal, _ progress: Hook.Progress, of batch: HookBatch) {
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
  }

  /// Stores the progress after a batch, and with it the positions of the dialogs that are behind.
  private func note(_ progress: Hook.Progress, _ failure: HookFailure?, of batch: HookBatch) async -> Bool {
    var (behind, ended): ([HookLane], [DialogID]) = ([], [])
    for lane in batch.lanes {
      let open = lane.events.first { taken[$0.id] == nil }
      // Before the page is delivered up to there, the next one would send the dialog's events again.
      if open == nil, lane.isEnded, lane.position <= progress.position {
        ended.append(lane.dialog)
      } else {
        behind.append(HookLane(hook: id, dialog: lane.dialog, position: open?.position.previous ?? lane.position))
      }
    }
    // The next page begins behind the progress: a dialog whose events there may have been left out is behind. Others are read again.
    for (dialog, last) in batch.parted where last <= progress.position {
      behind.append(HookLane(hook: id, dialog: dialog, position: last))
    }
    do throws(Problem) {
      try await parley.work(keepingCaches: true) { [id, behind, ended] writer in
        guard let hook = try writer.hook(id) else { return }
        var noted = progress
        // It may have been disabled meanwhile.
        if hook.progress.state == .disabled { noted.state = .disabled }
        try writer.setProgress(noted, of: id)
        for lane in behind { try writer.put(lane) }
        for dialog in ended { try writer.remove(HookLane.self, .equal(.hook, id), .equal(.dialog, dialog)) }
        if let failure { try writer.insert(failure, keeping: BackendLimits.hookFailuresMax) }
        let all = try writer.hooks().filter { $0.realm == hook.realm }.map(\.progress.outboxEvent)
        if let least = all.min(), least > 0 { try writer.removeOutboxEvents(in: hook.realm, upTo: least) }
      }
      taken = taken.filter { $0.value >= progress.position }
      return true
    } catch {
      return false
    }
  }

  /// Sends events, those of one lane in order, several lanes concurrently. Lanes share rows, of equal length, each in the order of the
  /// events; a row ends with its first failure, so that the first event of all that is not delivered has been tried.
  ///
  /// - Returns: the failures, by id; delivered events are added to `taken`.
  private func send(_ events: [HookEvent], _ hook: Hook) async -> [String: Hook.Progress.Refusal] {
    typealias Sent = (taken: [HookEvent], refused: (String, Hook.Progress.Refusal)?)
    if events.isEmpty { return [:] }
    var rows: [[HookEvent]] = Array(repeating: [], count: BackendLimits.hookRequestsMax)
    for lane in Dictionary(grouping: events, by: \.lane).values.sorted(by: { $0.count > $1.count }) {
      let shortest = rows.indices.min { rows[$0].count < rows[$1].count } ?? 0
      rows[shortest] += lane
    }
    rows = rows.map { row in row.sorted { ($0.position, $0.outboxEvent) < ($1.position, $1.outboxEvent) } }
    let metrics = parley.metrics
    let results = await withTaskGroup(of: Sent.self) { group in
      for row in rows where !row.isEmpty {
        group.addTask { [self] in
          var taken: [HookEvent] = []
          for event in row {
            switch await deliver(event, to: hook) {
            case .taken:
              taken.append(event)
              metrics.webhookDeliveries.add(.sent)
            case .refused(let refusal):
              metrics.webhookDeliveries.add(.failed)
              return (taken, (event.id, refusal))
            }
          }
          return (taken, nil)
        }
      }
      var results: [Sent] = []
      for await result in group { results.append(result) }
      return results
    }
    var refusals: [String: Hook.Progress.Refusal] = [:]
    for result in results {
      for event in result.taken { taken[event.id] = event.position }
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
