import Basics
public import Dialogs
import ServerMetrics
import Synchronization

/// The budgets that codes and links are counted against. Those to sign in with, those to set a password with and those of a second
/// factor have budgets of their own: somebody who requests some of them for others takes none of the rest.
public enum CodeBudget: Hashable, Sendable {
  public enum Kind: Sendable { case code, reset }
  /// Those to one mail address or telephone that one network requests; `nil` for all networks together which the user has
  /// not logged in from.
  case address(Kind, RealmID, Identity, network: String?)
  /// Those of a user's second factor, who has proved the first.
  case secondFactor(UserID)

  var isOfStrangers: Bool { if case .address(_, _, _, network: .none) = self { true } else { false } }
}

/// An act whose rate is bounded, over any door.
public enum PacedAct: Hashable, Sendable {
  /// An attempt to create an account, from a network (`LoginAttempt.network`).
  case registration(network: String)
  /// A new account without an invitation and without a code. An attempt that creates none is given back.
  case newAccount(network: String, hourMax: Int)
  /// The refusal of a name, without a proof of work: it shows that there is such a user.
  case takenName(network: String)
  /// Reading an invitation.
  case invite(network: String)
  case passwordChange(UserID)
  /// A right password whose verification costs key derivation.
  case login(LoginPlace)
  /// A new app password.
  case appPassword(UserID)
  /// A search among users, or a page of one.
  case search(UserID)
  /// A search among rooms, or a page of one, by the address of a user here, or by the domain of one elsewhere: a domain could make up
  /// any number of users.
  case roomSearch(String)
  /// A new guest.
  case guest(network: String)
  /// Requesting a code or a link, from a network.
  case outgoing(network: String)
  /// Codes or links, within an hour and within a day.
  case codeOfHour(CodeBudget)
  case codeOfDay(CodeBudget)
  /// An attempt with a second factor, which is given back if it was right.
  case secondFactor(UserID)
  /// A successful login by an external token.
  case tokenLogin(Identity, RealmID)
  /// Sharing a location.
  case location(UserID)
  /// A search for nearby users.
  case nearby(UserID)
  /// Hashes of telephone numbers and mail addresses to match, each one act.
  case contactMatch(UserID)
  /// A new export of the user's data.
  case export(UserID)

  var rate: Rate {
    switch self {
    case .registration: AccountLimits.registrationRate
    case .newAccount(_, let hourMax): Rate(burst: (hourMax + 1) / 2, perSecond: Double(hourMax) / 3_600)
    case .takenName: AccountLimits.takenNameRate
    case .invite: AccountLimits.inviteRate
    case .passwordChange: AccountLimits.passwordChangeRate
    case .login(let place): place.isDevice ? AccountLimits.deviceLoginRate : AccountLimits.loginRate
    case .appPassword: AccountLimits.appPasswordRate
    case .search: AccountLimits.searchRate
    case .roomSearch: AccountLimits.roomSearchRate
    case .guest: AccountLimits.guestRate
    case .outgoing: AccountLimits.outgoingCodeRate
    case .codeOfHour(let budget):
      budget.isOfStrangers ? AccountLimits.codesOfHourOfStrangers : AccountLimits.codesOfHour
    case .codeOfDay(let budget):
      budget.isOfStrangers ? AccountLimits.codesOfDayOfStrangers : AccountLimits.codesOfDay
    case .secondFactor: AccountLimits.secondFactorRate
    case .tokenLogin: AccountLimits.tokenLoginRate
    case .location: AccountLimits.locationRate
    case .nearby: AccountLimits.nearbyRate
    case .contactMatch: AccountLimits.matchRate
    case .export: AccountLimits.exportRate
    }
  }

  /// The rate's name for clients (`RateLimitStatus`).
  var policy: String {
    switch self {
    case .registration, .takenName: "registrations"
    case .newAccount: "new-accounts"
    case .invite: "invitations"
    case .passwordChange, .appPassword: "password-changes"
    case .login: LoginFailures.policy
    case .search: "searches"
    case .roomSearch: "searches"
    case .guest: "guests"
    case .outgoing: "codes"
    case .codeOfHour: "codes-to-address-hour"
    case .codeOfDay: "codes-to-address-day"
    case .secondFactor: "second-factor"
    case .tokenLogin: "token-logins"
    case .location: "locations"
    case .nearby: "nearby"
    case .contactMatch: "contact-hashes"
    case .export: "exports"
    }
  }

  /// The counted unit, if it is not requests.
  var unit: String? {
    if case .contactMatch = self { return "parley-hashes" }
    return nil
  }

  /// Whether other users spend it too, or it would reveal what they do. Only a refusal cannot avoid that.
  var isShared: Bool {
    switch self {
    case .codeOfHour, .codeOfDay: true
    case .registration, .newAccount, .takenName, .invite, .passwordChange, .login, .appPassword, .search, .roomSearch,
      .guest, .outgoing, .secondFactor, .tokenLogin, .location, .nearby, .contactMatch, .export:
      false
    }
  }

  func refusal(_ wait: Int) -> Problem {
    switch self {
    case .newAccount:
      Problem(
        .tooFast, "registrations-too-fast",
        "Too many new accounts from your network. Try again in \(wait) seconds, or ask for an invitation.",
        retryAfter: wait)
    case .registration, .takenName:
      Problem(
        .tooFast, "registrations-too-fast", "Too many new accounts from your address. Wait a little.", retryAfter: wait)
    case .outgoing, .codeOfHour, .codeOfDay:
      Problem(
        .tooFast, "codes-too-fast", "Too many codes or links were asked for. Wait a little.", retryAfter: wait)
    case .secondFactor:
      Problem(.tooFast, "codes-too-fast", "Too many wrong codes. Wait a little.", retryAfter: wait)
    case .login: LoginFailures.refusal(wait)
    case .invite, .passwordChange, .appPassword, .search, .roomSearch, .guest, .tokenLogin, .location, .nearby,
      .contactMatch, .export:
      Problem(.tooFast, "requests-too-fast", "You ask too often. Wait a little.", retryAfter: wait)
    }
  }
}

/// The token buckets of acts. Not stored, and bounded in number.
final class AccountPace: Sendable {
  private let buckets = Mutex(Recent<PacedAct, TokenBucket>(max: AccountLimits.countedStrangersMax))

  /// Counts an act. Returns the seconds to wait (`nil` if it may be done), and the state of the rate.
  func take(_ act: PacedAct, count: Int = 1, now: Timestamp) -> (wait: Int?, status: RateLimitStatus) {
    buckets.withLock { buckets in
      var bucket = buckets[act] ?? TokenBucket(act.rate, now: now)
      defer { buckets[act] = bucket }
      let wait = bucket.take(act.rate, count: count, now: now)
      return (wait, bucket.status(act.policy, act.rate, count: count, unit: act.unit, now: now))
    }
  }

  /// Returns the seconds to wait (`nil` if the act may be done), and counts nothing.
  func wait(_ act: PacedAct, now: Timestamp) -> Int? {
    buckets.withLock { buckets in
      var bucket = buckets[act]
      return bucket?.wait(act.rate, now: now)
    }
  }

  func giveBack(_ act: PacedAct, now: Timestamp) {
    buckets.withLock { $0.change(act) { $0.giveBack(act.rate, now: now) } }
  }
}

extension Accounts {
  /// Counts an act before it is done, or several of a kind: all or none.
  ///
  /// - Throws: `.tooFast`.
  public func pace(_ act: PacedAct, count: Int = 1) throws(Problem) {
    let (wait, status) = accountPace.take(act, count: count, now: parley.clock.now)
    if wait != nil || !act.isShared { RateLog.current?.note(status, refused: wait != nil) }
    if let wait {
      parley.metrics.refused(by: act.policy)
      throw act.refusal(wait)
    }
  }

  /// Counts acts before they are done: all or none.
  ///
  /// - Throws: `.tooFast`.
  func pace(all acts: [PacedAct]) throws(Problem) {
    for (index, act) in acts.enumerated() {
      do throws(Problem) { try pace(act) } catch {
        for taken in acts[..<index] { accountPace.giveBack(taken, now: parley.clock.now) }
        throw error
      }
    }
  }

  /// Gives back an act that turned out not to count.
  func giveBack(_ act: PacedAct) {
    accountPace.giveBack(act, now: parley.clock.now)
    RateLog.current?.giveBack(act.policy)
  }
}
