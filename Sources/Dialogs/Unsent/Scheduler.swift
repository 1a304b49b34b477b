import Synchronization

/// Sends messages at their time. Theory:
///
/// It sleeps until the next one is due, or until the bell says that there may be an earlier one, and then posts that each
/// that is due be sent. What stands in the store is sent after a restart; that a message is posted for twice costs nothing,
/// since the second finds no row.
public actor Scheduler {
  private let parley: Parley
  private let pause: @Sendable (Duration) async -> Void
  private var timer: Task<Void, Never>?

  /// `pause` sleeps, and returns early when its task is cancelled.
  public init(
    parley: Parley, pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.parley = parley
    self.pause = pause
  }

  /// Runs until its task is cancelled. Once.
  public func run() async {
    parley.schedule.ring()
    for await _ in parley.schedule.bell {
      timer?.cancel()
      guard let wait = await parley.sendDue() else { continue }
      timer = Task { [pause, parley] in
        await pause(wait)
        if !Task.isCancelled { parley.schedule.ring() }
      }
    }
    timer?.cancel()
  }
}

/// Wakes the `Scheduler`; for one listener.
final class ScheduleBell: Sendable {
  private let rings: AsyncStream<Void>.Continuation
  let bell: AsyncStream<Void>

  init() { (bell, rings) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func ring() { rings.yield() }
}

extension Parley {
  /// Changes what the author has written and not sent.
  @discardableResult
  public func post(unsent intent: UnsentIntent, by author: Party) async throws(Problem) -> Receipt {
    let receipt = try await post(.unsent(intent), by: author)
    switch intent {
    case .schedule, .reschedule: schedule.ring()
    case .draft, .cancel, .send: break
    }
    return receipt
  }

  /// Sends what is due now. Returns how long nothing more is; nil: nothing is scheduled.
  public func sendDue() async -> Duration? {
    while true {
      let now = clock.now
      guard case .success(let due) = await due(at: now) else { return Limits.scheduleRetry }
      if due.isEmpty { break }
      var areSent = true
      for scheduled in due {
        do throws(Problem) { try await post(.unsent(.send(scheduled.id)), by: scheduled.author) } catch {
          // The row stands: it is tried again.
          areSent = false
        }
      }
      if !areSent { return Limits.scheduleRetry }
    }
    do throws(Problem) {
      guard let next = try await read({ try $0.nextDue() }) else { return nil }
      let wait = Duration.milliseconds(next.milliseconds - clock.now.milliseconds)
      return min(max(wait, .milliseconds(1)), Limits.scheduleLook)
    } catch {
      return Limits.scheduleRetry
    }
  }

  private func due(at time: Timestamp) async -> Result<[ScheduledMessage], Problem> {
    do throws(Problem) {
      return .success(try await read { try $0.dueScheduled(at: time, limit: Limits.dueAtOnce) })
    } catch {
      return .failure(error)
    }
  }
}
