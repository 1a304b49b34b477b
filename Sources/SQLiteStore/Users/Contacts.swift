import Addresses
import Dialogs

/// The rosters and block lists.
///
/// A removed item leaves a tombstone: its row is kept with `removed` set. `hidden` is the version at which the item last
/// left the roster, so that a client that has seen it is notified, even if a subscription request (which is not shown) has
/// reused the row since.
extension Reader {
  func ownContact(of owner: UserID, _ address: BareJID) throws -> Contact? {
    try connection(.contact, owner, address.description).first(Self.contact)
  }

  func ownContacts(of owner: UserID) throws -> [Contact] {
    try connection(.contacts, owner).all(Self.contact)
  }

  func ownContactChanges(of owner: UserID, after version: Position, limit: Int) throws -> [ContactChange] {
    try connection(.contactChanges, owner, version, limit).all { row in
      let contact = try Self.contact(row)
      let isRemoved = row.int(8) != 0
      if !isRemoved && contact.subscription.isInRoster { return ContactChange(contact: contact, push: true) }
      let wasShown = row.int(9) > version.number
      return ContactChange(contact: contact, removed: isRemoved || wasShown, push: wasShown)
    }
  }

  func ownRosterVersion(of owner: UserID) throws -> Position {
    try connection(.rosterVersion, owner).first { Position($0.int(0)) } ?? .zero
  }

  func removedContactCount(of owner: UserID) throws -> Int {
    try connection(.removedContactCount, owner).first { Int($0.int(0)) } ?? 0
  }

  func requestCount(of owner: UserID, amongNewest looksMax: Int) throws -> Int {
    try connection(.requestCount, owner, looksMax, Subscription.nonePendingIn.rawValue).first { Int($0.int(0)) } ?? 0
  }

  private static func contact(_ row: Prepared) throws -> Contact {
    guard let subscription = Subscription(rawValue: UInt8(clamping: row.int(5))) else {
      throw StoreFailure.corrupt("a roster item of user \(row.int(0)) is in an unknown state")
    }
    return Contact(
      owner: UserID(row.int(0)), address: try address(row.text(1)), peer: row.intOrNil(2).map { UserID($0) },
      name: row.textOrNil(3), groups: try FactCoding.decode(groups: row.bytes(4)), subscription: subscription,
      request: row.bytesOrNil(6), version: Position(row.int(7)))
  }

  func rankedBlocks(of owner: UserID) throws -> [RankedBlock] {
    try connection(.blocks, owner).all { row in
      guard let jid = JID(stored: row.text(1)) else {
        throw StoreFailure.corrupt("a block of user \(owner.number) is not an address")
      }
      return RankedBlock(rank: Int(row.int(0)), pattern: BlockPattern(jid))
    }
  }
}

extension Writer {
  func put(_ contact: Contact) throws {
    try put(
      contact, name: contact.name, groups: contact.groups, request: contact.request, version: contact.version,
      isRemoved: false)
  }

  func remove(_ contact: Contact, version: Position) throws {
    try put(contact, name: nil, groups: [], request: nil, version: version, isRemoved: true)
  }

  private func put(
    _ contact: Contact, name: String?, groups: [String], request: [UInt8]?, version: Position, isRemoved: Bool
  ) throws {
    let shows = !isRemoved && contact.subscription.isInRoster
    // An item that is removed without having been stored may have been shown nevertheless.
    let left = isRemoved && contact.subscription.isInRoster
    try connection(
      .putContact, contact.owner, contact.address.description, contact.peer, name, FactCoding.encode(groups: groups),
      contact.subscription.rawValue
    ).bind(request, version, isRemoved, left ? version.number : 0, shows, Subscription.none.listed.rawValue).run()
  }

  func deleteRemovedContacts(of owner: UserID, oldest count: Int) throws -> Position? {
    let last = try connection(.removedVersion, owner, count - 1).first { Position($0.int(0)) }
    if let last { try connection(.deleteRemoved, owner, last).run() }
    return last
  }

  func insert(_ block: RankedBlock, of owner: UserID) throws {
    try connection(.insertBlock, owner, block.rank, block.pattern.jid.description).run()
  }

  func removeBlock(rank: Int, of owner: UserID) throws {
    try connection(.deleteBlock, owner, rank).run()
  }
}

extension Query {
  private static let columns = "owner, address, peer, name, groups, subscription, request, version, removed, hidden"
  fileprivate static let contact = Query(
    "SELECT \(columns) FROM contacts WHERE owner = ?1 AND address = ?2 AND removed = 0")
  fileprivate static let contacts = Query(
    "SELECT \(columns) FROM contacts WHERE owner = ?1 AND removed = 0 ORDER BY address")
  fileprivate static let contactChanges = Query(
    "SELECT \(columns) FROM contacts WHERE owner = ?1 AND version > ?2 ORDER BY version LIMIT ?3")
  fileprivate static let removedContactCount = Query(
    "SELECT count(*) FROM contacts WHERE owner = ?1 AND removed = 1")
  static let requestCount = Query(
    """
    SELECT count(*) FROM (SELECT subscription, removed FROM contacts WHERE owner = ?1 ORDER BY version DESC LIMIT ?2)
    WHERE removed = 0 AND subscription & ?3
    """)
  fileprivate static let removedVersion = Query(
    "SELECT version FROM contacts WHERE owner = ?1 AND removed = 1 ORDER BY version LIMIT 1 OFFSET ?2")
  fileprivate static let deleteRemoved = Query(
    "DELETE FROM contacts WHERE owner = ?1 AND removed = 1 AND version <= ?2")
  fileprivate static let rosterVersion = Query(
    "SELECT coalesce(max(version), 0) FROM contacts WHERE owner = ?1")
  /// ?10 is the version at which the item leaves the roster by removal; an item that is no longer shown has left it, too.
  /// ?12 is the bit "in the roster".
  fileprivate static let putContact = Query(
    """
    INSERT INTO contacts (owner, address, peer, name, groups, subscription, request, version, removed, hidden)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (owner, address) DO UPDATE SET
      hidden = CASE
        WHEN ?11 THEN 0
        WHEN ?10 THEN ?10
        WHEN removed = 0 AND subscription & ?12 THEN ?8
        ELSE hidden END,
      peer = ?3, name = ?4, groups = ?5, subscription = ?6, request = ?7, version = ?8, removed = ?9
    """)
  fileprivate static let blocks = Query("SELECT rank, jid FROM blocks WHERE owner = ?1 ORDER BY rank")
  fileprivate static let deleteBlock = Query("DELETE FROM blocks WHERE owner = ?1 AND rank = ?2")
  fileprivate static let insertBlock = Query("INSERT INTO blocks (owner, rank, jid) VALUES (?1, ?2, ?3)")
}
