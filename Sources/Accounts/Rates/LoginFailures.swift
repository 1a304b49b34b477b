public import Addresses
import Basics
public import Dialogs
import ServerMetrics
import Synchronization

/// An attempt to log in with a password: the user, the network, the device.
public struct LoginAttempt: Sendable, Hashable {
  public let user: BareJID
  /// The network for per-address bounds: an IPv4 address, or the network of an IPv6 address.
  public let network: String
  /// The installation's own id (XEP-0388 `<user-agent/>`), which is kept private; `nil` if it sent none.
  public let device: String?

  public init(of user: BareJID, from network: String, device: String?) {
    self.user = user
    self.network = network
    self.device = device
  }
}

/// The place of a right password: the user and the network, of all clients there together or of one device of an app.
public struct LoginPlace: Hashable, Sendable {
  /// A hash that no outsider can predict: its seed is the process's own.
  private let hash: Int
  let isDevice: Bool

  /// - Parameter device: the device of an app; `nil` for all clients.
  public init(_ attempt: LoginAttempt, device: String? = nil) {
    var hasher = Hasher()
    hasher.combine(attempt.user)
    hasher.combine(attempt.network)
    hasher.combine(device)
    hash = hasher.finalize()
    isDevice = device != nil
  }
}

/// The outcome of verifying a password.
public enum LoginOutcome: Sendable {
  case right
  case wrong
  /// It proves nothing, and nothing was at stake.
  case void
}

/// Bounds the guessing of passwords, for all doors (docs/decisions/0009-failed-logins.md).
///
/// Clients that have logged in before, from this network or with this device, have a budget of their own that no
/// stranger can spend. A stranger spends from three at once: a small one of its network for this user, a large one of
/// its network over all users, and the one that all strangers share for this user. So one address guesses slowly, many
/// together guess slowly at one user, and neither locks out known clients. A client that keeps sending a wrong password
/// soon spends from the small one alone, and leaves the large one to the others behind its address; a right password
/// gives back what the same network's mistakes about this user had cost.
///
/// Only wrong passwords are charged, so that many right logins from one place at one moment succeed: a fleet that
/// reconnects after a restart. Right ones that cost key derivation have a pace of their own (`PacedAct.login`), which
/// nobody without the password can spend. Many wrong ones at the same moment gain nothing all the same: a password is
/// verified in one go (`Accounts.look`), on an event loop or a thread that derives keys, and the budget is checked just
/// before. So at most as many as there are threads can be verified beyond a spent budget; they leave a debt, which is
/// paid off first. Unknown users are counted like others, so that the bound reveals nothing.
///
/// Nothing of this is stored. After a restart everyone is a stranger with full budgets.
final class LoginFailures: Sendable {
  /// The rate of one known pair: users mistype; 17,000 guesses a day do not find a decent password.
  static let perPlace = Rate(burst: 20, perSecond: 0.2)
  /// The rate of a stranger's network for one user: a tenth of what all strangers have, so that one network cannot
  /// spend that.
  static let perPair = Rate(burst: 10, perSecond: 12.0 / 3_600)
  /// The rate of a stranger's network over all users: an office has one address, and comes back at one moment; 17,000
  /// guesses a day.
  static let perNetwork = Rate(burst: 100, perSecond: 0.2)
  /// The rate of invalid tokens from one network, which nobody guesses: devices whose login has ended send them, and are
  /// to learn it.
  static let perTokenNetwork = Rate(burst: 100, perSecond: 1)
  /// The name of these rates for clients. The state of a budget of passwords is revealed by its refusal alone: it would tell
  /// whether somebody has logged in from this network, and which mail address, telephone and name are one user's.
  static let policy = "logins"
  /// The rate of all strangers together for one user: as many at once as NIST SP 800-63B 5.2.2 allows one account, and
  /// as many again each hour.
  static let perUser = Rate(burst: 100, perSecond: 100.0 / 3_600)

  /// The key of a budget, by a hash that no outsider can predict: its seed is the process's own.
  fileprivate struct Key: Hashable {
    let hash: Int
    init(_ kind: Int, _ user: BareJID?, _ text: String) {
      var hasher = Hasher()
      hasher.combine(kind)
      hasher.combine(user)
      hasher.combine(text)
      hash = hasher.finalize()
    }

    static func network(_ name: String) -> Key { Key(0, nil, name) }
    static func tokens(_ network: String) -> Key { Key(4, nil, network) }
    static func pair(_ attempt: LoginAttempt) -> Key { Key(5, attempt.user, attempt.network) }
    static func strangers(of user: BareJID) -> Key { Key(1, user, "") }
    static func own(_ attempt: LoginAttempt) -> [Key] {
      (attempt.device.map { [Key(2, attempt.user, $0)] } ?? []) + [Key(3, attempt.user, attempt.network)]
    }
  }

  private struct State {
    /// The known clients. Strangers can neither add entries nor displace any.
    var known: Recent<Key, TokenBucket>
    var strangers: Recent<Key, TokenBucket>
    /// The networks of strangers for one user. They displace each other alone.
    var pairs: Recent<Key, Pair>

    mutating func spend(_ count: Int, _ key: Key, _ rate: Rate, now: Timestamp) {
      var bucket = strangers[key] ?? TokenBucket(rate, now: now)
      bucket.owe(rate, count: count, now: now)
      strangers[key] = bucket
    }
  }

  private struct Pair {
    var bucket: TokenBucket
    /// The failures since the last right password, at most as many as the other budgets hold.
    var failures = 0
  }
  private let state: Mutex<State>

  /// The budget that is charged if an attempt turns out wrong.
  struct ChargedBudget: Sendable {
    /// The known client's key; `nil` to charge a stranger's network and the strangers of the user.
    fileprivate let own: Key?
    fileprivate let attempt: LoginAttempt
  }

  init(knownMax: Int = AccountLimits.knownLoginsMax, strangersMax: Int = AccountLimits.countedStrangersMax) {
    state = Mutex(
      State(known: Recent(max: knownMax), strangers: Recent(max: strangersMax), pairs: Recent(max: strangersMax)))
  }

  /// Returns the budget to charge.
  ///
  /// - Throws: `.tooFast` if it is spent.
  func chargedBudget(_ attempt: LoginAttempt, now: Timestamp) throws(Problem) -> ChargedBudget {
    let result: Result<ChargedBudget, Problem> = state.withLock { state in
      var wait: Int?
      for own in Key.own(attempt) {
        guard var bucket = state.known[own] else { continue }
        let lacking = bucket.wait(Self.perPlace, now: now)
        state.known[own] = bucket
        guard let lacking else { return .success(ChargedBudget(own: own, attempt: attempt)) }
        wait = min(wait ?? lacking, lacking)
      }
      if let wait { return .failure(Self.refusal(wait)) }
      var ofPair = state.pairs[.pair(attempt)]?.bucket ?? TokenBucket(Self.perPair, now: now)
      var ofNetwork = state.strangers[.network(attempt.network)] ?? TokenBucket(Self.perNetwork, now: now)
      var ofUser = state.strangers[.strangers(of: attempt.user)] ?? TokenBucket(Self.perUser, now: now)
      let waits = [
        ofPair.wait(Self.perPair, now: now), ofNetwork.wait(Self.perNetwork, now: now),
        ofUser.wait(Self.perUser, now: now),
      ]
      if let wait = waits.compactMap({ $0 }).max() { return .failure(Self.refusal(wait)) }
      return .success(ChargedBudget(own: nil, attempt: attempt))
    }
    return try result.get()
  }

  func settle(_ chargedBudget: ChargedBudget, _ outcome: LoginOutcome, now: Timestamp) {
    state.withLock { state in
      switch outcome {
      case .void: break
      case .right:
        Self.know(chargedBudget.attempt, &state, now: now)
        Self.forgive(chargedBudget.attempt, &state, now: now)
      case .wrong:
        if let own = chargedBudget.own {
          state.known.change(own) { $0.owe(Self.perPlace, now: now) }
        } else {
          let attempt = chargedBudget.attempt
          state.spend(1, .network(attempt.network), Self.perNetwork, now: now)
          state.spend(1, .strangers(of: attempt.user), Self.perUser, now: now)
          var pair = state.pairs[.pair(attempt)] ?? Pair(bucket: TokenBucket(Self.perPair, now: now))
          pair.bucket.owe(Self.perPair, now: now)
          pair.failures = min(pair.failures + 1, Self.perUser.burst)
          state.pairs[.pair(attempt)] = pair
        }
      }
    }
  }

  /// Gives back what the network's failures about this user have cost: who then knows the password has mistyped it
  /// (NIST SP 800-63B 5.2.2: previous failures of that user from the same address are disregarded).
  private static func forgive(_ attempt: LoginAttempt, _ state: inout State, now: Timestamp) {
    guard let pair = state.pairs[.pair(attempt)], pair.failures > 0 else { return }
    state.pairs[.pair(attempt)] = Pair(bucket: TokenBucket(perPair, now: now))
    state.spend(-pair.failures, .network(attempt.network), perNetwork, now: now)
    state.spend(-pair.failures, .strangers(of: attempt.user), perUser, now: now)
  }

  /// Returns whether the user has logged in from the attempt's network or device.
  func knows(_ attempt: LoginAttempt) -> Bool {
    state.withLock { state in Key.own(attempt).contains { state.known[$0] != nil } }
  }

  /// Records a client with a right token as known.
  func know(_ attempt: LoginAttempt, now: Timestamp) {
    state.withLock { Self.know(attempt, &$0, now: now) }
  }

  private static func know(_ attempt: LoginAttempt, _ state: inout State, now: Timestamp) {
    for own in Key.own(attempt) { state.known[own] = state.known[own] ?? TokenBucket(perPlace, now: now) }
  }

  /// Counts an invalid token, after it was looked up, so that a valid one is never refused.
  ///
  /// - Returns: the seconds to wait, if the network has spent its budget.
  func wrongToken(from network: String, now: Timestamp) -> Int? {
    state.withLock { state in
      var bucket = state.strangers[.tokens(network)] ?? TokenBucket(Self.perTokenNetwork, now: now)
      defer { state.strangers[.tokens(network)] = bucket }
      let wait = bucket.take(Self.perTokenNetwork, now: now)
      if wait == nil { RateLog.current?.note(bucket.status(Self.policy, Self.perTokenNetwork, now: now)) }
      return wait
    }
  }

  /// Returns the refusal of a spent budget, and of a spent pace of right passwords: another text would show that there is such a user.
  static func refusal(_ wait: Int) -> Problem {
    Problem(.tooFast, "logins-too-fast", "Too many logins. Wait a little.", retryAfter: wait)
  }
}

/// A cache of the most recently used keys: at least the last `max / 2`, at most `max`. A key in use stays, however many
/// others come.
struct Recent<Key: Hashable, Value> {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let max: Int

  init(max: Int) { self.max = max }

  var count: Int { young.count + old.count }

  subscript(key: Key) -> Value? {
    get { young[key] ?? old[key] }
    set {
      guard let newValue else { return }
      old[key] = nil
      if young.count >= max / 2, young[key] == nil { (old, young) = (young, [:]) }
      young[key] = newValue
    }
  }

  /// Changes a value; does nothing if it was displaced.
  mutating func change(_ key: Key, _ body: (inout Value) -> Void) {
    guard var value = self[key] else { return }
    body(&value)
    self[key] = value
  }
}

extension Accounts {
  /// Refuses an attempt whose budget is spent, before the client has proved anything. Nothing is charged.
  ///
  /// - Throws: `.tooFast`.
  public func checkLook(_ attempt: LoginAttempt) throws(Problem) { _ = try chargedBudget(attempt) }

  /// Verifies a password in one call. Only a wrong one is charged to the attempt's budget, and only one that is not wrong to
  /// the paces.
  ///
  /// - Parameters:
  ///   - paced: the acts that a password which is not wrong is, for one whose verification costs key derivation.
  ///   - look: verifies it, without waiting for anything outside the process.
  /// - Throws: `.tooFast`, without verifying, if the budget or a pace is spent.
  @discardableResult
  public func look(
    _ attempt: LoginAttempt, paced: [PacedAct] = [], _ look: () -> LoginOutcome
  ) throws(Problem) -> LoginOutcome {
    let chargedBudget = try chargedBudget(attempt)
    try checkPaces(paced)
    let outcome = look()
    let now = parley.clock.now
    loginFailures.settle(chargedBudget, outcome, now: now)
    if outcome != .wrong { for act in paced { _ = loginPace.take(act, now: now) } }
    return outcome
  }

  /// Checks the paces of right passwords. Nothing is counted: wrong ones of others would use them up meanwhile.
  ///
  /// - Throws: `.tooFast`.
  func checkPaces(_ acts: [PacedAct]) throws(Problem) {
    let now = parley.clock.now
    for act in acts {
      guard let wait = loginPace.wait(act, now: now) else { continue }
      let problem = act.refusal(wait)
      noteRefusal(problem)
      throw problem
    }
  }

  /// Verifies a password on a thread that derives keys.
  func derivedLook(
    _ attempt: LoginAttempt, paced: [PacedAct], _ look: @escaping @Sendable () -> LoginOutcome
  ) async throws(Problem) -> LoginOutcome {
    let log = RateLog.current
    let result: Result<LoginOutcome, Problem> = await derive { [self] in
      RateLog.$current.withValue(log) {
        do throws(Problem) {
          return .success(try self.look(attempt, paced: paced, look))
        } catch { return .failure(error) }
      }
    }
    return try result.get()
  }

  private func chargedBudget(_ attempt: LoginAttempt) throws(Problem) -> LoginFailures.ChargedBudget {
    do throws(Problem) {
      return try loginFailures.chargedBudget(attempt, now: parley.clock.now)
    } catch {
      noteRefusal(error)
      throw error
    }
  }

  /// Records that the user has logged in from here by a token: from now on the client is known.
  public func rightToken(_ attempt: LoginAttempt) { loginFailures.know(attempt, now: parley.clock.now) }

  /// Counts an invalid token of 256 random bits. Guessing is impossible; the bound is for the lookups.
  ///
  /// - Returns: the error to answer: `problem`, or `.tooFast`.
  public func wrongToken(_ problem: Problem, from network: String) -> Problem {
    guard let wait = loginFailures.wrongToken(from: network, now: parley.clock.now) else { return problem }
    let refusal = LoginFailures.refusal(wait)
    noteRefusal(refusal)
    return refusal
  }

  private func noteRefusal(_ problem: Problem) {
    parley.metrics.refused(by: LoginFailures.policy)
    RateLog.current?.note(
      RateLimitStatus(policy: LoginFailures.policy, remaining: 0, reset: problem.retryAfter), refused: true)
  }
}
