/// A first-in first-out queue over a ring: appending and removing at the ends cost a step, and a drained queue keeps
/// its memory until `shrink`. A new queue holds none. Its capacity is a power of two, so that places wrap by masking.
///
/// It is inlinable, as all generic code on the path of a stanza: unspecialised, each call costs ten times as much.
@usableFromInline struct Ring<Element> {
  @usableFromInline var slots: [Element?] = []
  @usableFromInline var head = 0
  @usableFromInline var count = 0

  @inlinable init() {}

  @inlinable var first: Element? { count == 0 ? nil : slots[head] }

  @inlinable mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[(head &+ count) & (slots.count &- 1)] = element
    count += 1
  }

  @inlinable mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head]
    slots[head] = nil
    head = (head &+ 1) & (slots.count &- 1)
    count -= 1
    return element
  }

  /// The element at a place, counted from the oldest; `nil` if there are not as many.
  @inlinable subscript(_ offset: Int) -> Element? {
    offset >= 0 && offset < count ? slots[(head &+ offset) & (slots.count &- 1)] : nil
  }

  /// Frees the memory of an empty queue that has grown beyond `keeping` places.
  @inlinable mutating func shrink(keeping: Int = 16) {
    guard count == 0, slots.count > keeping else { return }
    slots = []
    head = 0
  }

  @usableFromInline mutating func grow() {
    var larger: [Element?] = []
    larger.reserveCapacity(max(8, slots.count * 2))
    for offset in 0..<count { larger.append(slots[(head &+ offset) & (slots.count &- 1)]) }
    larger += Array(repeating: nil, count: max(8, slots.count * 2) - count)
    slots = larger
    head = 0
  }
}

extension Ring: Sendable where Element: Sendable {}
