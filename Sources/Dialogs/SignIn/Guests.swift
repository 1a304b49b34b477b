import Addresses
package import Basics
import Synchronization

/// Who may come without an account, how many, and what they may do (docs/decisions/0014-guests.md). Everybody may be in open
/// rooms; the rest is a right.
public struct GuestPolicy: Hashable, Sendable {
  public enum Right: String, Sendable, CaseIterable {
    /// To write to users who have not written first, and to invite them.
    case messages
    /// To make rooms.
    case rooms
    /// To become a member of an open room.
    case memberships
    /// To upload files.
    case uploads
    /// To get credentials for TURN servers.
    case calls
  }

  /// The domains that take guests.
  public var domains: Set<String>
  /// At a time, in all; the next is refused.
  public var guestsMax: Int
  /// Of those from one network (`LoginAttempt.network`).
  public var perNetworkMax: Int
  /// How long a guest without a session is kept.
  public var grace: Duration
  public var rights: Set<Right>

  public init(
    domains: Set<String>, guestsMax: Int = 1_000, perNetworkMax: Int = 20, grace: Duration = .seconds(60),
    rights: Set<Right> = []
  ) {
    self.domains = domains
    self.guestsMax = guestsMax
    self.perNetworkMax = perNetworkMax
    self.grace = grace
    self.rights = rights
  }

  public static let none = GuestPolicy(domains: [])
}

/// The guests who are there. All of them: those of a process before are removed, or counted, before anybody is let in.
package final class GuestRegistry: Sendable {
  private struct Guest {
    let network: String
    /// When they were last seen to have no session; meaningless while they have one.
    var idleSince: Timestamp
  }
  private struct State {
    var guests: [UserID: Guest] = [:]
    /// Places that are taken, over all and by network: also by those whom the store does not have yet.
    var places = 0
    var perNetwork: [String: Int] = [:]
  }
  package let policy: GuestPolicy
  private let state = Mutex(State())

  package init(_ policy: GuestPolicy) { self.policy = policy }

  package func contains(_ user: UserID) -> Bool {
    !policy.domains.isEmpty && state.withLock { $0.guests[user] != nil }
  }

  /// Whether this user may do what guests need a right for.
  package func may(_ right: GuestPolicy.Right, _ user: UserID) -> Bool {
    policy.rights.contains(right) || !contains(user)
  }

  /// Takes a place for somebody who is about to come.
  ///
  /// - Throws: `.overloaded`.
  package func reserve(from network: String) throws(Problem) {
    let isFree = state.withLock { state in
      guard state.places < policy.guestsMax, state.perNetwork[network, default: 0] < policy.perNetworkMax else {
        return false
      }
      state.places += 1
      state.perNetwork[network, default: 0] += 1
      return true
    }
    if !isFree {
      throw Problem(
        .overloaded, "too-many-guests", "There are too many guests, here or from your address. Try again later.",
        retryAfter: 60)
    }
  }

  /// Gives it back: they did not come.
  package func release(_ network: String) { state.withLock { Self.release(network, &$0) } }

  private static func release(_ network: String, _ state: inout State) {
    state.places -= 1
    let left = state.perNetwork[network, default: 1] - 1
    state.perNetwork[network] = left > 0 ? left : nil
  }

  /// Somebody of a process before, who may come back. They have a place whatever the bounds say.
  package func restore(_ user: UserID, now: Timestamp) {
    state.withLock { state in
      guard state.guests[user] == nil else { return }
      state.places += 1
      state.perNetwork["", default: 0] += 1
      state.guests[user] = Guest(network: "", idleSince: now)
    }
  }

  /// They have asked for something, without a session.
  package func touch(_ user: UserID, now: Timestamp) {
    if policy.domains.isEmpty { return }
    state.withLock { $0.guests[user]?.idleSince = now }
  }

  package func add(_ user: UserID, from network: String, now: Timestamp) {
    state.withLock { $0.guests[user] = Guest(network: network, idleSince: now) }
  }

  package func remove(_ user: UserID) {
    state.withLock { state in
      if let guest = state.guests.removeValue(forKey: user) { Self.release(guest.network, &state) }
    }
  }

  /// Those whose time is up.
  package func overdue(now: Timestamp, isHere: (UserID) -> Bool) -> [UserID] {
    let here = Set(state.withLock { Array($0.guests.keys) }.filter(isHere))
    return state.withLock { state in
      for user in here { state.guests[user]?.idleSince = now }
      return state.guests.filter { !here.contains($0.key) && $0.value.idleSince + policy.grace <= now }.map(\.key)
    }
  }
}

extension Parley {
  public func takesGuests(domain: String) -> Bool { registries.guests.policy.domains.contains(domain) }

  public func isGuest(_ user: UserID) -> Bool { registries.guests.contains(user) }

  /// A new guest under a name that nobody had. They go when they have had no session for `GuestPolicy.grace`, also where
  /// none ever comes.
  ///
  /// - Parameter network: what per-address bounds count. They are the guests' own: logins with a password do not feel them.
  /// - Throws: `.forbidden` where no guests are taken; `.overloaded`, `.tooFast` at a bound.
  public func makeGuest(in domain: String, from network: String) async throws(Problem) -> User {
    guard takesGuests(domain: domain), let realm = realm(domain: domain) else {
      throw Problem(.forbidden, "guests-off", "\(domain) takes no guests.")
    }
    try registries.guests.reserve(from: network)
    do throws(Problem) {
      try pace(.guest(network: network))
      let now = clock.now
      // A name that nobody can have asked for: no cache knows of it.
      let user = try await work(keepingCaches: true) { writer in
        try writer.insertGuest(try BareJID(local: Self.guestName(), domain: realm.domain), in: realm.id, createdAt: now)
      }
      registries.guests.add(user.id, from: network, now: now)
      return user
    } catch {
      registries.guests.release(network)
      throw error
    }
  }

  /// A random UUID (XEP-0175 2).
  private static func guestName() -> String { Hex.uuid(.random(count: 16), version: 4) }

  /// Removes the guests whose time is up, and returns how many. What they wrote in rooms stays, under their nicks.
  @discardableResult
  public func sweepGuests() async throws(Problem) -> Int {
    let gone = registries.guests.overdue(now: clock.now) { !hub.onlineSessions(of: $0).isEmpty }
    for user in gone { try await remove(guest: user) }
    return gone.count
  }

  /// Removes the guests whom a process before has left, and returns how many: before anybody is let in. Who has a login of the
  /// app may come back by it, and is given the time for it.
  @discardableResult
  public func removeGuests() async throws(Problem) -> Int {
    var count = 0
    let left = try await read { reader in
      try reader.guests().map { user in
        (user, mayReturn: try !reader.grants(of: user).isEmpty, domain: try reader.party(user)?.address.domain)
      }
    }
    for (user, mayReturn, domain) in left {
      if mayReturn, let domain, takesGuests(domain: domain) {
        registries.guests.restore(user, now: clock.now)
      } else {
        try await remove(guest: user)
        count += 1
      }
    }
    return count
  }

  private func remove(guest user: UserID) async throws(Problem) {
    do throws(Problem) {
      try await setState(of: user, .deleted, onlyGuest: true)
    } catch  where error.kind == .missing {
      // They went by themselves, or are a guest no more.
    }
    registries.guests.remove(user)
  }

  /// What `user` needs for a service; nil where it wants nothing, or they get nothing.
  public func credentials(for user: Party, at service: ExternalService) -> ExternalService.Credentials? {
    registries.guests.may(.calls, user.id) ? options.services.credentials(for: user, at: service, now: clock.now) : nil
  }
}

extension Problem {
  public static let guestLimited = Problem(.forbidden, "guest-limited", "Guests may not do this here.")
}
