// Stanzas that were sent and are not yet acknowledged (XEP-0198 4), and those received that are not yet durable.
//
// Theory. Both ends of a managed stream count stanzas from 1 on, on the wire modulo 2^32. `AcknowledgementQueue` is the
// sending end: every stanza sent is numbered and kept as an item (anything that lets the caller send it again) until
// the peer's `h` reaches it. `InboundCounter` is the receiving end: every stanza that arrives is numbered, and the `h`
// that the server sends is the highest number up to which every stanza has been taken over for good.
//
// Inside, counts are 64 bits wide and never wrap, so that an `h` that lies behind can be told from one that lies ahead.

/// The stanzas sent and not acknowledged. `Item` is what the caller needs to send one again: a position in the log for
/// an entry, bytes for a signal.
public struct AcknowledgementQueue<Item: Sendable>: Sendable {
  @usableFromInline struct Slot: Sendable {
    @usableFromInline let item: Item
    @usableFromInline let byteCount: Int

    @inlinable init(item: Item, byteCount: Int) {
      self.item = item
      self.byteCount = byteCount
    }
  }

  @usableFromInline var slots = Ring<Slot>()
  /// The number of stanzas that the peer has acknowledged in all.
  @usableFromInline var acknowledgedTotal: UInt64
  /// The bytes kept by the items.
  @inlinable public var byteCount: Int { heldBytes }
  @usableFromInline var heldBytes = 0
  @usableFromInline let itemsMax: Int
  @usableFromInline let bytesMax: Int

  public init(
    acknowledgedTotal: UInt64 = 0, itemsMax: Int = XMPPLimits.unacknowledgedItemsMax,
    bytesMax: Int = XMPPLimits.unacknowledgedBytesKept
  ) {
    self.acknowledgedTotal = acknowledgedTotal
    self.itemsMax = itemsMax
    self.bytesMax = bytesMax
  }

  /// The number of stanzas that wait for their acknowledgement.
  @inlinable public var count: Int { slots.count }
  @inlinable public var isEmpty: Bool { slots.count == 0 }
  /// The number of stanzas sent, modulo 2^32.
  @inlinable public var sent: UInt32 { UInt32(truncatingIfNeeded: sentTotal) }
  /// The last `h` of the peer.
  @inlinable public var acknowledged: UInt32 { UInt32(truncatingIfNeeded: acknowledgedTotal) }
  @inlinable var sentTotal: UInt64 { acknowledgedTotal &+ UInt64(slots.count) }

  /// Adds a stanza about to be sent.
  ///
  /// - Parameter byteCount: the memory that the item costs; 0 for a position.
  /// - Returns: `false` at a bound: the stanza is not added and must not be sent.
  @inlinable public mutating func append(_ item: Item, byteCount: Int) -> Bool {
    guard slots.count < itemsMax, byteCount <= bytesMax - heldBytes else { return false }
    slots.append(Slot(item: item, byteCount: byteCount))
    heldBytes += byteCount
    return true
  }

  /// The meaning of an `h` of the peer.
  public enum Outcome: Sendable, Equatable {
    /// This number of stanzas is acknowledged; 0 for an `h` that was sent before or lies behind.
    case released(Int)
    /// More than was ever sent (XEP-0198 6).
    case tooHigh(StreamError)
  }

  /// Acknowledges stanzas. Released items are handed over, oldest first.
  @inlinable public mutating func acknowledge(through h: UInt32, released: (Item) -> Void = { _ in }) -> Outcome {
    let ahead = h &- acknowledged
    if UInt64(ahead) <= UInt64(slots.count) {
      for _ in 0..<ahead {
        guard let slot = slots.popFirst() else { break }
        heldBytes -= slot.byteCount
        acknowledgedTotal &+= 1
        released(slot.item)
      }
      return .released(Int(ahead))
    }
    // Behind by this much, if that many were ever acknowledged and the count has not gone half way round: an old
    // number.
    if UInt64(acknowledged &- h) <= min(acknowledgedTotal, 1 << 31) { return .released(0) }
    return .tooHigh(.handledCountTooHigh(handled: h, sent: sent))
  }

  /// Removes waiting items that cannot be sent again. The items behind them get their numbers, since the peer numbers what
  /// it gets: none of the waiting items may be on its way to the peer.
  mutating func forget(where isGone: (Item) -> Bool) {
    var kept = Ring<Slot>()
    heldBytes = 0
    while let slot = slots.popFirst() {
      if isGone(slot.item) { continue }
      kept.append(slot)
      heldBytes += slot.byteCount
    }
    slots = kept
  }

  /// Calls `body` with every waiting item, oldest first.
  @inlinable public func forEach(_ body: (Item) throws -> Void) rethrows {
    for offset in 0..<slots.count {
      if let slot = slots[offset] { try body(slot.item) }
    }
  }

  /// The waiting items, oldest first, with the memory that they cost.
  public var items: [(item: Item, byteCount: Int)] {
    (0..<slots.count).compactMap { slots[$0].map { ($0.item, $0.byteCount) } }
  }

  /// Frees the memory that an empty queue holds, except for a few places.
  @inlinable public mutating func shrink() { slots.shrink() }
}

/// The stanzas received, and up to which one they are durable.
///
/// Most stanzas are done when they are dispatched (`handled`). A post is done when it is committed: it is begun
/// (`began`), given its number, and finished later; posts finish in the order they began. The durable count is then the
/// number of the last finished post, or of everything if no post is pending: one number and one counter, whatever is in
/// flight. A stanza dispatched behind a pending post is acknowledged with it or a moment after, never too early.
public struct InboundCounter: Sendable, Equatable {
  /// The number of stanzas that arrived since stream management was enabled, not wrapped.
  public private(set) var receivedTotal: UInt64
  /// The number of posts begun and not finished.
  public private(set) var pending = 0
  private var floor: UInt64

  public init(handledTotal: UInt64 = 0) {
    receivedTotal = handledTotal
    floor = handledTotal
  }

  /// The number up to which everything is done; not wrapped.
  public var durableTotal: UInt64 { pending == 0 ? receivedTotal : floor }

  /// The `h` to send.
  public var durable: UInt32 { UInt32(truncatingIfNeeded: durableTotal) }

  /// Counts a stanza that has arrived and is done.
  public mutating func handled() { receivedTotal &+= 1 }

  /// Counts a stanza that has arrived and will be done when it is committed.
  ///
  /// - Returns: its number, not wrapped, for `finished`.
  public mutating func began() -> UInt64 {
    if pending == 0 { floor = receivedTotal }
    receivedTotal &+= 1
    pending += 1
    return receivedTotal
  }

  /// Notes that a post is committed, or refused for good. Numbers come in the order in which `began` issued them; an
  /// older one, or one that was never issued, is ignored.
  public mutating func finished(_ number: UInt64) {
    guard pending > 0, number > floor, number <= receivedTotal else { return }
    pending -= 1
    floor = number
  }
}
