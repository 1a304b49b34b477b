import Synchronization

/// What is asked for again and again only by who means harm, over any door.
public enum PacedAct: Hashable, Sendable {
  /// A new account, from a network (`LoginAttempt.network`).
  case registration(network: String)
  /// A look at an invitation.
  case invite(network: String)
  case passwordChange(UserID)
  case search(UserID)
  /// A new guest.
  case guest(network: String)

  var rate: Rate {
    switch self {
    case .registration: Limits.registrationRate
    case .invite: Limits.inviteRate
    case .passwordChange: Limits.passwordChangeRate
    case .search: Limits.searchRate
    case .guest: Limits.guestRate
    }
  }

  func refusal(_ wait: Int) -> Problem {
    switch self {
    case .registration:
      Problem(
        .tooFast, "registrations-too-fast", "Too many new accounts from your address. Wait a little.", retryAfter: wait)
    case .invite, .passwordChange, .search, .guest:
      Problem(.tooFast, "requests-too-fast", "You ask too often. Wait a little.", retryAfter: wait)
    }
  }
}

/// A bucket for each act. Forgotten with the process, and where there are too many.
final class AccountPace: Sendable {
  private let buckets = Mutex(Recent<PacedAct, TokenBucket>(max: Limits.countedStrangersMax))

  /// - Returns: the seconds to wait; nil: it may be done.
  func take(_ act: PacedAct, now: Timestamp) -> Int? {
    buckets.withLock { buckets in
      var bucket = buckets[act] ?? TokenBucket(act.rate, now: now)
      defer { buckets[act] = bucket }
      return bucket.take(act.rate, now: now)
    }
  }
}

extension Parley {
  /// Counts an act before it is done.
  ///
  /// - Throws: `.tooFast`.
  public func pace(_ act: PacedAct) throws(Problem) {
    if let wait = accountPace.take(act, now: clock.now) { throw act.refusal(wait) }
  }
}
