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
/// when their server is gone (`Hub.gone`). At `Limits.remotePresencesMax` the oldest is forgotten: then there is a probe.
public final class RemotePresences: Sendable {
  struct Record: Sendable {
    var presence: Presence
    /// The nodes of which the client wants to be notified; empty until the door has found out.
    var interests: Set<String>
    var stamp: UInt64
  }
  private struct Place {
    let contact: BareJID
    let viewer: BareJID
    let resource: String
    let stamp: UInt64
  }
  private struct Book {
    var contacts: [BareJID: [BareJID: [Record]]] = [:]
    var count = 0
    var stamp: UInt64 = 0
    /// The records by age, with some that are gone or newer.
    var places: [Place] = []
    var head = 0

    mutating func set(_ records: [Record], of contact: BareJID, toldTo viewer: BareJID) {
      contacts[contact, default: [:]][viewer] = records.isEmpty ? nil : records
      if contacts[contact]?.isEmpty == true { contacts[contact] = nil }
    }

    mutating func forgetOldest() {
      while head < places.count {
        let place = places[head]
        head += 1
        guard var records = contacts[place.contact]?[place.viewer],
          let index = records.firstIndex(where: { $0.presence.resource == place.resource && $0.stamp == place.stamp })
        else { continue }
        records.remove(at: index)
        count -= 1
        return set(records, of: place.contact, toldTo: place.viewer)
      }
    }

    /// Drops the places that mean nothing any more, once they are more than the others.
    mutating func compact() {
      guard places.count > 2 * count + 64 else { return }
      places = places[head...].filter { place in
        contacts[place.contact]?[place.viewer]?.contains { $0.stamp == place.stamp } == true
      }
      head = 0
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
    return book.withLock { book in
      var records = book.contacts[contact]?[viewer] ?? []
      let before = records.count
      let index = records.firstIndex { $0.presence.resource == presence.resource }
      // One that is too large to keep is asked for when it is needed.
      guard presence.isAvailable, presence.byteCount <= Limits.remotePresenceBytesMax else {
        // One without a resource is about all of them (RFC 6121 4.3.2).
        records.removeAll { presence.resource.isEmpty || $0.presence.resource == presence.resource }
        book.count += records.count - before
        book.set(records, of: contact, toldTo: viewer)
        return false
      }
      guard index != nil || begins && records.count < Limits.sessionsPerUserMax else { return false }
      book.stamp += 1
      if let index {
        records[index].presence = presence
        records[index].stamp = book.stamp
      } else {
        records.append(Record(presence: presence, interests: [], stamp: book.stamp))
        book.count += 1
      }
      book.set(records, of: contact, toldTo: viewer)
      book.places.append(
        Place(contact: contact, viewer: viewer, resource: presence.resource, stamp: book.stamp))
      while book.count > bound { book.forgetOldest() }
      book.compact()
      return true
    }
  }

  /// Returns the presences of a contact that a user was told.
  public func presences(of contact: BareJID, toldTo viewer: BareJID) -> [Presence] {
    book.withLock { $0.contacts[contact]?[viewer]?.map(\.presence) ?? [] }
  }

  /// Notes the nodes of which a contact's client wants to be notified, as the presence it showed to a user says.
  ///
  /// - Returns: those that it did not want before: all of a client that has become available. Empty if there is no
  ///   record of the client.
  public func setInterests(
    _ interests: Set<String>, of contact: BareJID, resource: String, toldTo viewer: BareJID
  ) -> Set<String> {
    book.withLock { book in
      guard let index = book.contacts[contact]?[viewer]?.firstIndex(where: { $0.presence.resource == resource })
      else { return [] }
      let gained = interests.subtracting(book.contacts[contact]?[viewer]?[index].interests ?? [])
      book.contacts[contact]?[viewer]?[index].interests = interests
      return gained
    }
  }

  /// Returns the resources of a contact that want to be notified of a user's node.
  func interested(in node: String, of viewer: BareJID, at contact: BareJID) -> [String] {
    book.withLock {
      $0.contacts[contact]?[viewer]?.filter { $0.interests.contains(node) }.map(\.presence.resource) ?? []
    }
  }

  /// Forgets the contacts at a domain, as users of the domain `local`, or of all, were told.
  func forget(domain: String, toldAt local: String?) {
    book.withLock { book in
      for contact in book.contacts.keys.filter({ $0.hasDomain(domain) }) {
        for (viewer, records) in book.contacts[contact] ?? [:] where local.map({ viewer.hasDomain($0) }) != false {
          book.count -= records.count
          book.set([], of: contact, toldTo: viewer)
        }
      }
    }
  }
}
