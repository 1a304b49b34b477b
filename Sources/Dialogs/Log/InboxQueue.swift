/// The posts that wait for the committer, as a value. Theory:
///
/// A batch is judged and committed as a whole, so everybody in it waits for the posts of all others. Therefore an account has a share of
/// each batch, measured in weights (`Intent.weight`). The posts beyond the share stay behind in a line of the account's own, followed by
/// all that the account posts meanwhile, and each further batch takes a share of the line before it takes what has arrived. The
/// lines take turns and have half of a batch together, so that those who arrive do not wait for all of them.
///
/// The posts of one account are taken in the order of their arrival. Posts of different accounts may change places where a line is left,
/// as they do before a backend that checks messages (`BeforeSendQueue`): whoever relies on an order between accounts must wait for the
/// outcome of the first post. Posts of the server itself pass the lines, except for those about one account, such as its deletion: these
/// are posts of that account here, and find all that it has posted before.
///
/// Items that were taken can be put back before all others of their account (`putBack`): what is left of one that was done in part, which
/// has the weight of a whole batch, so that nothing of its account is taken behind it; and all items of an account that were not done
/// (`TimeShares`).
///
/// A queue that is no more than one share is one batch, in the order of arrival. In a longer one each post is looked at once, when it is
/// taken or joins its line.
struct InboxQueue<Item: Sendable, Account: Hashable & Sendable>: Sendable {
  enum Place {
    /// The item has a part of its account's share.
    case shared(Account)
    /// The item is taken when its turn by arrival comes, whatever was left behind.
    case passing
  }

  /// The weight of one account's items in a batch. A single item may have more.
  private let share: Int
  /// The number of items in a batch.
  private let batchMax: Int
  private var arrived: [Item] = []
  /// The items that were left behind.
  private var lines: [Account: FIFO<Item>] = [:]
  /// The accounts of the lines, in the order of their turns.
  private var turns = FIFO<Account>()
  private var leftCount = 0

  init(share: Int, batchMax: Int) {
    self.share = share
    self.batchMax = batchMax
  }

  var count: Int { arrived.count + leftCount }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ item: Item) { arrived.append(item) }

  /// Puts an item before all others of its account, which get their turn behind those of the other lines.
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
