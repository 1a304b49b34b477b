/// The committer's time that accounts have used in one batch, and the posts that wait for a later batch. Theory:
///
/// The weight of a post is known before it is judged (`InboxQueue`), its time only afterwards: because of the data that its author has
/// stored, a post may take as long as a thousand others. So an account also has a share of each batch's time. Once the share is used
/// up, further posts of the account are not judged in this batch: they are put back into the inbox in their order, before all later
/// posts of the account, and their stanzas do not count as handled yet (XEP-0198). A single post may exceed the share. So each batch
/// does at least one post of each account in it, and others wait for no more than a share and one post of an account.
///
/// A batch that fails is judged again in halves. The second half must not overtake posts that the first half has put back, so both
/// halves use the same value, which is reset when a part fails.
///
/// Ordinary posts are not counted (`Limits.sharedTimeLeast`): they cost only a comparison, and no memory.
struct TimeShares {
  private var used: [InboxAccount: Duration] = [:]
  /// The accounts that have used up their share.
  private var spent: Set<InboxAccount> = []
  private var zones: [String: String] = [:]
  /// The posts that were not judged, in their order.
  private(set) var left: [Post] = []

  /// Returns whether the account of a post has used up its share. Then the post waits for a later batch.
  mutating func leaves(_ post: Post) -> Bool {
    guard !spent.isEmpty, case .shared(let account) = post.place(&zones), spent.contains(account) else { return false }
    left.append(post)
    return true
  }

  /// Returns the posts of accounts that have not used up their share. The others wait for a later batch.
  mutating func taking(_ posts: ArraySlice<Post>) -> ArraySlice<Post> {
    if spent.isEmpty { return posts }
    var taken: [Post] = []
    for post in posts where !leaves(post) { taken.append(post) }
    return taken[...]
  }

  /// Counts the time that a judged post has taken.
  mutating func count(_ time: Duration, of post: Post) {
    guard time >= Limits.sharedTimeLeast, case .shared(let account) = post.place(&zones) else { return }
    let sum = used[account, default: .zero] + time
    used[account] = sum
    if sum >= Limits.batchShareTime { spent.insert(account) }
  }
}
