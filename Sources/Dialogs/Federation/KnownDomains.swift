import Synchronization

/// The domains elsewhere of acquaintances of somebody here who have been heard since the start (`StrangerPolicy`), for all threads.
/// The committer's thread changes them. Those of a zone have bounds together apart from its other domains, so that nobody below the
/// same public suffix keeps them out. Whoever has an account here makes as many subdomains known as they write to, so these bounds
/// are a part of what all domains have together.
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
