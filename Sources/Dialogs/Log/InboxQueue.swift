/// The posts that wait for the committer, as a value. Theory:
///
/// A batch is judged and committed as a whole, so everybody in it waits for the posts of all others. Therefore an account has a share of
/// each batch, measured in weights (`Intent.weight`). Posts beyond the share wait in a line of the account, followed by its later posts,
/// and each further batch takes a share of the line before it takes newly arrived posts. The lines are served in rotation and get
/// half of a batch together, so that newly arrived posts need not wait for all of them.
///
/// The posts of one account are taken in the order of their arrival. If there are lines, the order between posts of different accounts
/// can change, as in `BeforeSendQueue`: a caller that depends on it must wait for the outcome of the first post. Posts of the server
/// itself overtake the lines, except those about one account, such as its deletion: these count as posts of that account, and are
/// taken after all its earlier posts.
///
/// Items that were taken can be put back before all others of their account (`putBack`): the next piece of one that is done in pieces,
/// which has the weight of a whole batch, so that nothing of its account is taken after it; and items that were not done
/// (`TimeShares`).
///
/// A queue of no more than one share is one batch, in the order of arrival. In a longer queue each post is visited once, when it is
/// taken or joins its line.
struct InboxQueue<Item: Sendable, Account: Hashable & Sendable>: Sendable {
  enum Place {
    /// The item counts for its account's share.
    case shared(Account)
    /// The item is taken in the order of arrival, before waiting lines.
    case passing
  }

  /// The maximum weight of one account's items in a batch. A single item may exceed it.
  private let share: Int
  /// The maximum number of items in a batch.
  private let batchMax: Int
  private var arrived: [Item] = []
  /// The items beyond their account's share.
  private var lines: [Account: FIFO<Item>] = [:]
  /// The accounts of the lines, in the order in which they are served.
  private var turns = FIFO<Account>()
  private var leftCount = 0

  init(share: Int, batchMax: Int) {
    self.share = share
    self.batchMax = batchMax
  }

  var count: Int { arrived.count + leftCount }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ item: Item) { arrived.append(item) }

  /// Puts an item before all others of its account, whose line is served after the other lines.
  mutating func putBack(_ item: Item, place: (Item) -> Place) {
    guard case .shared(let account) = place(item) else { return append(item) }
    if lines[account] == nil { turns.append(account) }
    lines[account, default: FIFO()].prepend(item)
    leftCount += 1
  }

  /// Takes the next batch, which is empty only if the queue is.
  ///
  /// - Parameter weight: returns the weight of an item, which is at least 1.
  mutating func take(weight: (Item) -> Int, place: (Item) -> Place) -> [Item] {
    if lines.isEmpty, arrived.count <= share, arrived.reduce(0, { $0 + weight($1) }) <= share {
      defer { arrived = [] }
      return arrived
    }
    var batch: [Item] = []
    // The weight of each account in the batch.
    var used: [Account: Int] = [:]
    let most = batchMax / 2
    for _ in 0..<lines.count {
      guard batch.count < most, let account = turns.popFirst(), var line = lines.removeValue(forKey: account)
      else { break }
      var sum = 0
      while batch.count < most, let item = line.first, fits(weight(item), beside: sum) {
        sum += weight(item)
        _ = line.popFirst()
        leftCount -= 1
        batch.append(item)
      }
      used[account] = sum
      if line.isEmpty { continue }
      lines[account] = line
      turns.append(account)
    }
    var seen = 0
    while seen < arrived.count, batch.count < batchMax {
      let item = arrived[seen]
      switch place(item) {
      case .passing: batch.append(item)
      case .shared(let account):
        let (added, sum) = (weight(item), used[account] ?? 0)
        let isLeft = lines[account] != nil
        if !isLeft, fits(added, beside: sum) {
          used[account] = sum + added
          batch.append(item)
        } else {
          if !isLeft { turns.append(account) }
          lines[account, default: FIFO()].append(item)
          leftCount += 1
        }
      }
      seen += 1
    }
    arrived.removeFirst(seen)
    return batch
  }

  private func fits(_ added: Int, beside sum: Int) -> Bool { sum == 0 || sum + added <= share }
}
