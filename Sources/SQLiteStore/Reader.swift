import Addresses
import Dialogs

/// Reads on one connection, inside a transaction that its store has begun. Its methods are in files that are named after
/// the data that they read.
///
/// It is `Sendable` because the pool keeps it between two uses.
class Reader: @unchecked Sendable {  // used by one thread at a time: the one that its `ConnectionPool` lends it to
  let connection: Connection
  let directory: Directory
  /// The memory from which texts are bound without the engine copying them.
  let arena = Arena()
  private var salted: Digest64?

  init(_ connection: Connection, _ directory: Directory) {
    self.connection = connection
    self.directory = directory
  }

  func begin() throws(StoreFailure) { try connection(.begin).run() }
  func commit() throws(StoreFailure) { try connection(.commit).run() }
  /// Rolls back. A failure is ignored, as the engine has then rolled back already.
  func rollBack() { try? connection(.rollback).run() }

  // MARK: Shared by what is read

  func party(_ id: UserID) throws -> Party? {
    try directory.party(id) {
      try connection(.party, id).first { row in
        Party(
          id: id, realm: RealmID(row.int(0)),
          address: try Self.address(row.text(1), row.text(2)))
      }
    }
  }

  /// Returns a party that an entry or dialog names.
  func known(_ id: UserID) throws -> Party {
    guard let party = try party(id) else {
      throw StoreFailure.corrupt("user \(id.number) is named in the log and does not exist")
    }
    return party
  }

  func roomName(_ id: DialogID) throws -> RoomName? {
    try directory.room(id) {
      try connection(.roomName, id).first { row in
        RoomName(
          dialog: id, realm: RealmID(row.int(0)), address: try Self.address(row.text(1), row.text(2)))
      }
    }
  }

  /// Returns a room that an entry or another row names.
  func known(_ id: DialogID) throws -> RoomName {
    guard let room = try roomName(id) else {
      throw StoreFailure.corrupt("room \(id.number) is named in the log and does not exist")
    }
    return room
  }

  func seal(_ realm: RealmID) throws -> Sealer {
    let seal = try directory.seal(realm) {
      let epochs = try epochs()
      return try connection(.realm, realm).first { Self.realm($0, epochs) }
    }
    guard let seal else { throw StoreFailure.corrupt("realm \(realm.number) has users and does not exist") }
    return seal
  }

  static func realm(_ row: Prepared, _ epochs: [Epoch]) -> Realm {
    Realm(
      id: RealmID(row.int(0)), domain: row.text(1), rooms: row.text(2), key: row.bytes(3),
      epoch: UInt32(truncatingIfNeeded: row.int(4)), laterEpochs: epochs)
  }

  func realmTable() throws -> RealmTable { try directory.realms { try realms() } }

  /// Returns a stored address, which is in normal form already and therefore cheap to parse. In a federated realm the
  /// name is the whole address.
  static func address(_ name: String, _ domain: String) throws(StoreFailure) -> BareJID {
    if domain.utf8.first == UInt8(ascii: "@") { return try address(name) }
    return try address(name.isEmpty ? domain : name + "@" + domain)
  }

  static func address(_ text: String) throws(StoreFailure) -> BareJID {
    guard let address = BareJID(stored: text) else {
      throw StoreFailure.corrupt("a stored address is not an address")
    }
    return address
  }

  func salt() throws -> Digest64 {
    if let salted { return salted }
    let digest = SearchText.salted(try connection(.salt).first { $0.int(0) } ?? 0)
    salted = digest
    return digest
  }
}

extension Query {
  static let begin = Query("BEGIN DEFERRED")
  static let beginWriting = Query("BEGIN IMMEDIATE")
  static let commit = Query("COMMIT")
  static let rollback = Query("ROLLBACK")
  fileprivate static let party = Query(
    "SELECT u.realm, u.name, r.domain FROM users u JOIN realms r ON r.id = u.realm WHERE u.id = ?1")
  fileprivate static let roomName = Query(
    "SELECT r.realm, r.localpart, m.rooms FROM rooms r JOIN realms m ON m.id = r.realm WHERE r.dialog = ?1")
  fileprivate static let realm = Query("SELECT id, domain, rooms, key, epoch FROM realms WHERE id = ?1")
  fileprivate static let salt = Query("SELECT salt FROM log")
}
