import Basics

/// The users' scheduled messages, and the sending of those that are due.
public struct ScheduledMessages: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// The timer that sends scheduled messages.
  public var timer: DueTimer { DueTimer(parley.registries.schedule) { await sendDue() } }

  /// Changes the author's scheduled messages.
  @discardableResult
  public func post(_ intent: ScheduledMessageIntent, by author: Party) async throws(Problem) -> Receipt {
    let receipt = try await parley.post(.scheduledMessage(intent), by: author)
    switch intent {
    case .schedule, .reschedule: parley.registries.schedule.wake()
    case .cancel, .send: break
    }
    return receipt
  }

  /// Sends the messages that are due. Returns how long none is; `nil` if nothing is scheduled.
  public func sendDue() async -> Duration? {
    while true {
      let now = parley.clock.now
      guard case .success(let due) = await due(at: now) else { return Limits.scheduleRetry }
      if due.isEmpty { break }
      var areSent = true
      for scheduled in due {
        do throws(Problem) { try await parley.post(.scheduledMessage(.send(scheduled.id)), by: scheduled.author) } catch
        {
          // The row is unchanged: it is tried again.
          areSent = false
        }
      }
      if !areSent { return Limits.scheduleRetry }
    }
    do throws(Problem) {
      guard let next = try await parley.read({ try $0.nextDue() }) else { return nil }
      let wait = Duration.milliseconds(next.milliseconds - parley.clock.now.milliseconds)
      return min(max(wait, .milliseconds(1)), Limits.scheduleLook)
    } catch {
      return Limits.scheduleRetry
    }
  }

  private func due(at time: Timestamp) async -> Result<[ScheduledMessage], Problem> {
    do throws(Problem) {
      return .success(try await parley.read { try $0.dueScheduled(at: time, limit: Limits.dueAtOnce) })
    } catch {
      return .failure(error)
    }
  }
}
