/// The posts of one author that wait, in the order they came. Theory:
///
/// Answers come in any order, posts leave in theirs: the first leaves when it has its answer, and whatever came behind it waits,
/// whether it needed an answer or not. So the outcomes of a session come in the order of its posts, which XEP-0198's counts and the
/// author's readers rest on; and since questions are asked at the same time, all of them wait no longer than one.
struct AuthorQueue<Item> {
  private var items: [(number: UInt64, item: Item?)] = []

  var isEmpty: Bool { items.isEmpty }

  /// Needs no answer.
  mutating func add(_ item: Item) { items.append((0, item)) }

  /// Waits for the answer of this number, which is above 0 and no other's.
  mutating func wait(_ number: UInt64) { items.append((number, nil)) }

  mutating func answer(_ number: UInt64, with item: Item) {
    guard let index = items.firstIndex(where: { $0.number == number }) else { return }
    items[index].item = item
  }

  /// The first, if it may leave.
  var next: Item? { items.first?.item }

  /// The first has left.
  mutating func removeNext() { items.removeFirst() }
}
