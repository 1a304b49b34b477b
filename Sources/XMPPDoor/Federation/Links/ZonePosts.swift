import Synchronization

/// Counts the posts of remote users whose outcomes are awaited, by the zones of their domains (`DomainZone`). With only a limit for
/// each link, one owner's subdomains could fill the inbox, and everybody would wait.
final class ZonePosts: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func count(_ change: Int, of zone: String) {
    counts.withLock { counts in
      let count = counts[zone, default: 0] + change
      counts[zone] = count > 0 ? count : nil
    }
  }

  /// Returns whether a zone has so many posts under way that a link with posts of its own must wait. A link without any need not
  /// wait, so that no domain can exclude the others of its zone.
  ///
  /// - Parameters:
  ///   - ofLink: The number that one link may have.
  ///   - isKnown: Whether local users know users of the link's domain.
  func isFull(_ zone: String, ofLink: Int, isKnown: Bool) -> Bool {
    let most = isKnown ? FederationLimits.postsPerKnownZoneMax : FederationLimits.postsPerZoneMax
    return counts.withLock { $0[zone, default: 0] } >= max(most, ofLink)
  }
}
