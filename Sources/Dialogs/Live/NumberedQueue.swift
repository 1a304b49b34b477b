/// A queue whose elements may also leave it from within, by their numbers, as a value. A removal costs a binary search, and the places
/// of those that have left are freed when they are half of all.
package struct NumberedQueue<Element> {
  private var entries: [(number: Int, element: Element?)] = []
  private var first = 0
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  /// Appends an element.
  ///
  /// - Parameter number: Its number, which is higher than all numbers before it.
  package mutating func append(_ element: Element, as number: Int) {
    entries.append((number, element))
    count += 1
  }

  package mutating func popFirst() -> Element? {
    while first < entries.count {
      let element = entries[first].element
      entries[first].element = nil
      first += 1
      if let element {
        left()
        return element
      }
    }
    return nil
  }

  /// Removes the element with a number; nothing if it has left already.
  package mutating func remove(_ number: Int) {
    var (low, high) = (first, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].number == number, entries[low].element != nil else { return }
    entries[low].element = nil
    left()
  }

  private mutating func left() {
    count -= 1
    guard count * 2 <= entries.count else { return }
    entries.removeAll { $0.element == nil }
    first = 0
  }
}
