import Basics
import Testing

@testable import Dialogs

@Suite struct BucketSweepTests {
  /// Buckets that are not full stay; then the next look at all of them is due when there are twice as many.
  @Test func bucketsThatStayAreNotLookedAtForEachEntrance() {
    let rate = Rate(burst: 1, perSecond: 0)
    let now = Timestamp(milliseconds: 0)
    var used = TokenBucket(rate, now: now)
    used.owe(rate, now: now)
    var buckets: [Int: TokenBucket] = [:]
    for number in 0..<Limits.cachedUsersMax { buckets[number] = used }
    buckets[-1] = TokenBucket(rate, now: now)
    var size = Limits.cachedUsersMax
    RoomCache.sweep(&buckets, at: &size, rate, now: now)
    #expect(buckets.count == Limits.cachedUsersMax && size == 2 * Limits.cachedUsersMax)
    // The next one does not look: a bucket that is the same as a new one stays.
    buckets[-1] = TokenBucket(rate, now: now)
    RoomCache.sweep(&buckets, at: &size, rate, now: now)
    #expect(buckets[-1] != nil)
    for number in Limits.cachedUsersMax..<size { buckets[number] = TokenBucket(rate, now: now) }
    RoomCache.sweep(&buckets, at: &size, rate, now: now)
    #expect(buckets.count == Limits.cachedUsersMax && size == 2 * Limits.cachedUsersMax)
  }
}
