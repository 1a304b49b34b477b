import Basics

extension Parley {
  /// The timer that sends scheduled messages.
  public var scheduleAlarm: DueTimer { DueTimer(registries.schedule) { [self] in await sendDue() } }

  /// Changes the author's drafts and scheduled messages.
  @discardableResult
  public func post(unsent intent: UnsentIntent, by author: Party) async throws(Problem) -> Receipt {
    let receipt = try await post(.unsent(intent), by: author)
    switch intent {
    case .schedule, .reschedule: registries.schedule.wake()
    case .draft, .cancel, .send: break
    }
    return receipt
  }

  /// Sends the messages that are due. Returns how long none is; `nil` if nothing is scheduled.
  public func sendDue() async -> Duration? {
    while true {
      let now = clock.now
      guard case .success(let due) = await due(at: now) else { return Limits.scheduleRetry }
      if due.isEmpty { break }
      var areSent = true
      for scheduled in due {
        do throws(Problem) { try await post(.unsent(.send(scheduled.id)), by: scheduled.author) } catch {
          // The row is unchanged: it is tried again.
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
