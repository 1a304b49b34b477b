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
/// when their server is gone (`Hub.goOn`). At the bound of their bytes the oldest of the zone with the most bytes
/// (`DomainZone`) is forgotten, so that nobody's subdomains crowd out the records of others: then there is a probe.
public final class RemotePresences: Sendable {
  struct Record: Sendable {
    let resource: String
    /// `nil` for one that was too large to keep: it is asked for when it is needed, and its end is shown.
    let presence: Presence?
    /// The nodes of which the client wants to be notified; empty until the door has found out.
    var interests: Set<String>
    let stamp: Int
    /// The bytes of the record in memory, about.
    var bytes: Int
  }
  private struct Place {
    let contact: BareJID
    let viewer: BareJID
    let stamp: Int
  }
  private struct Zone {
    /// The places of the records from the oldest on, by their stamps.
    var places = NumberedQueue<Place>()
    var bytes = 0

    /// The bytes in units of the smallest record, so that one more record is a higher rank.
    var rank: Int { bytes / Limits.remotePresenceRecordBytes }
  }
  private struct Book {
    /// The records by domain, contact and the user who was told.
    var domains: [String: [BareJID: [BareJID: [Record]]]] = [:]
    var zones: [String: Zone] = [:]
    /// The zones by their rank, and the highest rank: finding the zone with the most looks at no other.
    var ranking: [Int: Set<String>] = [:]
    var most = 0
    var bytes = 0
    var stamp = 0

    func records(of contact: BareJID, toldTo viewer: BareJID) -> [Record] {
      domains[contact.domain]?[contact]?[viewer] ?? []
    }

    /// Replaces records, whose places and bytes are for the caller to change (`change`).
    mutating func set(_ records: [Record], of contact: BareJID, toldTo viewer: BareJID) {
      let domain = contact.domain
      domains[domain, default: [:]][contact, default: [:]][viewer] = records.isEmpty ? nil : records
      if domains[domain]?[contact]?.isEmpty == true { domains[domain]?[contact] = nil }
      if domains[domain]?.isEmpty == true { domains[domain] = nil }
    }

    /// Changes the bytes and the places of the zone of a domain, which is kept as long as it has any.
    mutating func change(_ domain: String, bytes added: Int, _ reorder: (inout NumberedQueue<Place>) -> Void) {
      let name = DomainZone.of(domain)
      var zone = zones.removeValue(forKey: name) ?? Zone()
      let before = zone.rank
      reorder(&zone.places)
      zone.bytes += added
      bytes += added
      let after = zone.rank
      if !zone.places.isEmpty { zones[name] = zone }
      guard after != before else { return }
      ranking[before]?.remove(name)
      if ranking[before]?.isEmpty == true { ranking[before] = nil }
      if after > 0 { ranking[after, default: []].insert(name) }
      most = max(most, after)
      while most > 0, ranking[most] == nil { most -= 1 }
    }

    mutating func add(_ record: Record, of contact: BareJID, toldTo viewer: BareJID) {
      set(records(of: contact, toldTo: viewer) + [record], of: contact, toldTo: viewer)
      change(contact.domain, bytes: record.bytes) { places in
        places.append(Place(contact: contact, viewer: viewer, stamp: record.stamp), as: record.stamp)
      }
    }

    /// Removes those records of a contact that a predicate picks, and returns them.
    @discardableResult
    mutating func remove(
      of contact: BareJID, toldTo viewer: BareJID, where picks: (Record) -> Bool
    ) -> [Record] {
      let known = records(of: contact, toldTo: viewer)
      let ended = known.filter(picks)
      if ended.isEmpty { return [] }
      set(known.filter { !picks($0) }, of: contact, toldTo: viewer)
      change(contact.domain, bytes: -ended.reduce(0) { $0 + $1.bytes }) { places in
        for record in ended { places.remove(record.stamp) }
      }
      return ended
    }

    /// Forgets the oldest records of the zone with the most, of one of them if several have as many, until there is room
    /// for so many bytes.
    mutating func makeRoom(for added: Int, within bound: Int) {
      while bytes + added > bound, let zone = ranking[most]?.first, let oldest = zones[zone]?.places.first {
        remove(of: oldest.contact, toldTo: oldest.viewer) { $0.stamp == oldest.stamp }
      }
    }
  }
  private let book = Mutex(Book())
  private let bound: Int

  /// - Parameter bound: the bytes of all records.
  init(bound: Int = Limits.remotePresencesBytesMax) { self.bound = bound }

  /// Notes a presence that a contact shows to a user. Returns whether it is kept.
  ///
  /// - Parameter begins: whether a record may be made; otherwise one that exists is brought up to date.
  @discardableResult
  func note(_ presence: Presence, to viewer: BareJID, begins: Bool) -> Bool {
    let (contact, resource) = (presence.from.address, presence.resource)
    // An unavailable one without a resource is about all of them (RFC 6121 4.3.2).
    let isOfAll = !presence.isAvailable && resource.isEmpty
    let isKept = presence.byteCount <= Limits.remotePresenceBytesMax
    return book.withLock { book in
      let former = book.remove(of: contact, toldTo: viewer) { isOfAll || $0.resource == resource }
      let others = book.records(of: contact, toldTo: viewer).count
      guard presence.isAvailable, !former.isEmpty || begins && others < Limits.sessionsPerUserMax else { return false }
      let interests: Set<String> = isKept ? former.first?.interests ?? [] : []
      let bytes =
        Limits.remotePresenceRecordBytes + contact.description.heldBytes + viewer.description.heldBytes
        + resource.heldBytes + (isKept ? presence.byteCount : 0) + Self.bytes(of: interests)
      book.makeRoom(for: bytes, within: bound)
      book.stamp += 1
      let record = Record(
        resource: resource, presence: isKept ? presence : nil, interests: interests, stamp: book.stamp, bytes: bytes)
      book.add(record, of: contact, toldTo: viewer)
      return isKept
    }
  }

  private static func bytes(of interests: Set<String>) -> Int { interests.reduce(0) { $0 + $1.heldBytes } }

  /// Returns the presences of a contact that a user was told.
  public func presences(of contact: BareJID, toldTo viewer: BareJID) -> [Presence] {
    book.withLock { $0.records(of: contact, toldTo: viewer).compactMap(\.presence) }
  }

  /// Returns whether a contact is shown to a user as available, also by a presence that was too large to keep.
  func hasRecord(of contact: BareJID, toldTo viewer: BareJID) -> Bool {
    book.withLock { !$0.records(of: contact, toldTo: viewer).isEmpty }
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
      guard let index = records.firstIndex(where: { $0.resource == resource && $0.presence != nil }) else { return [] }
      let gained = interests.subtracting(records[index].interests)
      let added = Self.bytes(of: interests) - Self.bytes(of: records[index].interests)
      records[index].interests = interests
      records[index].bytes += added
      book.set(records, of: contact, toldTo: viewer)
      book.change(contact.domain, bytes: added) { _ in }
      book.makeRoom(for: 0, within: bound)
      return gained
    }
  }

  /// Returns the resources of a contact that want to be notified of a user's node.
  func interested(in node: String, of viewer: BareJID, at contact: BareJID) -> [String] {
    book.withLock {
      $0.records(of: contact, toldTo: viewer).filter { $0.interests.contains(node) }.map(\.resource)
    }
  }

  /// Returns the contacts at a domain with a record, and the stamp of the newest record of all.
  func contacts(at domain: String) -> (addresses: [BareJID], stamp: Int) {
    book.withLock { book in (book.domains[domain].map { Array($0.keys) } ?? [], book.stamp) }
  }

  /// Forgets what a contact has shown to the users of the domain `local`, apart from records that are newer than `stamp`.
  ///
  /// - Parameter most: the number of pairs to return; those of the last user may be more.
  /// - Returns: each user who was told, with the resource that is forgotten: empty if nothing newer is known of the contact.
  func end(
    _ contact: BareJID, toldAt local: String, through stamp: Int, most: Int = .max
  ) -> [(viewer: BareJID, resource: String)] {
    book.withLock { book in
      var ended: [(viewer: BareJID, resource: String)] = []
      for viewer in (book.domains[contact.domain]?[contact] ?? [:]).keys where viewer.hasDomain(local) {
        if ended.count >= most { break }
        let old = book.remove(of: contact, toldTo: viewer) { $0.stamp <= stamp }
        if old.isEmpty { continue }
        if book.records(of: contact, toldTo: viewer).isEmpty {
          ended.append((viewer, ""))
        } else {
          for record in old { ended.append((viewer, record.resource)) }
        }
      }
      return ended
    }
  }
}
