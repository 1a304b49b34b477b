import Addresses

extension Hub {
  /// Asks for the presence of all contacts at a domain elsewhere again (RFC 6121 4.3), for the users of a domain of this
  /// server: they were shown as offline (`gone`), and the domain can be reached again.
  public func back(_ pair: DomainPair) {
    var batch = LaneBatch()
    for user in viewers(at: pair.remote) {
      guard let online = online(user), !online.presences.isEmpty else { continue }
      let snapshot = online.contactSnapshot
      guard snapshot.user.address.hasDomain(pair.local) else { continue }
      probe(
        snapshot.remoteSubscriptions(at: pair.remote), at: pair.remote, for: snapshot.user.party,
        contactSnapshot: snapshot, into: &batch)
    }
    batch.send()
  }
}
