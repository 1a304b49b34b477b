import Synchronization

/// The domains elsewhere of acquaintances of somebody here who have been heard since the start (`StrangerPolicy`), for all threads.
/// The committer's thread changes them. What bounds the domains of a zone together does not concern these, so that
/// nobody below the same public suffix keeps them out.
final class KnownDomains: Sendable {
  private struct Domain: Hashable {
    let name: String
    let home: RealmID
  }

  private let domains = Mutex<Set<Domain>>([])

  func contains(_ name: String, home: RealmID) -> Bool {
    domains.withLock { $0.contains(Domain(name: name, home: home)) }
  }

  /// Returns whether the domain is new.
  func insert(_ name: String, home: RealmID) -> Bool {
    domains.withLock { domains in
      if domains.count >= Limits.knownDomains { domains = [] }
      return domains.insert(Domain(name: name, home: home)).inserted
    }
  }

  func remove(_ name: String, home: RealmID) {
    domains.withLock { domains in _ = domains.remove(Domain(name: name, home: home)) }
  }
}
