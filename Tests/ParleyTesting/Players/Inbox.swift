import NIOCore
import Synchronization
import XMLStream

/// The items that have arrived at a player, in order. An event loop adds them, the script reads them.
final class Inbox: Sendable {
  private struct Waiter {
    let id: Int
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var unread: [Arrival] = []
    /// The number of items that have ever arrived.
    var count = 0
    var isOver = false
    /// Whether the other side has announced its end.
    var hasEnded = false
    var waiters: [Waiter] = []
    var waiterID = 0
    /// Everything sent in both directions, for the report of a failure.
    var transcript: [String] = []
    /// The part of it that the server sent, including answers to requests.
    var told: [String] = []
  }

  private let state = Mutex(State())
  private let loop: any EventLoop

  init(loop: any EventLoop) { self.loop = loop }

  func add(_ arrival: Arrival) {
    let waiters = state.withLock { state in
      state.unread.append(arrival)
      state.count += 1
      state.transcript.append("< \(arrival)")
      state.told.append("\(arrival)")
      switch arrival {
      case .disconnected: state.isOver = true
      case .end: state.hasEnded = true
      case .xml, .json: break
      }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume(returning: true) }
  }

  func note(answer text: String) {
    state.withLock { state in
      state.transcript.append("> -> \(text)")
      state.told.append(text)
    }
  }

  func note(sent text: String) { state.withLock { $0.transcript.append("> \(text)") } }

  /// A new connection: what came over the old one stays unread, but for the news that it ended.
  func reopen() {
    state.withLock { state in
      state.isOver = false
      state.hasEnded = false
      state.unread.removeAll { arrival in
        switch arrival {
        case .disconnected, .end: true
        // A stream error tells how the last stream ended.
        case .xml(let element): element.namespace == "http://etherx.jabber.org/streams"
        case .json: false
        }
      }
    }
  }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }
  var told: [String] { state.withLock { $0.told } }
  var transcript: [String] { state.withLock { $0.transcript } }
  var unread: [Arrival] { state.withLock { $0.unread } }

  func clear() { state.withLock { $0.unread = [] } }

  /// Takes the first unread that `pick` wants, at or behind `start`; waits for it.
  ///
  /// - Returns: what `pick` returned, and the place behind the one taken; nil after the deadline or the connection's
  ///   end.
  func take<Value>(
    from start: Int = 0, until deadline: NIODeadline = Deadline.fromNow, _ pick: (Arrival) -> Value?
  ) async -> (value: Value, next: Int)? {
    while true {
      let (found, count, isOver): ((Value, Int)?, Int, Bool) = state.withLock { state in
        for index in state.unread.indices.dropFirst(start) {
          if let value = pick(state.unread[index]) {
            state.unread.remove(at: index)
            return ((value, index), state.count, state.isOver)
          }
        }
        return (nil, state.count, state.isOver)
      }
      if let found { return (found.0, found.1) }
      if isOver { return nil }
      guard await grew(beyond: count, until: deadline) else { return nil }
    }
  }

  private func grew(beyond count: Int, until deadline: NIODeadline) async -> Bool {
    let id = state.withLock { state in
      state.waiterID += 1
      return state.waiterID
    }
    let timer = loop.scheduleTask(deadline: deadline) { self.give(up: id) }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.count > count { return true }
        state.waiters.append(Waiter(id: id, continuation: continuation))
        return false
      }
      if isReady { continuation.resume(returning: true) } else if NIODeadline.now() >= deadline { give(up: id) }
    }
  }

  private func give(up id: Int) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    waiter?.continuation.resume(returning: false)
  }
}
