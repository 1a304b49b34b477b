import Addresses

extension Hub {
  /// Asks for the presence of all contacts at a domain elsewhere again (RFC 6121 4.3), for the users of a domain of this
  /// server: they were shown as offline (`gone`), and the domain can be reached again.
  public func back(_ pair: DomainPair) {
    var batch = LaneBatch()
    for online in allOnline() where online.contactSnapshot.user.address.domain == pair.local {
      guard !online.presences.isEmpty else { continue }
      let contacts = online.contactSnapshot.remoteSubscriptions.filter { $0.domain == pair.remote }
      probe(
        contacts, for: online.contactSnapshot.user.party, contactSnapshot: online.contactSnapshot, into: &batch)
    }
    batch.send()
  }
}
