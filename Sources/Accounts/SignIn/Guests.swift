import Addresses
import Basics
public import Dialogs

/// Guests: users without an account.
extension Accounts {
  public func takesGuests(domain: String) -> Bool { parley.registries.guests.policy.domains.contains(domain) }

  /// Creates a guest under a new name. Guests are removed after having had no session for `GuestPolicy.grace`, also if
  /// none is ever opened.
  ///
  /// - Parameter network: the network for per-address bounds, which are separate from those of logins with a password.
  /// - Throws: `.forbidden` if guests are off; `.overloaded`, `.tooFast` at a bound.
  public func makeGuest(in domain: String, from network: String) async throws(Problem) -> User {
    guard takesGuests(domain: domain), let realm = parley.realm(domain: domain) else {
      throw Problem(.forbidden, "guests-off", "\(domain) takes no guests.")
    }
    try parley.registries.guests.reserve(from: network)
    do throws(Problem) {
      try pace(.guest(network: network))
      let now = parley.clock.now
      // The name is new and unknown to every cache.
      let user = try await parley.work(keepingCaches: true) { writer in
        try writer.insertGuest(try BareJID(local: Self.guestName(), domain: realm.domain), in: realm.id, createdAt: now)
      }
      parley.registries.guests.add(user.id, from: network, now: now)
      return user
    } catch {
      parley.registries.guests.release(network)
      throw error
    }
  }

  /// Returns a random UUID (XEP-0175 2).
  private static func guestName() -> String { Hex.uuid(.random(count: 16), version: 4) }

  /// Removes the guests whose time is up, and returns their number. Their messages in rooms remain, under their nicks.
  @discardableResult
  public func sweepGuests() async throws(Problem) -> Int {
    let gone = parley.registries.guests.overdue(now: parley.clock.now) { !parley.hub.onlineSessions(of: $0).isEmpty }
    for user in gone { try await remove(guest: user) }
    return gone.count
  }

  /// Removes the guests of an earlier process, and returns their number; called before any login. Those with a login of
  /// the app may return with it, and are given the time for it.
  @discardableResult
  public func removeGuests() async throws(Problem) -> Int {
    var count = 0
    let left = try await parley.read { reader in
      try reader.guests().map { user in
        (user, mayReturn: try !reader.grants(of: user).isEmpty, domain: try reader.party(user)?.address.domain)
      }
    }
    for (user, mayReturn, domain) in left {
      if mayReturn, let domain, takesGuests(domain: domain) {
        parley.registries.guests.restore(user, now: parley.clock.now)
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
      // They have left, or are no longer a guest.
    }
    parley.registries.guests.remove(user)
  }
}
