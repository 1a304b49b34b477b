import Basics

/// The times at which users were last available, as far as the store may have an older one or none: those of users who are
/// connected but not available, and of those whose last session has ended until that is committed.
///
/// A reader takes the user's row first and this second. The row may be from before the commit, so a time must stay for a while behind
/// it: until `Limits.lastSeenStoredMax` further ones have been stored.
struct LastSeen {
  private var times: [UserID: Timestamp] = [:]
  /// The times that the store has, the oldest at `next` once there are as many as there may be.
  private var stored: [(user: UserID, time: Timestamp)] = []
  private var next = 0

  subscript(user: UserID) -> Timestamp? {
    get { times[user] }
    set { times[user] = newValue }
  }

  /// Notes that the store has a user's time, up to this one.
  mutating func wasStored(_ time: Timestamp, of user: UserID) {
    guard stored.count == Limits.lastSeenStoredMax else { return stored.append((user, time)) }
    let oldest = stored[next]
    stored[next] = (user, time)
    next = (next + 1) % stored.count
    if let known = times[oldest.user], known <= oldest.time { times[oldest.user] = nil }
  }
}
