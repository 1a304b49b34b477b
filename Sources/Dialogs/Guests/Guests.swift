import Addresses
package import Basics
import Synchronization

/// The domains, numbers and rights of guests (docs/decisions/0014-guests.md). Every guest may be in open rooms; the
/// rest requires a right.
public struct GuestPolicy: Hashable, Sendable {
  public enum Right: String, Sendable, CaseIterable {
    /// Writing to users who have not written first, and inviting them.
    case messages
    /// Creating rooms.
    case rooms
    /// Becoming a member of an open room.
    case memberships
    /// Uploading files.
    case uploads
    /// Getting credentials for TURN servers.
    case calls
  }

  /// The domains that admit guests.
  public var domains: Set<String>
  /// The greatest number of guests at a time; the next is refused.
  public var guestsMax: Int
  /// The greatest number of them from one network (`LoginAttempt.network`).
  public var perNetworkMax: Int
  /// The time for which a guest without a session is kept.
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

/// The current guests. The registry is complete: guests of an earlier process are removed, or added, before any login.
package final class GuestRegistry: Sendable {
  private struct Guest {
    let network: String
    /// The time since which they have no session; meaningless while they have one.
    var idleSince: Timestamp
  }
  private struct State {
    var guests: [UserID: Guest] = [:]
    /// The taken places, in total and by network, including those of guests who are not stored yet.
    var places = 0
    var perNetwork: [String: Int] = [:]
  }
  package let policy: GuestPolicy
  private let state = Mutex(State())

  package init(_ policy: GuestPolicy) { self.policy = policy }

  package func contains(_ user: UserID) -> Bool {
    !policy.domains.isEmpty && state.withLock { $0.guests[user] != nil }
  }

  /// Returns whether this user may act without, or as a guest with, this right.
  package func may(_ right: GuestPolicy.Right, _ user: UserID) -> Bool {
    policy.rights.contains(right) || !contains(user)
  }

  /// Takes a place for a guest who is about to be created.
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

  /// Gives back a place, as the guest was not created.
  package func release(_ network: String) { state.withLock { Self.release(network, &$0) } }

  private static func release(_ network: String, _ state: inout State) {
    state.places -= 1
    let left = state.perNetwork[network, default: 1] - 1
    state.perNetwork[network] = left > 0 ? left : nil
  }

  /// Adds a guest of an earlier process, who may return. They get a place whatever the bounds are.
  package func restore(_ user: UserID, now: Timestamp) {
    state.withLock { state in
      guard state.guests[user] == nil else { return }
      state.places += 1
      state.perNetwork["", default: 0] += 1
      state.guests[user] = Guest(network: "", idleSince: now)
    }
  }

  /// Records a request without a session.
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

  /// Returns the guests whose time is up.
  package func overdue(now: Timestamp, isHere: (UserID) -> Bool) -> [UserID] {
    let here = Set(state.withLock { Array($0.guests.keys) }.filter(isHere))
    return state.withLock { state in
      for user in here { state.guests[user]?.idleSince = now }
      return state.guests.filter { !here.contains($0.key) && $0.value.idleSince + policy.grace <= now }.map(\.key)
    }
  }
}

extension Problem {
  public static let guestLimited = Problem(.forbidden, "guest-limited", "Guests may not do this here.")
}
