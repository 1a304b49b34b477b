import Basics
public import Dialogs
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
  /// A code or a link for somebody, asked for from a network.
  case outgoing(network: String)
  /// Of whomever, to one mail address or telephone: within an hour, and within a day.
  case letterOfHour(RealmID, Identity)
  case letterOfDay(RealmID, Identity)
  /// A try at a second factor; given back where it was right.
  case secondFactor(UserID)
  /// A login by a token of others that was right.
  case tokenLogin(Identity, RealmID)
  /// Sharing where one is.
  case location(UserID)
  /// A look at who is near.
  case nearby(UserID)
  /// Hashes of telephone numbers and mail addresses that are looked for, each one act.
  case contactMatch(UserID)
  /// A new export of all that is one's own.
  case export(UserID)

  var rate: Rate {
    switch self {
    case .registration: Limits.registrationRate
    case .invite: Limits.inviteRate
    case .passwordChange: Limits.passwordChangeRate
    case .search: Limits.searchRate
    case .guest: Limits.guestRate
    case .outgoing: Limits.letterRate
    case .letterOfHour: Limits.lettersOfHour
    case .letterOfDay: Limits.lettersOfDay
    case .secondFactor: Limits.secondFactorRate
    case .tokenLogin: Limits.tokenLoginRate
    case .location: Limits.locationRate
    case .nearby: Limits.nearbyRate
    case .contactMatch: Limits.matchRate
    case .export: Limits.exportRate
    }
  }

  /// What clients know it by (`RateStanding`).
  var policy: String {
    switch self {
    case .registration: "registrations"
    case .invite: "invitations"
    case .passwordChange: "password-changes"
    case .search: "searches"
    case .guest: "guests"
    case .outgoing: "codes"
    case .letterOfHour: "codes-to-address-hour"
    case .letterOfDay: "codes-to-address-day"
    case .secondFactor: "second-factor"
    case .tokenLogin: "token-logins"
    case .location: "locations"
    case .nearby: "nearby"
    case .contactMatch: "contact-hashes"
    case .export: "exports"
    }
  }

  /// What is counted, where that is not requests.
  var unit: String? {
    if case .contactMatch = self { return "parley-hashes" }
    return nil
  }

  /// Spent by others too: how far, would tell what they do. A refusal cannot but tell it.
  var isShared: Bool {
    switch self {
    case .letterOfHour, .letterOfDay: true
    case .registration, .invite, .passwordChange, .search, .guest, .outgoing, .secondFactor, .tokenLogin, .location,
      .nearby, .contactMatch, .export:
      false
    }
  }

  func refusal(_ wait: Int) -> Problem {
    switch self {
    case .registration:
      Problem(
        .tooFast, "registrations-too-fast", "Too many new accounts from your address. Wait a little.", retryAfter: wait)
    case .outgoing, .letterOfHour, .letterOfDay:
      Problem(
        .tooFast, "codes-too-fast", "Too many codes or links were asked for. Wait a little.", retryAfter: wait)
    case .secondFactor:
      Problem(.tooFast, "codes-too-fast", "Too many wrong codes. Wait a little.", retryAfter: wait)
    case .invite, .passwordChange, .search, .guest, .tokenLogin, .location, .nearby, .contactMatch, .export:
      Problem(.tooFast, "requests-too-fast", "You ask too often. Wait a little.", retryAfter: wait)
    }
  }
}

/// A bucket for each act. Forgotten with the process, and where there are too many.
final class AccountPace: Sendable {
  private let buckets = Mutex(Recent<PacedAct, TokenBucket>(max: Limits.countedStrangersMax))

  /// - Returns: the seconds to wait (nil: it may be done), and what is left.
  func take(_ act: PacedAct, count: Int = 1, now: Timestamp) -> (wait: Int?, standing: RateStanding) {
    buckets.withLock { buckets in
      var bucket = buckets[act] ?? TokenBucket(act.rate, now: now)
      defer { buckets[act] = bucket }
      let wait = bucket.take(act.rate, count: count, now: now)
      return (wait, bucket.standing(act.policy, act.rate, count: count, unit: act.unit, now: now))
    }
  }

  func giveBack(_ act: PacedAct, now: Timestamp) {
    buckets.withLock { $0.change(act) { $0.giveBack(act.rate, now: now) } }
  }
}

extension Accounts {
  /// Counts an act before it is done, or so many of a kind: all or none.
  ///
  /// - Throws: `.tooFast`.
  public func pace(_ act: PacedAct, count: Int = 1) throws(Problem) {
    let (wait, standing) = accountPace.take(act, count: count, now: parley.clock.now)
    if wait != nil || !act.isShared { RateLog.current?.note(standing, refused: wait != nil) }
    if let wait { throw act.refusal(wait) }
  }

  /// It turned out not to count.
  func giveBack(_ act: PacedAct) {
    accountPace.giveBack(act, now: parley.clock.now)
    RateLog.current?.giveBack(act.policy)
  }
}
