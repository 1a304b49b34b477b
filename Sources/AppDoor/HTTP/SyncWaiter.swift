import Basics
import Dialogs
import NIOCore
import Synchronization

/// A session that only waits: it is registered to get the first event, is not announced, and ends.
final class SyncWaiter: LiveSession {
  let id: SessionID
  let party: Party
  let lane: Lane
  var resource: String { "sync-\(id.number)" }

  private let door: AppDoor
  private let loop: any EventLoop

  private enum State {
    case idle
    /// An event came before the wait.
    case woken
    case waiting(CheckedContinuation<Void, Never>)
    case done
  }
  private let state = Mutex(State.idle)
  private let isRevoked = Mutex(false)

  init(party: Party, door: AppDoor) {
    id = door.nextSessionID()
    self.party = party
    self.door = door
    loop = door.loops.next()
    lane = door.lane(loop)
  }

  func receive(_ delivery: Delivery) {
    switch delivery {
    case .entry: wake()
    case .signal(.closed(let reason), _):
      if reason == .revoked || reason == .passwordChanged { isRevoked.withLock { $0 = true } }
      wake()
    case .signal, .outcome, .handedOver, .owed: break
    }
  }

  func batchEnded() {}

  /// Ends the wait, or the one to come.
  func wake() {
    let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
      switch state {
      case .idle:
        state = .woken
        return nil
      case .waiting(let continuation):
        state = .done
        return continuation
      case .woken, .done: return nil
      }
    }
    waiting?.resume()
  }

  /// Returns after an event, or after `seconds`.
  ///
  /// - Throws: `.unauthenticated` if its login was revoked meanwhile.
  func wait(seconds: Int) async throws(Problem) {
    // At the bound of all answers that wait this one is sent early.
    let held = door.parley.options.memory.answers.enter("\(party.address)") { self.wake() }
    held.hold(AppLimits.heldAnswerBytes)
    defer { held.release() }
    let timer = loop.scheduleTask(in: .seconds(Int64(seconds))) { self.wake() }
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        switch state {
        case .idle:
          state = .waiting(continuation)
          return false
        case .woken, .waiting, .done:
          state = .done
          return true
        }
      }
      if isOver { continuation.resume() }
    }
    timer.cancel()
    if isRevoked.withLock({ $0 }) {
      throw Problem(.unauthenticated, "token-invalid", "The login was revoked; log in again.")
    }
  }

  func leave() {
    door.parley.unregister(self, at: door.parley.clock.now)
    door.parley.vacate(party, session: id)
  }
}
