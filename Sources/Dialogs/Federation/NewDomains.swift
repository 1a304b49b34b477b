public import Addresses
import Basics
import Synchronization

/// The pace at which each user reaches domains elsewhere to which there is no link yet, for all threads. Posts to new addresses are
/// counted by the judge (`Limits.addressesPerAccount`); this counts stanzas that are not stored.
final class NewDomains: Sendable {
  private struct State {
    var buckets: [UserID: TokenBucket] = [:]
    var sweepsAt = Limits.newDomainUsersSwept
  }
  private let state = Mutex(State())

  /// Counts one more domain. Returns `nil` if the user may reach it, otherwise the whole seconds to wait.
  func take(_ user: UserID, now: Timestamp) -> Int? {
    let rate = Limits.newDomainsPerUser
    return state.withLock { state in
      if state.buckets.count >= state.sweepsAt {
        // A new bucket is as good as a full one.
        for (user, bucket) in state.buckets {
          var bucket = bucket
          if bucket.isFull(rate, now: now) { state.buckets[user] = nil }
        }
        state.sweepsAt = max(Limits.newDomainUsersSwept, 2 * state.buckets.count)
      }
      return state.buckets[user, default: TokenBucket(rate, now: now)].take(rate, now: now)
    }
  }
}

extension Hub {
  /// Counts the domain of an address if a user here is the first who sends something to it that is not stored: a link is made for it,
  /// and a stream opened. Returns the refusal of a user who has reached many new domains lately (`Limits.newDomainsPerUser`).
  public func problem(reaching address: BareJID, by party: Party) -> Problem? {
    let (local, domain) = (party.address.domain, address.domain)
    // The server itself and users elsewhere have no pace of their own.
    if party.realm.isRemote || party.id.number == 0 || domain == local { return nil }
    let (component, federation) = links(to: domain)
    guard let federation, let home = realms.home(ofDomain: local), realms.home(ofDomain: domain) != home else {
      return nil
    }
    if let component, realms.home(of: component.party.realm) == home { return nil }
    if federation.hasLink(DomainPair(local: local, remote: domain)) { return nil }
    guard let wait = newDomains.take(party.id, now: clock.now) else { return nil }
    return Problem(
      .tooFast, "too-many-new-domains",
      "You have reached \(Limits.newDomainsPerUser.burst) new servers lately, \(domain) would be one more.",
      retryAfter: wait)
  }
}
