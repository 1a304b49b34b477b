import Addresses
import Dialogs
import Synchronization

/// The data that every entry needs and that never changes: the addresses of users and rooms, the realms and their
/// sealers. Shared by all connections.
///
/// A user or room of a transaction that is rolled back must be removed, since its number is issued again. So a rollback
/// empties the directory; until then no other transaction can have read the number.
///
/// Realms are created, and a realm's rooms move to another domain, only at the start, before any read. This also empties
/// the directory.
final class Directory: Sendable {
  private let parties = Mutex(ByteCache<UserID, Party> { _, party in party.heldBytes })
  private let rooms = Mutex(ByteCache<DialogID, RoomName> { _, room in room.heldBytes })
  private let seals = Mutex<[RealmID: Sealer]>([:])
  private let table = Mutex<RealmTable?>(nil)

  func party(_ id: UserID, _ find: () throws -> Party?) rethrows -> Party? {
    if let party = parties.withLock({ $0[id] }) { return party }
    guard let party = try find() else { return nil }
    parties.withLock {
      if $0.bytes >= StoreLimits.cachedPartiesBytesMax { $0.removeAll() }
      $0[id] = party
    }
    return party
  }

  func room(_ id: DialogID, _ find: () throws -> RoomName?) rethrows -> RoomName? {
    if let room = rooms.withLock({ $0[id] }) { return room }
    guard let room = try find() else { return nil }
    rooms.withLock {
      if $0.bytes >= StoreLimits.cachedRoomsBytesMax { $0.removeAll() }
      $0[id] = room
    }
    return room
  }

  /// Returns the sealer of the public ids of a realm's entries.
  func seal(_ id: RealmID, _ find: () throws -> Realm?) rethrows -> Sealer? {
    if let seal = seals.withLock({ $0[id] }) { return seal }
    guard let realm = try find() else { return nil }
    let seal = Sealer(realm: realm, purpose: .entry)
    seals.withLock { $0[id] = seal }
    return seal
  }

  func realms(_ find: () throws -> [Realm]) rethrows -> RealmTable {
    if let table = table.withLock({ $0 }) { return table }
    let found = RealmTable(try find())
    table.withLock { $0 = found }
    return found
  }

  func forget() {
    table.withLock { $0 = nil }
    parties.withLock { $0.removeAll() }
    rooms.withLock { $0.removeAll() }
    seals.withLock { $0 = [:] }
  }
}
