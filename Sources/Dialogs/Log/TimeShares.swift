/// The time of the committer that accounts and networks have used of one batch, and the posts that wait for a later one. Theory:
///
/// The weight of a post is known before it is judged (`InboxQueue`), its time only afterwards: by what its author has stored, a post may
/// take as long as a thousand others. So an account has a share of each batch's time as well, and so has a network, unless all of the
/// batch is from that network. As soon as a post has used it up, further
/// posts of the account or network are not judged in this batch: they go back to the inbox in their order, before all that the account
/// has posted meanwhile, and their stanzas do not count as handled yet (XEP-0198). A single post may exceed the share. So others wait for
/// no more than a share and one post of an account or network.
///
/// Many networks together have a bound, too: behind the post with which the batch has taken its time, whatever is not the server's own
/// goes back. Accounts and networks of which nothing was judged get the next turns, before those of which anything was, however little:
/// a few networks that use up the time together, none of them its share, would otherwise be the first in all batches. So a batch does at
/// least one post, and each account gets its turn in a later batch.
///
/// A batch that fails is judged again in halves. The second half must not overtake posts that the first half has put back, so both
/// halves use the same value, which is reset when a part fails.
///
/// Ordinary posts count for the time of the batch alone (`Limits.sharedTimeLeast`): they cost two comparisons, and no memory.
struct TimeShares {
  private let batch: ArraySlice<Post>
  private var places: InboxPlaces
  /// The time of the batch so far.
  private var total = Duration.zero
  private var used: [InboxAccount: Duration] = [:]
  /// The accounts and networks that have used up their share.
  private var spent: Set<InboxAccount> = []
  /// The accounts of which a post waits because its network has used up its share: they may post from others as well.
  private var held: Set<InboxAccount> = []
  /// Whether all of the batch is from one network; `nil` while it was not asked for.
  private var isOfOneNetwork: Bool?
  /// The posts that were not judged; see `ended`.
  private(set) var left: [Post] = []

  init(of batch: ArraySlice<Post>, _ places: InboxPlaces) {
    self.batch = batch
    self.places = places
  }

  /// Whether the batch has taken its time.
  var isOver: Bool { total >= Limits.batchTime }

  /// Returns whether the account of a post, its network or the batch has used up its time. Then the post waits for a later batch.
  mutating func leaves(_ post: Post) -> Bool {
    if spent.isEmpty, !isOver { return false }
    guard case .shared(let account, in: let network) = post.place(&places) else { return false }
    if !isOver, !spent.contains(account), !held.contains(account) {
      guard let network, spent.contains(network) else { return false }
      held.insert(account)
    }
    left.append(post)
    return true
  }

  /// Returns the posts that are judged. The others wait for a later batch.
  mutating func taking(_ posts: ArraySlice<Post>) -> ArraySlice<Post> {
    if spent.isEmpty, !isOver { return posts }
    var taken: [Post] = []
    for post in posts where !leaves(post) { taken.append(post) }
    return taken[...]
  }

  /// Counts the time that a judged post has taken.
  mutating func count(_ time: Duration, of post: Post) {
    total += time
    guard time >= Limits.sharedTimeLeast, case .shared(let account, in: let network) = post.place(&places)
    else { return }
    if add(time, to: account) >= Limits.batchShareTime { spent.insert(account) }
    if let network, add(time, to: network) >= Limits.batchNetworkTime, !isAlone(network) { spent.insert(network) }
  }

  /// Returns the posts that were not judged, in the order of the batch, and the accounts and networks of those that were: their next turns
  /// are behind those of others. A part of a failed batch may leave posts of one account in another order: first those whose network had
  /// used up its share before, then those for which the batch has no time.
  mutating func ended() -> (left: [Post], served: Set<InboxAccount>) {
    let waiting = Set(left.map { ObjectIdentifier($0) })
    var inOrder: [Post] = []
    var served: Set<InboxAccount> = []
    for post in batch {
      if waiting.contains(ObjectIdentifier(post)) {
        inOrder.append(post)
      } else if case .shared(let account, in: let network) = post.place(&places) {
        served.insert(account)
        if let network { served.insert(network) }
      }
    }
    return (inOrder, served)
  }

  private mutating func add(_ time: Duration, to account: InboxAccount) -> Duration {
    let sum = used[account, default: .zero] + time
    used[account] = sum
    return sum
  }

  /// Returns whether nobody else waits for the batch.
  private mutating func isAlone(_ network: InboxAccount) -> Bool {
    if let isOfOneNetwork { return isOfOneNetwork }
    var isAlone = true
    for post in batch where isAlone { isAlone = post.place(&places).network == network }
    isOfOneNetwork = isAlone
    return isAlone
  }
}
