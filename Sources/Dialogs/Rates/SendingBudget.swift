public import Addresses
public import Basics
import Logging
import ServerMetrics
import Synchronization

/// The amount that one user may send over all of the user's sessions of both doors, and the users of one network together.
public struct SendingPolicy: Hashable, Sendable {
  public var stanzasPerSecond = Limits.sendingStanzasPerSecond
  public var bytesPerSecond = Limits.sendingBytesPerSecond
  /// The amounts of one network, which has at least those of one user.
  public var networkStanzasPerSecond = Limits.sendingNetworkStanzasPerSecond
  public var networkBytesPerSecond = Limits.sendingNetworkBytesPerSecond
  /// The bytes of messages and of other content that are stored in a day.
  public var dayBytes = Limits.sendingDayBytes
  /// The senders without limits.
  public var unlimited = Unlimited()

  /// Users, domains with all their users, and the networks of clients.
  public struct Unlimited: Hashable, Sendable {
    public var users: Set<BareJID> = []
    public var domains: Set<String> = []
    public var networks: [Network] = []

    public init() {}

    func contains(_ account: SendingAccount) -> Bool {
      switch account {
      case .user(let party): users.contains(party.address) || domains.contains(party.address.domain)
      case .domain(let name), .component(let name): domains.contains(name)
      case .room(let address): domains.contains(address.domain)
      case .network, .zone, .peer: false
      }
    }

    /// - Parameter peer: The address of a client, or the first half of one of IPv6.
    func contains(peer: String) -> Bool {
      if networks.isEmpty { return false }
      guard let address = IPAddress(peer) ?? IPAddress(peer + "::") else { return false }
      return networks.contains { $0.contains(address) }
    }
  }

  public init() {}

  var rates: SendingRates {
    SendingRates(
      stanzas: Rate(burst: stanzasPerSecond * Limits.sendingStanzasBurstSeconds, perSecond: Double(stanzasPerSecond)),
      bytes: Rate(burst: bytesPerSecond * Limits.sendingBytesBurstSeconds, perSecond: Double(bytesPerSecond)),
      deliveries: Rate(
        burst: stanzasPerSecond * Limits.sendingDeliveriesPerStanza * Limits.sendingDeliveriesBurstSeconds,
        perSecond: Double(stanzasPerSecond * Limits.sendingDeliveriesPerStanza)))
  }

  /// The rates of a network: at least those of one user.
  var networkRates: SendingRates {
    let (stanzas, bytes) = (networkStanzasPerSecond, networkBytesPerSecond)
    let deliveries = stanzas * Limits.sendingNetworkDeliveriesPerStanza
    let ofUser = rates
    return SendingRates(
      stanzas: Rate(burst: stanzas * Limits.sendingStanzasBurstSeconds, perSecond: Double(stanzas))
        .atLeast(ofUser.stanzas),
      bytes: Rate(burst: bytes * Limits.sendingNetworkBytesBurstSeconds, perSecond: Double(bytes))
        .atLeast(ofUser.bytes),
      deliveries: Rate(burst: deliveries * Limits.sendingDeliveriesBurstSeconds, perSecond: Double(deliveries))
        .atLeast(ofUser.deliveries))
  }
}

/// A sender with a budget: a user here; a domain elsewhere with all its users and rooms; or a component with all its users.
/// A large room has one of deliveries, beside those of its people, a network has one beside those of its users, and a zone has two
/// beside those of its domains.
public enum SendingAccount: Hashable, Sendable, CustomStringConvertible {
  case user(Party)
  /// The users whose clients are in one network, by the network's name (`ClientNetworks`).
  case network(String)
  case domain(String)
  /// The domains of a zone (`DomainZone`) whose users are known here (`KnownDomains`), or its other domains: subdomains cost nothing.
  case zone(String, isKnown: Bool)
  case component(String)
  /// A large room with all who post to it.
  case room(BareJID)
  /// The unverified peers of one network, or a single unverified peer if networks are not distinguished.
  case peer(String)

  public var description: String {
    switch self {
    case .user(let party): party.address.description
    case .room(let address): address.description
    case .network(let name), .domain(let name), .zone(let name, _), .component(let name), .peer(let name): name
    }
  }

  /// The name with which an account takes its share of a common resource: for a remote domain its zone (`DomainZone`), since
  /// subdomains cost nothing.
  public var shareName: String {
    if case .domain(let name) = self { DomainZone.of(name) } else { description }
  }

  /// Creates the account of an author: a local user, a remote domain, or a component.
  init(of author: Party, in realms: RealmTable) {
    let domain = author.address.domain
    self =
      !author.realm.isRemote
      ? .user(author) : realms.isFederated(author.realm) ? .domain(domain) : .component(domain)
  }

  /// The longest pause of a session or stream of the account.
  var pauseMax: Duration { if case .peer = self { Limits.sendingPeerPauseMax } else { Limits.sendingPauseMax } }

  func rates(_ policy: SendingPolicy) -> SendingRates {
    switch self {
    case .user: policy.rates
    case .network: policy.networkRates
    case .room: policy.rates.ofRoom
    case .domain, .peer: SendingRates(ofDomains: 1)
    case .zone(_, let isKnown):
      SendingRates(ofDomains: isKnown ? Limits.sendingKnownZoneDomains : Limits.sendingZoneDomains)
    case .component:
      SendingRates(
        stanzas: Limits.sendingDomainStanzas, bytes: Limits.sendingComponentBytes,
        deliveries: Limits.sendingDomainDeliveries)
    }
  }
}

/// An account that has reached a bound of what it may send.
public struct BoundAccount: Hashable, Sendable {
  public enum Bound: String, Sendable { case stanzas, bytes, deliveries, day }

  public let account: SendingAccount
  public let bound: Bound
  /// The time at which the bound was last reached.
  public let at: Timestamp
}

struct SendingRates: Sendable {
  let stanzas: Rate
  let bytes: Rate
  let deliveries: Rate

  /// The rates of a room, calculated from those of a user.
  var ofRoom: SendingRates {
    SendingRates(
      stanzas: stanzas, bytes: bytes,
      deliveries: Rate(
        burst: deliveries.burst, perSecond: deliveries.perSecond * Double(Limits.sendingRoomUsers)))
  }

  /// Returns the seconds in which the rates allow as much.
  func seconds(stanzas: Int, bytes: Int, deliveries: Int) -> Double {
    Double(stanzas) / self.stanzas.perSecond + Double(bytes) / self.bytes.perSecond
      + Double(deliveries) / self.deliveries.perSecond
  }
}

extension SendingRates {
  /// Creates the rates of so many remote domains together.
  init(ofDomains count: Int) {
    self.init(
      stanzas: Limits.sendingDomainStanzas.times(count), bytes: Limits.sendingDomainBytes.times(count),
      deliveries: Limits.sendingDomainDeliveries.times(count))
  }
}

/// The charge for a post that is delivered to everybody in a large room: as many deliveries as the room has sessions. The
/// author is charged when it is posted, so that the author's next stanzas wait. The charge is refunded if few sessions got it.
///
/// The room is charged when the post is judged, so that refused posts do not use up its budget.
final class DeliveryCharge: Sendable {
  private let budgets: [SendingBudget]
  private let room: SendingBudget?
  private let load: RoomLoad?
  private let count: Int
  private let isGivenBack = Atomic<Bool>(false)
  private let hasChargedRoom = Atomic<Bool>(false)

  /// - Parameters:
  ///   - room: the budget of the room; `nil` if the post is not charged to it.
  ///   - load: the deliveries of that room that wait, by author.
  init(
    _ count: Int, to budgets: SendingBudget..., in room: SendingBudget? = nil, _ load: RoomLoad? = nil, now: Timestamp
  ) {
    self.budgets = budgets
    self.room = room
    self.load = load
    self.count = count
    owe(count, now)
  }

  /// Refuses the post if its room has too much debt already, or if too many deliveries of the room or by the author
  /// wait. It may be called again for a post that is judged again.
  func checkRoom(now: Timestamp) throws(Problem) {
    if hasChargedRoom.load(ordering: .relaxed) { return }
    if let room, let author = budgets.last { try room.checkRoom(load, by: author, now: now) }
  }

  /// Charges the room for an accepted post. Only the first call has an effect, as with `giveBack`.
  func chargeRoom(now: Timestamp) {
    guard let room, !isGivenBack.load(ordering: .relaxed), !hasChargedRoom.exchange(true, ordering: .relaxed) else {
      return
    }
    room.owe(deliveries: count, now: now)
    load?.expect(count)
  }

  private func owe(_ deliveries: Int, _ now: Timestamp) {
    for budget in budgets { budget.owe(deliveries: deliveries, now: now) }
    if hasChargedRoom.load(ordering: .relaxed) { room?.owe(deliveries: deliveries, now: now) }
  }

  /// Charges the same amount `times` more.
  func add(_ times: Int, now: Timestamp) {
    if times > 0 { owe(times * count, now) }
  }

  /// Refunds the charge. Only the first call has an effect, since a failed batch is judged again.
  func giveBack(now: Timestamp) {
    if isGivenBack.exchange(true, ordering: .relaxed) { return }
    owe(-count, now)
  }
}

/// The amount that one account may still send, in stanzas or messages, in bytes, and in deliveries to the sessions in large
/// rooms. All sessions of a user, and all streams of a domain, share it, so that an account gets no more over many connections
/// than over one.
///
/// Requests and messages of the app protocol are refused when the budget is spent (`take`), since HTTP has an answer for
/// that. XMPP has none that clients expect: a stanza that has been read is always handled, in order (RFC 6120 10.1), and
/// charged even if the budget is spent. While the account is in debt, the server does not read the session that made the
/// debt, the streams of a server or component, and an app's WebSocket that has sent too many bytes; nor connections that begin
/// meanwhile, so that another connection gains no stanza. Nothing is lost or refused, since TCP holds back the client's data.
/// Only reading pauses: stanzas for the account are still delivered, and acknowledgements (XEP-0198) of stanzas read before,
/// requests for them, and pings of the server are still written.
///
/// Acknowledgements and pings of the client are queued behind its stanzas in the stream, so they wait as well. To read them
/// and keep the stanzas would take unlimited memory. Two rules keep a waiting client connected:
///
/// - A pause is short: the debt is that of the last stanza of each session, some milliseconds for a small stanza and a
///   quarter of a second for the largest, and never longer than `SendingAccount.pauseMax`. Input is therefore read at
///   least that often, so the connection does not seem silent.
/// - A request for acknowledgement is not overdue while its answer may be behind stanzas that have not been read yet
///   (`mayHoldInput`).
///
/// All other input counts as a stanza, too: other elements of a stream, control frames of a WebSocket, commands of the app
/// protocol other than messages. Acknowledgements that the protocols need are free.
///
/// The answers of a user's client to requests of others are charged only by bytes, not as stanzas, since others could use up
/// the budget otherwise.
///
/// Reads of what a user's sessions have missed are charged beyond an allowance of their own (`oweMissed`): who was away for long,
/// with several clients, sends at once all the same, and who connects again and again is charged.
///
/// A remote domain shares two more budgets with the other domains of its zone: one for domains whose users are known here, and one
/// for all others. Each stanza of the domain is also charged to the one that applies, so that unknown domains do not slow known ones.
///
/// The users of one network share one more budget, too, so that many accounts of one attacker send no more together than everybody
/// else can bear. What a user's sessions in this network send, and what is charged for it later, is also charged there. While the
/// network is in debt, those wait who have sent more than an equal share of what it may (`AccountShares`), each until that share has
/// paid for it: so the flood of one account does not hold up the others. Requests of the app by those who would wait longer than
/// `Limits.sendingNetworkPauseShort` are refused. A user has a budget object for each network, all of which share what is the user's own.
///
/// A budget is an object that a session keeps, with a lock of its own: sessions of users in different networks never wait for each
/// other.
public final class SendingBudget: Sendable {
  public let account: SendingAccount
  private let rates: SendingRates
  let isUnlimited: Bool
  private let ofZone: OfZone?
  private let ofNetwork: OfNetwork?
  private let reports: SendingReports
  private let shared: Shared

  /// The budgets of a domain's zone.
  struct OfZone: Sendable {
    let domain: String
    let domains: KnownDomains
    let ofKnown: SendingBudget
    let ofOthers: SendingBudget
  }

  /// The budget of a user's network.
  private struct OfNetwork: Sendable {
    let budget: SendingBudget
    let user: UserID
    /// The user's budget without a network, which lasts for as long as this one.
    let own: SendingBudget
  }

  /// The budget of the zone or network to which everything is charged as well; `nil` for none.
  private var behind: SendingBudget? {
    if let ofNetwork { return ofNetwork.budget }
    return ofZone.map { $0.domains.contains($0.domain) ? $0.ofKnown : $0.ofOthers }
  }

  /// What all budgets of one account have in common.
  private final class Shared: Sendable {
    let state: Mutex<State>

    init(_ state: State) { self.state = Mutex(state) }
  }

  private struct State {
    var stanzas: TokenBucket
    var bytes: TokenBucket
    var deliveries: TokenBucket
    var sessionStarts: TokenBucket
    var polls: TokenBucket
    /// The stanzas that reads of what sessions have missed may still count as without being charged.
    var missedReads: TokenBucket
    /// The shares that the users of a network have of what it may send.
    var shares: AccountShares
    /// The end of the time for which the account waits for a room.
    var waitsUntil: Timestamp?
    /// The bound that was reached last.
    var reached: (bound: BoundAccount.Bound, at: Timestamp)?

    /// Returns the time for which the account still waits for a room; zero if the clock was set back meanwhile.
    func wait(now: Timestamp) -> Duration {
      guard let waitsUntil, now < waitsUntil, waitsUntil <= now + Limits.sendingRoomDebtMax else { return .zero }
      return .milliseconds(waitsUntil.milliseconds - now.milliseconds)
    }

    /// - Parameter user: The user of the network that is charged; `nil` for another account.
    mutating func owe(
      _ rates: SendingRates, stanzas: Int = 0, bytes: Int = 0, deliveries: Int = 0, by user: UserID?, now: Timestamp
    ) {
      if stanzas != 0 { self.stanzas.owe(rates.stanzas, count: stanzas, now: now) }
      if bytes != 0 { self.bytes.owe(rates.bytes, count: bytes, now: now) }
      if deliveries != 0 { self.deliveries.owe(rates.deliveries, count: deliveries, now: now) }
      guard let user else { return }
      shares.add(rates.seconds(stanzas: stanzas, bytes: bytes, deliveries: deliveries), by: user, now: now)
    }

    /// Returns the time for which the account has to wait, and the bound; `nil` if it need not.
    ///
    /// - Parameter user: The user of the network who asks; `nil` for another account.
    mutating func debt(
      _ rates: SendingRates, by user: UserID?, now: Timestamp
    ) -> (time: Duration, bound: SendingBound)? {
      let ofStanzas = stanzas.debt(rates.stanzas, now: now) ?? .zero
      let ofBytes = bytes.debt(rates.bytes, now: now) ?? .zero
      let ofDeliveries = max(deliveries.debt(rates.deliveries, now: now) ?? .zero, wait(now: now))
      let whole = max(ofStanzas, ofBytes, ofDeliveries)
      if whole == .zero { return nil }
      let time = if let user { shares.wait(of: user, atMost: whole, now: now) } else { whole }
      if time == .zero { return nil }
      let bound: SendingBound = whole == ofStanzas ? .stanzas : whole == ofBytes ? .bytes : .deliveries
      return (time, bound)
    }
  }

  init(
    _ account: SendingAccount, _ rates: SendingRates, isUnlimited: Bool = false, in zone: OfZone? = nil,
    _ reports: SendingReports, now: Timestamp
  ) {
    self.account = account
    self.rates = rates
    self.isUnlimited = isUnlimited
    ofZone = zone
    ofNetwork = nil
    self.reports = reports
    shared = Shared(
      State(
        stanzas: TokenBucket(rates.stanzas, now: now), bytes: TokenBucket(rates.bytes, now: now),
        deliveries: TokenBucket(rates.deliveries, now: now),
        sessionStarts: TokenBucket(Limits.sessionStartRate, now: now), polls: TokenBucket(Limits.pollRate, now: now),
        missedReads: TokenBucket(Limits.missedReadRate, now: now), shares: AccountShares(now: now)))
  }

  /// Creates the budget of a user in a network.
  ///
  /// - Parameter own: The user's budget without one.
  init(_ own: SendingBudget, of user: UserID, in network: SendingBudget) {
    account = own.account
    rates = own.rates
    isUnlimited = own.isUnlimited
    ofZone = nil
    ofNetwork = OfNetwork(budget: network, user: user, own: own)
    reports = own.reports
    shared = own.shared
  }

  /// Counts a session that begins or is resumed.
  ///
  /// - Returns: `nil`, or, if too many sessions have begun and this one was not counted, the time after which to try again.
  public func startSession(now: Timestamp) -> Duration? {
    if isUnlimited { return nil }
    let isTaken = shared.state.withLock { $0.sessionStarts.take(Limits.sessionStartRate, now: now) == nil }
    return isTaken ? nil : Limits.sessionStartRetry
  }

  /// Counts a long poll that waits for events, and returns as `startSession`. While the account is in debt for stanzas the poll must
  /// wait as well, since it reads the user's contacts and rooms.
  public func startPoll(now: Timestamp) -> Duration? {
    if isUnlimited { return nil }
    let isTaken = shared.state.withLock { state in
      state.stanzas.debt(rates.stanzas, now: now) == nil && state.polls.take(Limits.pollRate, now: now) == nil
    }
    return isTaken ? nil : Limits.pollRetry
  }

  /// Refuses a request of the app while the account is in debt for stanzas, sent or charged for slow posts (`JudgingTime`,
  /// `Limits.rowsPerStanza`). It charges nothing: requests other than messages are charged afterwards, by their actual cost.
  ///
  /// - Parameter log: the log that reports the rate's state to the client.
  /// - Throws: `.tooFast` `requests-too-fast`, with the seconds until the debt is paid.
  public func checkStanzas(now: Timestamp, telling log: RateLog? = nil) throws(Problem) {
    if isUnlimited { return }
    let wait: Int? = shared.state.withLock { state in
      let wait = state.stanzas.wait(rates.stanzas, count: 0, now: now)
      if wait != nil { state.reached = (bound: BoundAccount.Bound.stanzas, at: now) }
      return wait
    }
    guard let wait else { return try checkNetwork("requests-too-fast", now: now, telling: log) }
    log?.note(RateLimitStatus(policy: "messages", remaining: 0, reset: wait), refused: true)
    reports.refused("messages")
    throw Problem(
      .tooFast, "requests-too-fast", "You have sent too much, or what has taken the server long. Wait a little.",
      retryAfter: wait)
  }

  /// Refuses a request of the app while the user's network is in debt, if the user would wait long for it (`AccountShares`).
  ///
  /// - Parameter policy: The rate of the user that the request counts for.
  private func checkNetwork(
    _ code: String, policy: String = "messages", now: Timestamp, telling log: RateLog?
  ) throws(Problem) {
    guard let ofNetwork, let debt = ofNetwork.budget.debt(by: ofNetwork.user, now: now),
      debt.time > Limits.sendingNetworkPauseShort
    else { return }
    let wait = Int(debt.time.components.seconds) + 1
    log?.note(RateLimitStatus(policy: policy, remaining: 0, reset: wait), refused: true)
    reports.refused(policy)
    throw Problem(
      .tooFast, code, "Too much is sent from your network, and much of it by you. Wait a little.", retryAfter: wait)
  }

  /// Charges what a session or stream has read. Returns the time for which it is not to be read; `nil` if it may be.
  public func charge(stanzas: Int, bytes: Int, now: Timestamp) -> Duration? {
    if isUnlimited { return nil }
    let behind = behind
    let ofBehind = behind?.debt(adding: stanzas, bytes: bytes, by: ofNetwork?.user, now: now)
    let own = debt(adding: stanzas, bytes: bytes, now: now)
    // A pause is reported once, even if both budgets are in debt.
    if let own {
      reports.paused(account, by: own.bound)
    } else if let behind, let ofBehind {
      reports.paused(behind.account, by: ofBehind.bound)
    }
    guard own != nil || ofBehind != nil else { return nil }
    let time = max(own?.time ?? .zero, ofBehind?.time ?? .zero)
    return min(max(time, Limits.sendingPauseMin), account.pauseMax)
  }

  /// Charges what was read. Returns the debt and its bound; `nil` if there is none.
  ///
  /// - Parameter user: The user of the network whose budget it is; `nil` for another account.
  private func debt(
    adding stanzas: Int = 0, bytes: Int = 0, by user: UserID? = nil, now: Timestamp
  ) -> (time: Duration, bound: SendingBound)? {
    shared.state.withLock { state in
      state.owe(rates, stanzas: stanzas, bytes: bytes, by: user, now: now)
      guard let debt = state.debt(rates, by: user, now: now) else { return nil }
      let bound: BoundAccount.Bound =
        switch debt.bound {
        case .stanzas: .stanzas
        case .bytes: .bytes
        case .deliveries: .deliveries
        }
      state.reached = (bound: bound, at: now)
      return debt
    }
  }

  /// Calls `end` after a pause, or earlier if a refund pays the debt.
  ///
  /// - Parameter schedule: calls its second argument after the time.
  public func endPause(
    after time: Duration, _ clock: any Clock,
    _ schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
    end: @escaping @Sendable () -> Void
  ) {
    let step = min(time, Limits.sendingPauseStep)
    schedule(step) {
      if time > step, self.isInDebt(now: clock.now) {
        self.endPause(after: time - step, clock, schedule, end: end)
      } else {
        end()
      }
    }
  }

  private func isInDebt(by user: UserID? = nil, now: Timestamp) -> Bool {
    shared.state.withLock { $0.debt(rates, by: user, now: now) != nil }
      || behind?.isInDebt(by: ofNetwork?.user, now: now) == true
  }

  /// Charges stanzas; one that names many people counts as one for each, and one that costs more than others as several.
  public func owe(stanzas count: Int, now: Timestamp) { owe(stanzas: count, deliveries: 0, by: nil, now: now) }

  /// - Parameter user: The user of the network whose budget it is; `nil` for another account.
  private func owe(stanzas: Int, bytes: Int = 0, deliveries: Int, by user: UserID?, now: Timestamp) {
    if isUnlimited { return }
    behind?.owe(stanzas: stanzas, bytes: bytes, deliveries: deliveries, by: ofNetwork?.user, now: now)
    shared.state.withLock {
      $0.owe(rates, stanzas: stanzas, bytes: bytes, deliveries: deliveries, by: user, now: now)
    }
  }

  /// Charges a read of what a session of the account has missed, as far as it exceeds what such reads may take for nothing.
  ///
  /// - Parameter count: The stanzas that take as long as the read.
  package func oweMissed(stanzas count: Int, now: Timestamp) {
    if isUnlimited { return }
    let charged: Int = shared.state.withLock { state in
      let free = min(count, state.missedReads.whole(Limits.missedReadRate, now: now))
      state.missedReads.owe(Limits.missedReadRate, count: free, now: now)
      return count - free
    }
    if charged > 0 { owe(stanzas: charged, now: now) }
  }

  /// Charges deliveries; a negative number gives back.
  public func owe(deliveries count: Int, now: Timestamp) { owe(stanzas: 0, deliveries: count, by: nil, now: now) }

  /// Makes the account wait until a room is no longer in debt, for `Limits.sendingRoomDebtMax` at most. With more debt, or with too
  /// many waiting deliveries (`FanOutLoad`), the room refuses posts.
  func wait(for room: SendingBudget, isHeldUp: Bool = false, now: Timestamp) {
    let ofRoom: Duration? = room.shared.state.withLock { $0.deliveries.debt(room.rates.deliveries, now: now) }
    guard !isUnlimited, let debt = isHeldUp ? Limits.sendingRoomDebtMax : ofRoom else { return }
    let end = now + min(debt, Limits.sendingRoomDebtMax)
    shared.state.withLock { $0.waitsUntil = end }
  }

  /// Refuses a post to the room of this budget if the room's debt exceeds `Limits.sendingRoomDebtMax`, or if the waiting deliveries of
  /// the room or by the author exceed an equal share.
  func checkRoom(_ load: RoomLoad?, by author: SendingBudget, now: Timestamp) throws(Problem) {
    if isUnlimited { return }
    if load?.isAuthorBeyondShare == true { throw author.refusal(now: now) }
    let isHeldUp = load?.isRoomBeyondShare ?? false
    let wait: Int? = shared.state.withLock { state in
      let debt = state.deliveries.debt(rates.deliveries, now: now) ?? Duration.zero
      guard isHeldUp || debt > Limits.sendingRoomDebtMax else { return nil }
      state.reached = (bound: BoundAccount.Bound.deliveries, at: now)
      return state.deliveries.wait(rates.deliveries, count: 0, now: now) ?? 1
    }
    guard let wait else { return }
    reports.refused(account)
    throw Problem(
      .tooFast, "deliveries-too-fast", "Too much is said in this room at the moment. Wait a little.", retryAfter: wait)
  }

  /// Notes and returns the refusal of a post by the account whose waiting deliveries exceed an equal share (`FanOutLoad`).
  private func refusal(now: Timestamp) -> Problem {
    shared.state.withLock { $0.reached = (bound: BoundAccount.Bound.deliveries, at: now) }
    reports.refused("deliveries")
    return Self.tooManyDeliveries(wait: 1)
  }

  private static func tooManyDeliveries(wait: Int) -> Problem {
    Problem(
      .tooFast, "deliveries-too-fast", "What you do in large rooms reaches too many at once. Wait a little.",
      retryAfter: wait)
  }

  /// Returns whether the account is in debt for deliveries.
  func owesDeliveries(now: Timestamp) -> Bool {
    !isUnlimited && shared.state.withLock { $0.deliveries.debt(rates.deliveries, now: now) != nil }
  }

  /// Charges what a request sends, or refuses it. It refuses everything while the account is in debt for deliveries.
  ///
  /// - Parameters:
  ///   - log: the log that reports the rate's state to the client; a socket has none.
  ///   - waitsForRooms: whether it is refused while the account waits for a room. Only messages of the app are: other
  ///     requests may be those of a moderator who has just written in a flooded room.
  /// - Throws: `.tooFast`; then nothing is charged.
  public func take(
    messages: Int = 0, bytes: Int = 0, now: Timestamp, telling log: RateLog? = nil, waitsForRooms: Bool = true
  ) throws(Problem) {
    if isUnlimited { return }
    if messages > 0 {
      try checkNetwork("messages-too-fast", now: now, telling: log)
    } else if bytes > 0 {
      try checkNetwork("bytes-too-fast", policy: "bytes", now: now, telling: log)
    }
    let found: (ofMessages: Int?, ofBytes: Int?, ofDeliveries: Int?, status: RateLimitStatus?)
    found = shared.state.withLock { state in
      let ofRoom = waitsForRooms ? state.wait(now: now) : Duration.zero
      let ofDeliveries =
        state.deliveries.wait(rates.deliveries, count: 0, now: now)
        ?? (ofRoom > .zero ? Int(ofRoom.components.seconds) + 1 : nil)
      if ofDeliveries != nil {
        state.reached = (bound: BoundAccount.Bound.deliveries, at: now)
        return (nil, nil, ofDeliveries, nil)
      }
      // The burst at most, since the bucket never has more; further messages become debt.
      let ofMessages =
        messages == 0 ? nil : state.stanzas.wait(rates.stanzas, count: min(messages, rates.stanzas.burst), now: now)
      let ofBytes = bytes == 0 ? nil : state.bytes.wait(rates.bytes, count: bytes, now: now)
      if ofMessages == nil, ofBytes == nil {
        state.stanzas.owe(rates.stanzas, count: messages, now: now)
        state.bytes.owe(rates.bytes, count: bytes, now: now)
      } else {
        state.reached = (bound: ofMessages == nil ? BoundAccount.Bound.bytes : BoundAccount.Bound.stanzas, at: now)
      }
      let isTold = log != nil && messages > 0
      return (ofMessages, ofBytes, nil, isTold ? state.stanzas.status("messages", rates.stanzas, now: now) : nil)
    }
    if let wait = found.ofDeliveries {
      log?.note(RateLimitStatus(policy: "deliveries", remaining: 0, reset: wait), refused: true)
      reports.refused("deliveries")
      throw Self.tooManyDeliveries(wait: wait)
    }
    if let status = found.status { log?.note(status, refused: found.ofMessages != nil) }
    if let wait = found.ofMessages {
      reports.refused("messages")
      throw Problem(
        .tooFast, "messages-too-fast", "You send messages too fast. Wait a little.", retryAfter: wait)
    }
    if let wait = found.ofBytes {
      log?.note(RateLimitStatus(policy: "bytes", remaining: 0, reset: wait), refused: true)
      reports.refused("bytes")
      throw Problem(.tooFast, "bytes-too-fast", "You send too much at once. Wait a little.", retryAfter: wait)
    }
    behind?.owe(stanzas: messages, bytes: bytes, deliveries: 0, by: ofNetwork?.user, now: now)
  }

  /// Returns whether sessions of the account may have unread input. While input waits, each pause ends with a fraction of a
  /// second's rate in the budget, which is used up at once. So a budget of more than one second's rate means that no input
  /// has waited for a second.
  public func mayHoldInput(now: Timestamp) -> Bool {
    let mayOwn = shared.state.withLock { state in
      state.stanzas.whole(rates.stanzas, now: now) < Int(rates.stanzas.perSecond)
        || state.bytes.whole(rates.bytes, now: now) < Int(rates.bytes.perSecond)
        || state.deliveries.whole(rates.deliveries, now: now) < Int(rates.deliveries.perSecond)
        || (state.waitsUntil.map { now < $0 + .seconds(1) } ?? false)
    }
    return mayOwn || behind?.mayHoldInput(now: now) == true
  }

  /// Returns the bound that the account has reached in the last minute; `nil` if it has reached none, or if it is of unverified
  /// peers, which could crowd all others out of the list.
  func reached(now: Timestamp) -> BoundAccount? {
    if case .peer = account { return nil }
    guard let (bound, at) = shared.state.withLock({ $0.reached }), now < at + Limits.sendingListed else { return nil }
    return BoundAccount(account: account, bound: bound, at: at)
  }

  /// Returns whether the budget is the same as a new one.
  func isFull(now: Timestamp) -> Bool {
    shared.state.withLock { state in
      state.stanzas.isFull(rates.stanzas, now: now) && state.bytes.isFull(rates.bytes, now: now)
        && state.deliveries.isFull(rates.deliveries, now: now) && state.wait(now: now) == .zero
        && state.sessionStarts.isFull(Limits.sessionStartRate, now: now)
        && state.polls.isFull(Limits.pollRate, now: now)
        && state.missedReads.isFull(Limits.missedReadRate, now: now)
    }
  }
}

/// The budgets of all accounts that have a session or have sent something in the last seconds. A budget outlives the session,
/// so that a new session does not start with a full one.
public final class SendingBudgets: Sendable {
  private let policy: SendingPolicy
  private let known: KnownDomains
  private let networks: ClientNetworks
  private let reports: SendingReports
  private let stored: StoredBytes
  private let state = Mutex(State())

  private struct State {
    var budgets: [SendingAccount: SendingBudget] = [:]
    var sweepsAt = Limits.sendingBudgetsSwept
  }

  init(
    _ policy: SendingPolicy, known: KnownDomains, networks: ClientNetworks = ClientNetworks(), metrics: Metrics,
    logger: Logger
  ) {
    self.policy = policy
    self.known = known
    self.networks = networks
    stored = StoredBytes(policy)
    reports = SendingReports(metrics: metrics, logger: logger)
  }

  /// Returns the budget of a user in the network of a client; without one the same for everybody who asks.
  ///
  /// - Parameter peer: The address of the client (`LiveSession.peer`); `nil` if it is not known.
  public func budget(of user: Party, from peer: String?, now: Timestamp) -> SendingBudget {
    let account = SendingAccount.user(user)
    if let peer, policy.unlimited.contains(peer: peer) { return unlimited(account, now: now) }
    guard !policy.unlimited.contains(account), let network = networks.name(of: peer) else {
      return budget(of: account, now: now)
    }
    let (own, ofNetwork) = state.withLock { state in
      (
        self.budget(of: account, in: &state, now: now),
        self.budget(of: SendingAccount.network(network), in: &state, now: now)
      )
    }
    return SendingBudget(own, of: user.id, in: ofNetwork)
  }

  /// Returns the budget that an author's posts are charged to.
  func budget(ofAuthor author: Party, from peer: String?, in realms: RealmTable, now: Timestamp) -> SendingBudget {
    switch SendingAccount(of: author, in: realms) {
    case .user(let user): budget(of: user, from: peer, now: now)
    case let account: budget(of: account, now: now)
    }
  }

  /// Returns whether an author has no limits, whatever the address of the client.
  func isUnlimited(_ author: Party, in realms: RealmTable) -> Bool {
    policy.unlimited.contains(SendingAccount(of: author, in: realms))
  }

  private func unlimited(_ account: SendingAccount, now: Timestamp) -> SendingBudget {
    SendingBudget(account, account.rates(policy), isUnlimited: true, reports, now: now)
  }

  /// Returns the budget of an account, which all callers share.
  public func budget(of account: SendingAccount, now: Timestamp) -> SendingBudget {
    if policy.unlimited.contains(account) { return unlimited(account, now: now) }
    return state.withLock { self.budget(of: account, in: &$0, now: now) }
  }

  private func budget(of account: SendingAccount, in state: inout State, now: Timestamp) -> SendingBudget {
    if let existing = state.budgets[account] { return existing }
    if state.budgets.count >= state.sweepsAt { sweep(&state, now: now) }
    var zone: SendingBudget.OfZone?
    if case .domain(let name) = account {
      let ofZone = DomainZone.of(name)
      zone = SendingBudget.OfZone(
        domain: name, domains: known,
        ofKnown: self.budget(of: .zone(ofZone, isKnown: true), in: &state, now: now),
        ofOthers: self.budget(of: .zone(ofZone, isKnown: false), in: &state, now: now))
    }
    let made = SendingBudget(account, account.rates(policy), in: zone, reports, now: now)
    state.budgets[account] = made
    return made
  }

  /// Returns the accounts that have reached a bound in the last minute, or the bound of today, in the order of addresses.
  public func bound(now: Timestamp) -> [BoundAccount] {
    let budgets = state.withLock { Array($0.budgets.values) }
    let found = budgets.compactMap { $0.reached(now: now) } + stored.reached(now: now)
    return Array(
      found.sorted { $0.account.description < $1.account.description }.prefix(Limits.sendingListedMax))
  }

  /// Returns the accounts to which an author's stored bytes count: for a remote user also the domain, and its zone.
  func storing(_ author: Party, in realms: RealmTable) -> [SendingAccount] {
    guard author.realm.isRemote else { return [.user(author)] }
    let domain = author.address.domain
    var accounts = [SendingAccount.user(author), .domain(domain)]
    if realms.isFederated(author.realm), !policy.unlimited.contains(.domain(domain)) {
      accounts.append(.zone(DomainZone.of(domain), isKnown: known.contains(domain)))
    }
    return accounts
  }

  /// Refuses a post of so many bytes if one of the accounts would then have stored more than it may in a day.
  ///
  /// - Parameters:
  ///   - storing: the bytes of the batch that are not counted yet.
  ///   - isNeeded: whether twice as much may be stored.
  func checkStored(
    _ bytes: Int64, of accounts: [SendingAccount], beside storing: [SendingAccount: Int64], isNeeded: Bool = false,
    at time: Timestamp
  ) throws(Problem) {
    do throws(Problem) { try stored.check(bytes, of: accounts, beside: storing, isNeeded: isNeeded, at: time) } catch {
      reports.refused("day-bytes")
      throw error
    }
  }

  /// Counts the bytes that a batch has stored.
  func noteStored(_ bytes: [SendingAccount: Int64], at time: Timestamp) {
    if !bytes.isEmpty { stored.add(bytes, at: time) }
  }

  /// Removes budgets that are full, not listed and used by no session. The next sweep is due when the number has doubled.
  private func sweep(_ state: inout State, now: Timestamp) {
    for account in Array(state.budgets.keys)
    where state.budgets[account]?.isFull(now: now) == true && state.budgets[account]?.reached(now: now) == nil {
      if isKnownUniquelyReferenced(&state.budgets[account]) { state.budgets[account] = nil }
    }
    state.sweepsAt = max(Limits.sendingBudgetsSwept, 2 * state.budgets.count)
  }

  /// The number of budgets.
  var count: Int { state.withLock { $0.budgets.count } }
}

/// The metric and the lines of the log about accounts that have reached a limit.
final class SendingReports: Sendable {
  private let metrics: Metrics
  private let logger: Logger
  private let pace = Mutex(
    LogPace(
      interval: Limits.sendingLogInterval, linesOfReasonMax: 1, linesMax: Limits.sendingLinesMax))

  init(metrics: Metrics, logger: Logger) {
    self.metrics = metrics
    self.logger = logger
  }

  func refused(_ rate: String) { metrics.refused(by: rate) }

  /// Reports that a room has refused a post.
  func refused(_ room: SendingAccount) {
    refused("deliveries")
    log(room, by: .deliveries, "a room is sent more than it may deliver, and refuses further messages")
  }

  func paused(_ account: SendingAccount, by bound: SendingBound) {
    metrics.sendingPauses.add(bound)
    log(account, by: bound, "an account sends more than it may, and is read more slowly")
  }

  private func log(_ account: SendingAccount, by bound: SendingBound, _ message: Logger.Message) {
    guard let unlogged = pace.withLock({ $0.note(account.description, now: .now) }) else { return }
    var metadata: Logger.Metadata = ["account": "\(account)", "bound": "\(bound)"]
    if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
    logger.notice(message, metadata: metadata)
  }
}
