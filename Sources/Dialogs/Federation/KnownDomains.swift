import Synchronization

/// The domains elsewhere of acquaintances of somebody here who have been heard since the start (`StrangerPolicy`), for all threads.
/// The committer's thread changes them. The known domains of a zone share bounds of their own, so that unknown domains below the same
/// public suffix cannot keep them out. A user here can make any number of subdomains known by writing to them; these bounds are
/// therefore only a part of what all domains may use.
final class KnownDomains: Sendable {
  /// The homes that have acquaintances of each domain.
  private let domains = Mutex<[String: Set<RealmID>]>([:])

  func contains(_ name: String, home: RealmID) -> Bool { domains.withLock { $0[name]?.contains(home) == true } }

  /// Returns whether the domain is known to any home.
  func contains(_ name: String) -> Bool { domains.withLock { $0[name] != nil } }

  /// Returns whether the domain is new.
  func insert(_ name: String, home: RealmID) -> Bool {
    domains.withLock { domains in
      if domains.count >= Limits.knownDomains { domains = [:] }
      return domains[name, default: []].insert(home).inserted
    }
  }

  func remove(_ name: String, home: RealmID) {
    domains.withLock { domains in
      domains[name]?.remove(home)
      if domains[name]?.isEmpty == true { domains[name] = nil }
    }
  }
}
