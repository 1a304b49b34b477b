/// The time of the committer that accounts have used of one batch, and the posts that wait for a later one. Theory:
///
/// The weight of a post is known before it is judged (`InboxQueue`), its time only afterwards: by what its author has stored, a post may
/// take as long as a thousand others. So an account has a share of each batch's time as well. As soon as a post has used it up, further
/// posts of the account are not judged in this batch: they go back to the inbox in their order, before all that the account has posted
/// meanwhile, and their stanzas do not count as handled yet (XEP-0198). A single post may exceed the share. So each batch does at least one
/// post of each account in it, and others wait for no more than a share and one post of an account.
///
/// A batch that fails is judged again in halves. What its first half leaves behind must not be overtaken by its second half, so the value
/// is one for all of the batch, and is set back with what has failed.
///
/// Ordinary posts are not counted (`Limits.sharedTimeLeast`): they cost a comparison, and no memory.
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
