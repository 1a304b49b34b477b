import Basics

/// How a user was last available: until when, and with which words they left (XEP-0012 3).
struct LastPresence: Hashable {
  let time: Timestamp
  /// The status of their unavailable presence; `nil` if it had none, more than `Limits.statusBytesMax`, or the server
  /// sent it for them.
  let status: String?

  init(time: Timestamp, status: String? = nil) {
    self.time = time
    self.status = status.flatMap { $0.utf8.count <= Limits.statusBytesMax ? $0 : nil }
  }
}

/// How users were last available, as far as the store may have an older state or none: those of users who are connected
/// but not available, and of those whose last session has ended until that is committed.
///
/// A reader takes the user's row first and this second. The row may be from before the commit, so a state must stay for
/// a while behind it: until `Limits.lastSeenStoredMax` further ones have been stored.
struct LastSeen {
  private var presences: [UserID: LastPresence] = [:]
  /// The times that the store has, the oldest at `next` once there are as many as there may be.
  private var stored: [(user: UserID, time: Timestamp)] = []
  private var next = 0

  subscript(user: UserID) -> LastPresence? {
    get { presences[user] }
    set { presences[user] = newValue }
  }

  /// Notes that the store has a user's state, up to this time.
  mutating func wasStored(_ time: Timestamp, of user: UserID) {
    guard stored.count == Limits.lastSeenStoredMax else { return stored.append((user, time)) }
    let oldest = stored[next]
    stored[next] = (user, time)
    next = (next + 1) % stored.count
    if let known = presences[oldest.user], known.time <= oldest.time { presences[oldest.user] = nil }
  }
}

extension ValueKey {
  /// The text with which the user has left, in UTF-8, under `bytes`.
  static let lastStatus = "last-status"
}

extension RecordReader {
  /// Returns the status of the unavailable presence with which the user has left; `nil` if it had none. The hub may know
  /// a later one (`Hub.lastStatus`).
  public func lastStatus(of user: UserID) throws -> String? {
    try value(of: user, node: ValueKey.lastStatus, item: ValueKey.bytes).map { String(decoding: $0, as: UTF8.self) }
  }
}
