import Addresses

/// How much a user's roster holds. The judge keeps it, so that no change reads the roster.
struct RosterSize: Hashable, Sendable {
  /// The items that the roster shows. Requests do not count: others make them.
  private(set) var contacts = 0
  /// The octets of these items as clients receive them (`Contact.rosterBytes`).
  private(set) var bytes = 0
  /// The removed items that are stored, or more: those that were added again since this was counted.
  var removed = 0

  /// Returns the size after an item has changed; `nil` is none.
  func replacing(_ before: Contact?, by after: Contact?) -> RosterSize {
    var size = self
    if let before, before.subscription.isInRoster {
      size.contacts -= 1
      size.bytes -= before.rosterBytes
    }
    if let after, after.subscription.isInRoster {
      size.contacts += 1
      size.bytes += after.rosterBytes
    }
    return size
  }

  /// Checks that a roster that has grown is within the bounds. One that was beyond them before may shrink.
  func check(grownFrom before: RosterSize) throws(Problem) {
    if contacts > Limits.contactsMax, contacts > before.contacts { throw .rosterFull }
    if bytes > Limits.rosterBytesMax, bytes > before.bytes { throw .rosterTooLarge }
  }
}

extension Contact {
  /// The bytes that the item adds to the roster that clients receive: address, name, and groups with their tags (`<group></group>`),
  /// with characters as they are written in markup. The rest of an item is short.
  var rosterBytes: Int {
    groups.reduce(Self.markedUp(address.description) + (name.map(Self.markedUp) ?? 0)) { $0 + Self.markedUp($1) + 15 }
  }

  /// Returns the bytes of a text in markup, where `&` is written as `&amp;`.
  private static func markedUp(_ text: String) -> Int {
    text.utf8.reduce(0) { $0 + markupBytes($1) }
  }

  private static func markupBytes(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "&"), 0..<0x20: 5
    case UInt8(ascii: "<"), UInt8(ascii: ">"): 4
    case UInt8(ascii: "'"): 6
    default: 1
    }
  }
}

extension Contact {
  /// The bytes that the contact counts as a request which waits for an answer; 0 if it is none, or in the roster.
  var requestBytes: Int {
    guard subscription.pendingIn, !subscription.isInRoster else { return 0 }
    return Limits.requestOverhead + address.description.utf8.count + (request?.count ?? 0)
  }
}

/// The requests to a user that wait for an answer, added from the newest to the oldest, of which some give way. Theory:
///
/// The zone with the most bytes gives way (`DomainZone`), in it the domain with the most bytes, and of that the oldest request. So
/// neither many users of a domain nor many subdomains of one owner crowd out the requests of others.
private struct WaitingRequests {
  private struct Waiting {
    let request: Contact
    let zone: Int
    let domain: Int
  }

  /// The bytes of each name. A name has a number, since each request is compared many times.
  private struct Sums {
    var numbers: [String: Int] = [:]
    var bytes: [Int] = []

    /// Adds bytes to a name. Returns its number.
    mutating func add(_ count: Int, to name: String) -> Int {
      let number = numbers[name, default: bytes.count]
      if number == bytes.count {
        numbers[name] = number
        bytes.append(0)
      }
      bytes[number] += count
      return number
    }
  }

  private var requests: [Waiting] = []
  private var zones = Sums()
  private var domains = Sums()

  /// Counts a request, which does not give way. Returns the numbers of its zone and of its domain.
  @discardableResult
  mutating func count(_ request: Contact, in zone: String) -> (zone: Int, domain: Int) {
    let bytes = request.requestBytes
    return (zones.add(bytes, to: zone), domains.add(bytes, to: request.address.domain))
  }

  mutating func add(_ request: Contact, in zone: String) {
    let numbers = count(request, in: zone)
    requests.append(Waiting(request: request, zone: numbers.zone, domain: numbers.domain))
  }

  /// Returns the bytes of a request's zone, and of its domain.
  private func bytes(at index: Int) -> (Int, Int) {
    (zones.bytes[requests[index].zone], domains.bytes[requests[index].domain])
  }

  /// Removes the request that gives way first.
  mutating func removeFirst() -> Contact? {
    // Among equals the first is taken, which is the oldest.
    guard let first = requests.indices.reversed().max(by: { bytes(at: $0) < bytes(at: $1) }) else { return nil }
    let leaving = requests.remove(at: first)
    zones.bytes[leaving.zone] -= leaving.request.requestBytes
    domains.bytes[leaving.domain] -= leaving.request.requestBytes
    return leaving.request
  }
}

extension Judge {
  /// Returns the requests that give way to a new one, as a user has too many that wait for an answer
  /// (`Limits.requestsBytesMax`).
  mutating func requestsGivingWay(to new: Contact) throws -> [Contact] {
    let known = try requestBytes[new.owner] ?? writer.ownContacts(of: new.owner).reduce(0) { $0 + $1.requestBytes }
    requestBytes[new.owner] = known
    var excess = known + new.requestBytes - Limits.requestsBytesMax
    if excess <= 0 { return [] }
    // Those that give way are removed items, whose number is bounded where the size is known (`deleteRemoved`).
    _ = try rosterSize(of: new.owner)
    excess += Limits.requestsBytesMax / 16
    var waiting = WaitingRequests()
    for request in try writer.ownContacts(of: new.owner).sorted(by: { $0.version > $1.version })
    where request.requestBytes > 0 && request.address != new.address {
      waiting.add(request, in: zone(of: request))
    }
    waiting.count(new, in: zone(of: new))
    var leaving: [Contact] = []
    while excess > 0, leaving.count < Limits.requestsDroppedAtOnce, let first = waiting.removeFirst() {
      excess -= first.requestBytes
      leaving.append(first)
    }
    return leaving
  }

  /// Returns the zone of a contact's domain. A domain of this server or of its components is its own zone: an operator may have them
  /// below a name of somebody else's.
  private func zone(of contact: Contact) -> String {
    let domain = contact.address.domain
    return realms.home(ofDomain: domain) == nil ? DomainZone.of(domain) : domain
  }

  /// Returns the size of a roster, which is read once and then kept.
  mutating func rosterSize(of owner: UserID) throws -> RosterSize {
    if let known = rosterSizes[owner] { return known }
    var size = RosterSize()
    for contact in try writer.ownContacts(of: owner) { size = size.replacing(nil, by: contact) }
    size.removed = try writer.removedContactCount(of: owner)
    rosterSizes[owner] = size
    return size
  }

  /// Checks that a roster has room for an item as it will be. Nothing of the change has been written yet.
  mutating func checkRosterSize(with contact: Contact) throws {
    let before = try rosterSize(of: contact.owner)
    let stored = try writer.ownContact(of: contact.owner, contact.address)
    try before.replacing(stored, by: contact).check(grownFrom: before)
  }

  /// Deletes the oldest removed items once there are twice as many as are kept, so that it is done seldom. A client whose
  /// version of the roster is older gets the whole.
  func deleteRemoved(_ size: inout RosterSize, of owner: UserID) throws {
    guard size.removed > 2 * Limits.removedContactsMax else { return }
    let count = try writer.removedContactCount(of: owner)
    size.removed = count
    let excess = min(count - Limits.removedContactsMax, 2 * Limits.removedContactsMax)
    guard excess > 0, let last = try writer.deleteRemovedContacts(of: owner, oldest: excess) else { return }
    size.removed -= excess
    // It has the same meaning as a change of shared contacts, which only the whole roster shows.
    let known = try writer.record(SharedContactsVersion.self, .equal(.user, owner))?.version ?? .zero
    try writer.put(SharedContactsVersion(user: owner, version: max(known, last)))
  }
}

extension Problem {
  static let rosterFull = Problem(
    .tooLarge, "roster-full", "A roster has at most \(Limits.contactsMax) contacts.")
  static let rosterTooLarge = Problem(
    .tooLarge, "roster-too-large",
    "The addresses, names and groups of a roster have at most \(Limits.rosterBytesMax) bytes together.")
}
