public import Addresses
import Synchronization

/// The last presence of each contact elsewhere, as it was told to each user here. Theory:
///
/// A user's server sends a presence once to each subscriber's server (RFC 6121 4.4.2). Whoever asks later (a new session,
/// the app protocol, the routing of a node's events) finds it here, and no probe is needed. The same contact may show
/// different presences to two users, so there is one for each user here and resource there.
///
/// Only what a contact shows to a user who has subscribed to it, while that user is online, begins a record; it is kept
/// up to date after the user has left, since the other server goes on sending. What is read counts only as long as the
/// user's own subscription allows it: that is for the reader to check. Records end with an unavailable presence, and
/// when their server is gone (`Hub.gone`). At `Limits.remotePresencesMax` the oldest of the zone with the most
/// (`DomainZone`) is forgotten, so that nobody's subdomains crowd out the records of others: then there is a probe.
public final class RemotePresences: Sendable {
  struct Record: Sendable {
    var presence: Presence
    /// The nodes of which the client wants to be notified; empty until the door has found out.
    var interests: Set<String>
    var stamp: Int
  }
  private struct Place {
    let contact: BareJID
    let viewer: BareJID
    let stamp: Int
  }
  private struct Book {
    /// The records by domain, contact and the user who was told.
    var domains: [String: [BareJID: [BareJID: [Record]]]] = [:]
    /// The places of the records of each zone from the oldest on, by their stamps.
    var zones: [String: NumberedQueue<Place>] = [:]
    /// The zones by the number of their records, and the highest number: finding the zone with the most looks at no other.
    var ranking: [Int: Set<String>] = [:]
    var most = 0
    var count = 0
    var stamp = 0

    func records(of contact: BareJID, toldTo viewer: BareJID) -> [Record] {
      domains[contact.domain]?[contact]?[viewer] ?? []
    }

    /// Replaces records, whose places are for the caller to change (`reorder`).
    mutating func set(_ records: [Record], of contact: BareJID, toldTo viewer: BareJID) {
      let domain = contact.domain
      domains[domain, default: [:]][contact, default: [:]][viewer] = records.isEmpty ? nil : records
      if domains[domain]?[contact]?.isEmpty == true { domains[domain]?[contact] = nil }
      if domains[domain]?.isEmpty == true { domains[domain] = nil }
    }

    /// Changes the places of a zone, which is kept as long as it has any.
    mutating func reorder(_ zone: String, _ change: (inout NumberedQueue<Place>) -> Void) {
      var places = zones.removeValue(forKey: zone) ?? NumberedQueue()
      let before = places.count
      change(&places)
      let after = places.count
      if after > 0 { zones[zone] = places }
      guard after != before else { return }
      count += after - before
      ranking[before]?.remove(zone)
      if ranking[before]?.isEmpty == true { ranking[before] = nil }
      if after > 0 { ranking[after, default: []].insert(zone) }
      most = max(most, after)
      while most > 0, ranking[most] == nil { most -= 1 }
    }

    /// Forgets the oldest record of the zone with the most; of one of them if several have as many.
    mutating func makeRoom() {
      guard let zone = ranking[most]?.first else { return }
      var oldest: Place?
      reorder(zone) { oldest = $0.popFirst() }
      guard let place = oldest else { return }
      let others = records(of: place.contact, toldTo: place.viewer).filter { $0.stamp != place.stamp }
      set(others, of: place.contact, toldTo: place.viewer)
    }
  }
  private let book = Mutex(Book())
  private let bound: Int

  init(bound: Int = Limits.remotePresencesMax) { self.bound = bound }

  /// Notes a presence that a contact shows to a user. Returns whether there is a record of the resource now.
  ///
  /// - Parameter begins: whether a record may be made; otherwise one that exists is brought up to date.
  @discardableResult
  func note(_ presence: Presence, to viewer: BareJID, begins: Bool) -> Bool {
    let contact = presence.from.address
    let zone = DomainZone.of(contact.domain)
    return book.withLock { book in
      var records = book.records(of: contact, toldTo: viewer)
      // One that is too large to keep is asked for when it is needed.
      guard presence.isAvailable, presence.byteCount <= Limits.remotePresenceBytesMax else {
        // One without a resource is about all of them (RFC 6121 4.3.2).
        let ended = records.filter { presence.resource.isEmpty || $0.presence.resource == presence.resource }
        if ended.isEmpty { return false }
        records.removeAll { presence.resource.isEmpty || $0.presence.resource == presence.resource }
        book.set(records, of: contact, toldTo: viewer)
        book.reorder(zone) { places in for record in ended { places.remove(record.stamp) } }
        return false
      }
      let index = records.firstIndex { $0.presence.resource == presence.resource }
      guard index != nil || begins && records.count < Limits.sessionsPerUserMax else { return false }
      if index == nil, book.count >= bound {
        book.makeRoom()
        records = book.records(of: contact, toldTo: viewer)
      }
      book.stamp += 1
      let stamp = book.stamp
      let former = index.map { records[$0].stamp }
      if let index {
        records[index].presence = presence
        records[index].stamp = stamp
      } else {
        records.append(Record(presence: presence, interests: [], stamp: stamp))
      }
      book.set(records, of: contact, toldTo: viewer)
      book.reorder(zone) { places in
        if let former { places.remove(former) }
        places.append(Place(contact: contact, viewer: viewer, stamp: stamp), as: stamp)
      }
      return true
    }
  }

  /// Returns the presences of a contact that a user was told.
  public func presences(of contact: BareJID, toldTo viewer: BareJID) -> [Presence] {
    book.withLock { $0.records(of: contact, toldTo: viewer).map(\.presence) }
  }

  /// Notes the nodes of which a contact's client wants to be notified, as the presence it showed to a user says.
  ///
  /// - Returns: those that it did not want before: all of a client that has become available. Empty if there is no
  ///   record of the client.
  public func setInterests(
    _ interests: Set<String>, of contact: BareJID, resource: String, toldTo viewer: BareJID
  ) -> Set<String> {
    book.withLock { book in
      var records = book.records(of: contact, toldTo: viewer)
      guard let index = records.firstIndex(where: { $0.presence.resource == resource }) else { return [] }
      let gained = interests.subtracting(records[index].interests)
      records[index].interests = interests
      book.set(records, of: contact, toldTo: viewer)
      return gained
    }
  }

  /// Returns the resources of a contact that want to be notified of a user's node.
  func interested(in node: String, of viewer: BareJID, at contact: BareJID) -> [String] {
    book.withLock {
      $0.records(of: contact, toldTo: viewer).filter { $0.interests.contains(node) }.map(\.presence.resource)
    }
  }

  /// Forgets the contacts at a domain, as users of the domain `local`, or of all, were told. It costs by the records of the
  /// domain.
  func forget(domain: String, toldAt local: String?) {
    book.withLock { book in
      var stamps: [Int] = []
      for (contact, viewers) in book.domains[domain] ?? [:] {
        for (viewer, records) in viewers where local.map({ viewer.hasDomain($0) }) != false {
          stamps += records.map(\.stamp)
          book.set([], of: contact, toldTo: viewer)
        }
      }
      if stamps.isEmpty { return }
      book.reorder(DomainZone.of(domain)) { places in for stamp in stamps { places.remove(stamp) } }
    }
  }
}
