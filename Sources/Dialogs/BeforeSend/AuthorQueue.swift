/// The waiting posts of one author, in order. Theory:
///
/// Answers come in any order, but posts leave in theirs: the first leaves when it has its answer, and the later ones
/// wait for it, whether they need an answer or not. So the outcomes of a session come in the order of its posts, as
/// required by XEP-0198's counters and the readers of the author's messages; and since questions are asked
/// concurrently, together they wait no longer than one.
struct AuthorQueue<Item> {
  private var items: [(number: UInt64, item: Item?)] = []
  /// The index of the first post that has not left.
  private var first = 0

  var isEmpty: Bool { first == items.count }

  /// Appends a post that needs no answer.
  mutating func add(_ item: Item) { items.append((0, item)) }

  /// Appends a post that waits for the answer with this number, which is above 0 and unique.
  mutating func wait(_ number: UInt64) { items.append((number, nil)) }

  mutating func answer(_ number: UInt64, with item: Item) {
    guard let index = items[first...].firstIndex(where: { $0.number == number }) else { return }
    items[index].item = item
  }

  /// The first post, if it may leave.
  var next: Item? { isEmpty ? nil : items[first].item }

  /// Removes the first post, which has left.
  mutating func removeNext() {
    items[first].item = nil
    first += 1
    // The places of those that have left are freed when they are half of all.
    guard first * 2 >= items.count else { return }
    items.removeFirst(first)
    first = 0
  }
}
