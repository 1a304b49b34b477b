extension Parley {
  /// Sends scheduled messages at their time.
  public var scheduleAlarm: DueTimer { DueTimer(registries.schedule) { [self] in await sendDue() } }

  /// Changes what the author has written and not sent.
  @discardableResult
  public func post(unsent intent: UnsentIntent, by author: Party) async throws(Problem) -> Receipt {
    let receipt = try await post(.unsent(intent), by: author)
    switch intent {
    case .schedule, .reschedule: registries.schedule.wake()
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
