/// The posts that wait for the committer, as a value. Theory:
///
/// A batch is judged and committed as a whole, so everybody in it waits for the posts of all others. Therefore an account has a share of
/// each batch, measured in weights (`Intent.weight`). The posts beyond the share stay behind in a line of the account's own, followed by
/// all that the account posts meanwhile, and each further batch takes a share of the line before it takes what has arrived. The
/// lines have half of a batch together, so that those who arrive do not wait for all of them.
///
/// One person has many accounts for nothing, but not many networks. Therefore the *networks* that posts come from take turns, each with a
/// share of its own, and its accounts take turns in that, with equal parts of it. An account without a network, such as a domain
/// elsewhere, is one of its own. A network that has the queue for itself may fill the batch; each of its accounts still has one share.
///
/// The posts of one account are taken in the order of their arrival, whatever networks they come from: its line is in the network of the
/// first post. Posts of different accounts may change places where a line is left, as they do before a backend that checks messages
/// (`BeforeSendQueue`): whoever relies on an order between accounts must wait for the outcome of the first post. Posts of the server
/// itself pass the lines, except for those about one account, such as its deletion: these are posts of that account here, and find all
/// that it has posted before.
///
/// Items that were taken can be put back before all others of their account (`putBack`): what is left of one that was done in part, which
/// has the weight of a whole batch, so that nothing of its account is taken behind it; and all items that were not done for want of time
/// (`TimeShares`). Of the latter, accounts and networks of which nothing was done are the first to get the next turns: otherwise those
/// whose turns come late in each batch would never be served.
///
/// A queue that is no more than one share is one batch, in the order of arrival. In a longer one each post is looked at once, when it is
/// taken or joins its line, and once more where a network may have the queue for itself.
struct InboxQueue<Item: Sendable, Account: Hashable & Sendable>: Sendable {
  enum Place {
    /// The item has a part of its account's share, and of that of the network: an account that stands for it, or `nil` if the item's
    /// account is a network of its own.
    case shared(Account, in: Account?)
    /// The item is taken when its turn by arrival comes, whatever was left behind.
    case passing

    /// The network whose accounts share a part of the batch; `nil` if the item has none.
    var network: Account? {
      switch self {
      case .shared(_, in: let network): network
      case .passing: nil
      }
    }
  }

  /// An item that was left behind.
  private struct Waiting {
    let item: Item
    let network: Account
  }

  private struct Batch {
    var items: [Item] = []
    /// The weight of each account in the batch.
    var used: [Account: Int] = [:]
    /// The weight of each network, except for accounts that are networks of their own and whose items were not left behind.
    var usedByNetwork: [Account: Int] = [:]
  }

  /// The maximum weight of one account's items in a batch. A single item may exceed it.
  private let share: Int
  /// The same of one network.
  private let networkShare: Int
  /// The number of items in a batch.
  private let batchMax: Int
  private var arrived: [Item] = []
  /// The items that were left behind.
  private var lines: [Account: FIFO<Waiting>] = [:]
  /// The accounts of the lines, by the networks of their first items: each account is in one of them, and none is empty.
  private var networks: [Account: TurnOrder<Account>] = [:]
  /// All of these networks.
  private var turns = TurnOrder<Account>()
  private var leftCount = 0

  init(share: Int, networkShare: Int, batchMax: Int) {
    self.share = share
    self.networkShare = networkShare
    self.batchMax = batchMax
  }

  var count: Int { arrived.count + leftCount }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ item: Item) { arrived.append(item) }

  /// Puts items, in their order, before all others of their accounts.
  ///
  /// - Parameter hasHadTurn: Returns whether an account, or what stands for a network, has had its turn: then its next one is behind
  ///   those of the others, and otherwise before them.
  mutating func putBack(
    _ items: [Item], place: (Item) -> Place, hasHadTurn: (Account) -> Bool = { _ in true }
  ) {
    let places = items.map(place)
    for index in items.indices.reversed() {
      guard case .shared(let account, in: let name) = places[index] else { continue }
      let network = name ?? account
      let before = lines[account]?.first?.network
      lines[account, default: FIFO()].prepend(Waiting(item: items[index], network: network))
      leftCount += 1
      if let before, before != network { remove(account, from: before) }
    }
    for (item, place) in zip(items, places) {
      switch place {
      case .passing: append(item)
      case .shared(let account, in: let name): put(account, in: name ?? account)
      }
    }
    for place in places.reversed() {
      guard case .shared(let account, in: _) = place, let network = lines[account]?.first?.network else { continue }
      if !hasHadTurn(account) { networks[network]?.putFirst(account) }
      if !hasHadTurn(network) { turns.putFirst(network) }
    }
  }

  /// Takes the next batch, which is empty only if the queue is.
  ///
  /// - Parameters:
  ///   - most: The number of items, at least two, if it is less than `batchMax` and the queue is more than one share.
  ///   - weight: Returns the weight of an item, which is at least 1.
  mutating func take(upTo most: Int = .max, weight: (Item) -> Int, place: (Item) -> Place) -> [Item] {
    if lines.isEmpty, arrived.count <= share, arrived.reduce(0, { $0 + weight($1) }) <= share {
      defer { arrived = [] }
      return arrived
    }
    let most = min(most, batchMax)
    var batch = Batch()
    takeLines(upTo: most / 2, networkShare, into: &batch, weight)
    var seen = 0
    while seen < arrived.count, batch.items.count < most {
      let item = arrived[seen]
      switch place(item) {
      case .passing: batch.items.append(item)
      case .shared(let account, in: let network):
        if lines[account] != nil || !takes(item, of: account, in: network, into: &batch, weight) {
          put(account, in: network ?? account)
          lines[account, default: FIFO()].append(Waiting(item: item, network: network ?? account))
          leftCount += 1
        }
      }
      seen += 1
    }
    arrived.removeFirst(seen)
    if turns.count == 1, let network = turns.first, batch.items.count < most,
      batch.items.allSatisfy({ place($0).network == network })
    {
      takeLines(upTo: most, .max, into: &batch, weight)
    }
    return batch.items
  }

  /// Takes an item that has arrived, if its account and network have so much left of their shares.
  private func takes(
    _ item: Item, of account: Account, in network: Account?, into batch: inout Batch, _ weight: (Item) -> Int
  ) -> Bool {
    let added = weight(item)
    let sum = batch.used[account] ?? 0
    guard Self.fits(added, beside: sum, share) else { return false }
    if let network {
      let ofNetwork = batch.usedByNetwork[network] ?? 0
      guard Self.fits(added, beside: ofNetwork, networkShare) else { return false }
      batch.usedByNetwork[network] = ofNetwork + added
    }
    batch.used[account] = sum + added
    batch.items.append(item)
    return true
  }

  /// Takes items that were left behind, in the turns of their networks, while the batch has fewer than so many.
  private mutating func takeLines(
    upTo most: Int, _ networkShare: Int, into batch: inout Batch, _ weight: (Item) -> Int
  ) {
    for _ in 0..<turns.count {
      guard batch.items.count < most, let network = turns.popFirst(), var order = networks.removeValue(forKey: network)
      else { break }
      // The accounts of a network have equal parts of its share, so that none of them waits for whole shares of all others.
      let part = min(share, max(1, networkShare / order.count))
      var ofNetwork = batch.usedByNetwork[network] ?? 0
      for _ in 0..<order.count {
        guard batch.items.count < most, let account = order.popFirst(), var line = lines.removeValue(forKey: account)
        else { break }
        var sum = batch.used[account] ?? 0
        let before = leftCount
        var isUsedUp = false
        while batch.items.count < most, let next = line.first, next.network == network {
          let added = weight(next.item)
          isUsedUp = !Self.fits(added, beside: ofNetwork, networkShare)
          guard !isUsedUp, Self.fits(added, beside: sum, part) else { break }
          sum += added
          ofNetwork += added
          _ = line.popFirst()
          leftCount -= 1
          batch.items.append(next.item)
        }
        batch.used[account] = sum
        if let next = line.first {
          lines[account] = line
          if next.network != network {
            put(account, in: next.network)
          } else if isUsedUp, leftCount == before {
            order.putFirst(account)
          } else {
            order.append(account)
          }
        }
        if isUsedUp { break }
      }
      batch.usedByNetwork[network] = ofNetwork
      if order.isEmpty { continue }
      networks[network] = order
      turns.append(network)
    }
  }

  private static func fits(_ added: Int, beside sum: Int, _ share: Int) -> Bool { sum == 0 || sum + added <= share }

  /// Gives an account its turns in a network, unless it has them there. A line that was begun in another network stays there.
  private mutating func put(_ account: Account, in network: Account) {
    let network = lines[account]?.first?.network ?? network
    networks[network, default: TurnOrder()].append(account)
    turns.append(network)
  }

  private mutating func remove(_ account: Account, from network: Account) {
    networks[network]?.remove(account)
    guard networks[network]?.isEmpty == true else { return }
    networks[network] = nil
    turns.remove(network)
  }
}

/// Names in the order of their turns, each of them once, as a value.
struct TurnOrder<Name: Hashable & Sendable>: Sendable {
  private var names = NumberedQueue<Name>()
  private var numbers: [Name: Int] = [:]
  /// The lowest and the highest number so far.
  private var (lowest, highest) = (0, 0)

  var count: Int { numbers.count }
  var isEmpty: Bool { numbers.isEmpty }
  var first: Name? { names.first }

  /// Gives a name the last turn, unless it waits for one already.
  mutating func append(_ name: Name) {
    guard numbers[name] == nil else { return }
    highest += 1
    numbers[name] = highest
    names.append(name, as: highest)
  }

  /// Gives a name the first turn.
  mutating func putFirst(_ name: Name) {
    if names.first == name { return }
    remove(name)
    lowest -= 1
    numbers[name] = lowest
    names.prepend(name, as: lowest)
  }

  mutating func popFirst() -> Name? {
    guard let name = names.popFirst() else { return nil }
    numbers[name] = nil
    return name
  }

  mutating func remove(_ name: Name) {
    if let number = numbers.removeValue(forKey: name) { names.remove(number) }
  }
}
