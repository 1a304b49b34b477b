import Synchronization

/// Counts the posts of other servers' users whose outcomes are awaited, by the zones of their domains (`DomainZone`): with as many as
/// each link may have, one owner's subdomains would fill the inbox, and everybody would wait.
final class ZonePosts: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func count(_ change: Int, of zone: String) {
    counts.withLock { counts in
      let count = counts[zone, default: 0] + change
      counts[zone] = count > 0 ? count : nil
    }
  }

  /// Returns whether the domains of a zone have so many under way that a link with posts of its own waits. A link without any does
  /// not wait, so that no domain keeps the others of its zone out.
  ///
  /// - Parameters:
  ///   - ofLink: The number that one link may have.
  ///   - isKnown: Whether acquaintances of somebody here have been heard from the link's domain.
  func isFull(_ zone: String, ofLink: Int, isKnown: Bool) -> Bool {
    let most = isKnown ? FederationLimits.postsPerKnownZoneMax : FederationLimits.postsPerZoneMax
    return counts.withLock { $0[zone, default: 0] } >= max(most, ofLink)
  }
}
