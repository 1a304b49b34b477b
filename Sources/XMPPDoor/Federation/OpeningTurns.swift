/// The turns of links to open a stream, as a value: so many open one at once, and the others wait in their order.
struct OpeningTurns<Link: AnyObject> {
  private let max: Int
  private var opening: [ObjectIdentifier: Link] = [:]
  private var waiting: [Link] = []

  init(max: Int) { self.max = max }

  /// Returns whether a link may open a stream now; otherwise it waits until `end` returns it.
  mutating func request(_ link: Link) -> Bool {
    guard opening.count < max else {
      waiting.append(link)
      return false
    }
    opening[ObjectIdentifier(link)] = link
    return true
  }

  /// Ends the turn of a link, or its waiting for one. Returns the link whose turn it is now.
  mutating func end(_ link: Link) -> Link? {
    guard opening.removeValue(forKey: ObjectIdentifier(link)) != nil else {
      waiting.removeAll { $0 === link }
      return nil
    }
    guard !waiting.isEmpty else { return nil }
    let next = waiting.removeFirst()
    opening[ObjectIdentifier(next)] = next
    return next
  }
}
