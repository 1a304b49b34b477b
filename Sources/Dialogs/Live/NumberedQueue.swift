/// A queue whose elements may also leave it from within, by their numbers, as a value. A removal costs a binary search, and the places
/// of those that have left are freed when they are half of all.
package struct NumberedQueue<Element> {
  private var entries: [(number: Int, element: Element?)] = []
  /// The index of the first element.
  private var head = 0
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }
  package var first: Element? { isEmpty ? nil : entries[head].element }

  /// Appends an element.
  ///
  /// - Parameter number: Its number, which is higher than all numbers before it.
  package mutating func append(_ element: Element, as number: Int) {
    entries.append((number, element))
    count += 1
  }

  /// Puts an element before all others.
  ///
  /// - Parameter number: Its number, which is lower than all numbers so far.
  package mutating func prepend(_ element: Element, as number: Int) {
    if head == 0 {
      // Half as many places as there are elements: fewer than would be freed again with the next removal.
      let places = max(1, count / 2)
      entries.insert(contentsOf: repeatElement((number: number, element: nil), count: places), at: 0)
      head = places
    }
    head -= 1
    entries[head] = (number, element)
    count += 1
  }

  package mutating func popFirst() -> Element? { isEmpty ? nil : take(at: head) }

  /// Removes and returns the element with a number; `nil` if it has left already.
  @discardableResult
  package mutating func remove(_ number: Int) -> Element? {
    var (low, high) = (head, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].number == number else { return nil }
    return take(at: low)
  }

  private mutating func take(at index: Int) -> Element? {
    guard let element = entries[index].element else { return nil }
    entries[index].element = nil
    count -= 1
    if count * 2 <= entries.count {
      entries.removeAll { $0.element == nil }
      head = 0
    } else {
      while entries[head].element == nil { head += 1 }
    }
    return element
  }
}

extension NumberedQueue: Sendable where Element: Sendable {}
