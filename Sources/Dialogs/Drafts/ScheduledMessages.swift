import Basics
import Synchronization

/// The users' scheduled messages, and the sending of those that are due.
public struct ScheduledMessages: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// The timer that sends scheduled messages.
  public var timer: DueTimer { DueTimer(parley.registries.schedule) { await beginSending().wait } }

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

  /// Begins to send the messages that are due: those of one author one after another, and those of different authors side
  /// by side, so that nobody waits for the posts that another author has in line. What is begun is not waited for; each
  /// author whose messages are sent wakes the timer, as others may wait for the place.
  ///
  /// - Returns: the tasks that were begun, one for each author, and the time until the next look; `nil` if nothing is
  ///   scheduled. While something is due it is at most `Limits.scheduleRetry`, as a post may fail.
  package func beginSending() async -> (sending: [Task<Void, Never>], wait: Duration?) {
    let now = parley.clock.now
    let due: (authors: [UserID], next: Timestamp?)
    do throws(Problem) {
      due = try await parley.read { reader in
        (
          authors: try reader.dueAuthors(at: now, limit: Limits.dueLookedAtMax),
          next: try reader.nextDue(after: now)
        )
      }
    } catch {
      return ([], Limits.scheduleRetry)
    }
    let sending = parley.registries.dueAuthors.claim(due.authors).map { author in Task { await send(of: author) } }
    let wait = due.next.map { min(Duration.milliseconds($0.milliseconds - now.milliseconds), Limits.scheduleLook) }
    return (sending, due.authors.isEmpty ? wait : min(wait ?? Limits.scheduleRetry, Limits.scheduleRetry))
  }

  /// Sends the due messages of a claimed author. The first that cannot be posted ends it: its row is unchanged, and
  /// it is tried again before those behind it.
  private func send(of author: UserID) async {
    let isSent: Bool
    do throws(Problem) {
      try await sendDue(of: author)
      isSent = true
    } catch {
      isSent = false
    }
    parley.registries.dueAuthors.release(author, isSent: isSent)
    if isSent { parley.registries.schedule.wake() }
  }

  private func sendDue(of author: UserID) async throws(Problem) {
    while true {
      let now = parley.clock.now
      let due = try await parley.read { reader in
        try reader.scheduled(of: author).filter { $0.failure == nil && !(now < $0.due) }.map { ($0.id, $0.author) }
      }
      if due.isEmpty { return }
      for (id, party) in due { try await parley.post(.scheduledMessage(.send(id)), by: party) }
    }
  }
}

/// The authors whose due messages are being sent, so that each author's are sent in their order.
final class DueAuthors: Sendable {
  private struct State {
    var busy: Set<UserID> = []
    /// The authors who were released with a message that could not be posted.
    var failed: Set<UserID> = []
  }
  private let state = Mutex(State())

  /// Claims the authors that are not claimed, the first ones, while fewer than `Limits.scheduledAuthorsAtOnce` are. Those
  /// whose last message could not be posted come behind all others, who would otherwise wait for them for ever.
  ///
  /// - Parameter authors: all that have due messages; may name an author several times.
  /// - Returns: the authors that were claimed, to be released when their messages are sent.
  func claim(_ authors: [UserID]) -> [UserID] {
    state.withLock { state in
      state.failed.formIntersection(authors)
      let failed = state.failed
      let ordered = authors.filter { !failed.contains($0) } + authors.filter { failed.contains($0) }
      return ordered.filter { state.busy.count < Limits.scheduledAuthorsAtOnce && state.busy.insert($0).inserted }
    }
  }

  func release(_ author: UserID, isSent: Bool) {
    state.withLock { state in
      state.busy.remove(author)
      if isSent { state.failed.remove(author) } else { state.failed.insert(author) }
    }
  }
}
