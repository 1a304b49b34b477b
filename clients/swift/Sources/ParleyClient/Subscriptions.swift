/// All that happens, from the moment it was made: an asynchronous sequence that ends when its task is cancelled or the client is closed.
///
/// A reader that asks for the next event has handled the one before. Only then does the place in the log of events move on in the
/// storage, so that after a crash nothing is missed: what had not been handled is told again.
public struct Events: AsyncSequence, Sendable {
  public typealias Element = Event
  let token: Token

  public func makeAsyncIterator() -> Iterator { Iterator(token: token) }

  public struct Iterator: AsyncIteratorProtocol {
    let token: Token
    public mutating func next() async -> Event? { await token.next() }
  }

  /// Ends the subscription when nobody holds it any more.
  final class Token: Sendable {
    let parley: Parley
    let number: Int

    init(_ parley: Parley, _ number: Int) { (self.parley, self.number) = (parley, number) }

    deinit {
      let (parley, number) = (parley, number)
      Task { await parley.unsubscribe(number) }
    }

    func next() async -> Event? {
      await withTaskCancellationHandler {
        await parley.nextEvent(number)
      } onCancel: {
        let (parley, number) = (parley, number)
        Task { await parley.unsubscribe(number) }
      }
    }
  }
}

struct Subscription {
  /// Events that wait, each with the number of the frame that caused it.
  var waiting: [(event: Event, frame: Int)] = []
  var isRead = 0
  var reader: CheckedContinuation<Event?, Never>?
  /// The frame of the event that is being handled.
  var handling: Int?

  /// The first frame whose events have not all been handled.
  var oldest: Int? { handling ?? (isRead < waiting.count ? waiting[isRead].frame : nil) }
}

/// The durable events that have been applied, and not yet handled by all readers. A value without IO.
struct Trail: Equatable, Sendable {
  private(set) var frame = 0
  private var cursors: [(frame: Int, cursor: String)] = []
  /// The last cursor that all readers have passed.
  private(set) var safe: String?

  static func == (one: Self, other: Self) -> Bool {
    one.frame == other.frame && one.safe == other.safe && one.cursors.elementsEqual(other.cursors, by: ==)
  }

  mutating func begin() { frame += 1 }

  /// Notes that the current frame ends at a cursor.
  mutating func end(at cursor: String) {
    cursors.append((frame, cursor))
    if cursors.count > 2 * Limits.eventsWaiting { cursors.removeFirst(Limits.eventsWaiting) }
  }

  /// Forgets what all readers have handled, and returns whether `safe` changed. `oldest`: the first frame that one of them has not.
  mutating func advance(to oldest: Int?) -> Bool {
    let count = oldest.map { oldest in cursors.firstIndex { $0.frame >= oldest } ?? cursors.count } ?? cursors.count
    guard count > 0 else { return false }
    safe = cursors[count - 1].cursor
    cursors.removeFirst(count)
    return true
  }

  mutating func reset(to cursor: String?) {
    cursors = []
    safe = cursor
  }
}

extension Parley {
  /// Begins to listen: events from now on, in their order. Listen before ``connect()`` to see what happened meanwhile. Every call makes a
  /// sequence of its own.
  public func events() -> Events {
    numbers += 1
    subscriptions[numbers] = Subscription()
    return Events(token: .init(self, numbers))
  }

  func nextEvent(_ number: Int) async -> Event? {
    guard !Task.isCancelled, subscriptions[number] != nil else {
      unsubscribe(number)
      return nil
    }
    subscriptions[number]?.handling = nil
    advance()
    if let event = take(number) { return event }
    if isClosed { return nil }
    return await withCheckedContinuation { reader in
      // If several tasks read one sequence, the last one goes on.
      subscriptions[number]?.reader?.resume(returning: nil)
      subscriptions[number]?.reader = reader
    }
  }

  private func take(_ number: Int) -> Event? {
    guard var subscription = subscriptions[number], subscription.isRead < subscription.waiting.count else { return nil }
    let (event, frame) = subscription.waiting[subscription.isRead]
    subscription.handling = frame
    subscription.isRead += 1
    if subscription.isRead == subscription.waiting.count || subscription.isRead > 1000 {
      subscription.waiting.removeFirst(subscription.isRead)
      subscription.isRead = 0
    }
    subscriptions[number] = subscription
    return event
  }

  func unsubscribe(_ number: Int) {
    subscriptions.removeValue(forKey: number)?.reader?.resume(returning: nil)
    advance()
  }

  func emit(_ event: Event) {
    // The keys alone: what is iterated is not copied with each change.
    for number in Array(subscriptions.keys) {
      subscriptions[number]!.waiting.append((event, trail.frame))
      if subscriptions[number]!.waiting.count - subscriptions[number]!.isRead > Limits.eventsWaiting {
        subscriptions[number]!.waiting = [(.resync(reason: "reader-behind"), trail.frame)]
        subscriptions[number]!.isRead = 0
      }
      if let reader = subscriptions[number]!.reader {
        subscriptions[number]!.reader = nil
        reader.resume(returning: take(number))
      }
    }
  }

  func failed(_ error: any Error) { if !isClosed { emit(.error(.of(error))) } }

  func endEvents() {
    for number in Array(subscriptions.keys) where subscriptions[number]!.waiting.isEmpty {
      let reader = subscriptions[number]!.reader
      subscriptions[number]!.reader = nil
      reader?.resume(returning: nil)
    }
  }

  /// Stores the place in the log that all readers have passed, a moment later and several at once.
  func advance() {
    guard trail.advance(to: subscriptions.values.compactMap(\.oldest).min()), storingCursor == nil else { return }
    storingCursor = Task {
      try? await Task.sleep(for: Limits.cursorStoredAfter)
      storingCursor = nil
      await storeCursor()
    }
  }

  func storeCursor() async {
    guard !isClosed, session != nil, let cursor = trail.safe else { return }
    do { try await write([StorageChange("state", "cursor", JSON.encode(cursor))]) } catch { return failed(error) }
    guard state == .online, acked?.cursor != cursor, acked.map({ $0.at.duration(to: .now) > Limits.ackEvery }) ?? true
    else { return }
    acked = (cursor, .now)
    _ = try? await command("ack", ["cursor": .string(cursor)])
  }
}
