// What was sent and is not yet acknowledged (XEP-0198 4), and what was received and is not yet durable.
//
// Theory. Both ends of a managed stream count stanzas from 1 on, on the wire modulo 2^32. `AcknowledgementQueue` is the sending
// end: every stanza sent is numbered and kept as an item (whatever lets the caller send it again) until the peer's `h` reaches
// it. `InboundCounter` is the receiving end: every stanza that arrives is numbered, and the `h` we tell is the highest number up
// to which every stanza has been taken over for good.
//
// Inside, counts are 64 bits wide and never wrap, so that an `h` that lies behind can be told from one that lies ahead.

/// Stanzas sent and not acknowledged. `Item` is what the caller needs to send one again: a position in the log for an entry,
/// bytes for a signal.
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
  /// How many stanzas the peer acknowledged, all told.
  @usableFromInline var acknowledgedTotal: UInt64
  /// Bytes kept by the items.
  @inlinable public var byteCount: Int { heldBytes }
  @usableFromInline var heldBytes = 0
  @usableFromInline let itemsMax: Int
  @usableFromInline let bytesMax: Int

  public init(
    acknowledgedTotal: UInt64 = 0, itemsMax: Int = XMPPLimits.unacknowledgedItemsMax,
    bytesMax: Int = XMPPLimits.unacknowledgedBytesMax
  ) {
    self.acknowledgedTotal = acknowledgedTotal
    self.itemsMax = itemsMax
    self.bytesMax = bytesMax
  }

  /// How many stanzas wait for their acknowledgement.
  @inlinable public var count: Int { slots.count }
  @inlinable public var isEmpty: Bool { slots.count == 0 }
  /// How many stanzas were sent, modulo 2^32.
  @inlinable public var sent: UInt32 { UInt32(truncatingIfNeeded: sentTotal) }
  /// The last `h` of the peer.
  @inlinable public var acknowledged: UInt32 { UInt32(truncatingIfNeeded: acknowledgedTotal) }
  @inlinable var sentTotal: UInt64 { acknowledgedTotal &+ UInt64(slots.count) }

  /// Takes a stanza about to be sent.
  ///
  /// - Parameter byteCount: what keeping the item costs; 0 for a position.
  /// - Returns: false when a bound is reached: the stanza is not taken and must not be sent.
  @inlinable public mutating func append(_ item: Item, byteCount: Int) -> Bool {
    guard slots.count < itemsMax, byteCount <= bytesMax - heldBytes else { return false }
    slots.append(Slot(item: item, byteCount: byteCount))
    heldBytes += byteCount
    return true
  }

  /// What an `h` of the peer means.
  public enum Outcome: Sendable, Equatable {
    /// So many stanzas are done; 0 for an `h` that was told before or lies behind.
    case released(Int)
    /// More than was ever sent (XEP-0198 6).
    case tooHigh(StreamError)
  }

  /// The peer acknowledged. Released items are handed over, oldest first.
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
    // Behind by so many, if so many were ever acknowledged and the count has not gone half way round: an old number.
    if UInt64(acknowledged &- h) <= min(acknowledgedTotal, 1 << 31) { return .released(0) }
    return .tooHigh(.handledCountTooHigh(handled: h, sent: sent))
  }

  /// Calls `body` with every item that waits, oldest first.
  @inlinable public func forEach(_ body: (Item) throws -> Void) rethrows {
    for offset in 0..<slots.count {
      if let slot = slots[offset] { try body(slot.item) }
    }
  }

  /// The items that wait, oldest first, with what keeping them costs.
  public var items: [(item: Item, byteCount: Int)] {
    (0..<slots.count).compactMap { slots[$0].map { ($0.item, $0.byteCount) } }
  }

  /// Gives back memory that an empty queue holds, but for a few places.
  @inlinable public mutating func shrink() { slots.shrink() }
}

/// Stanzas received and how far they are durable.
///
/// Most stanzas are done when they are dispatched (`handled`). A post is done when it is committed: it is begun (`began`), given
/// its number, and finished later; posts finish in the order they began. The durable count is then the number of the last
/// finished post, or of everything when no post is pending: one number and one counter, whatever is in flight. What was
/// dispatched behind a pending post is acknowledged with it or a moment after, never too early.
public struct InboundCounter: Sendable, Equatable {
  /// How many stanzas arrived since stream management was enabled, not wrapped.
  public private(set) var receivedTotal: UInt64
  /// How many posts are begun and not finished.
  public private(set) var pending = 0
  private var floor: UInt64

  public init(handledTotal: UInt64 = 0) {
    receivedTotal = handledTotal
    floor = handledTotal
  }

  /// Everything up to this number is done; not wrapped.
  public var durableTotal: UInt64 { pending == 0 ? receivedTotal : floor }

  /// The `h` to tell.
  public var durable: UInt32 { UInt32(truncatingIfNeeded: durableTotal) }

  /// A stanza arrived and is done.
  public mutating func handled() { receivedTotal &+= 1 }

  /// A stanza arrived that will be done when it is committed.
  ///
  /// - Returns: its number, not wrapped, to be given to `finished`.
  public mutating func began() -> UInt64 {
    if pending == 0 { floor = receivedTotal }
    receivedTotal &+= 1
    pending += 1
    return receivedTotal
  }

  /// A post is committed, or refused for good. Numbers come in the order `began` gave them out; one that lies behind or that
  /// was never given out is ignored.
  public mutating func finished(_ number: UInt64) {
    guard pending > 0, number > floor, number <= receivedTotal else { return }
    pending -= 1
    floor = number
  }
}
