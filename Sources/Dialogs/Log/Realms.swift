import Addresses
import Crypto

/// The served realms, with the keys that seal their public ids. Created at start, immutable.
package struct RealmTable: Sendable {
  private let byDomain: [String: Served]
  private let byID: [RealmID: Served]
  /// The realm to which a remote one is attached.
  private let homes: [RealmID: RealmID]
  package let all: [Realm]

  private struct Served: Sendable {
    let realm: Realm
    let entries: Sealer
    let dialogs: Sealer
    let cursors: Sealer
    let members: Sealer
    let occupants: SymmetricKey
  }

  /// Creates the table. `realms` are in the order of the configuration: the first is the default.
  init(_ realms: [Realm]) {
    all = realms
    let served = realms.map {
      Served(
        realm: $0, entries: Sealer(realm: $0, purpose: .entry), dialogs: Sealer(realm: $0, purpose: .dialog),
        cursors: Sealer(realm: $0, purpose: .cursor),
        members: Sealer(realm: $0, purpose: .member),
        occupants: HKDF<SHA256>.deriveKey(
          inputKeyMaterial: SymmetricKey(data: $0.key), info: Array("parley occupant".utf8), outputByteCount: 32))
    }
    byDomain = Dictionary(served.map { ($0.realm.domain, $0) }, uniquingKeysWith: { first, _ in first })
    // A remote realm has the same ids as its home, and so the same key.
    homes = Dictionary(
      realms.filter(\.id.isRemote).compactMap { remote in
        realms.first { !$0.id.isRemote && $0.key == remote.key }.map { (remote.id, $0.id) }
      }, uniquingKeysWith: { first, _ in first })
    byID = Dictionary(served.map { ($0.realm.id, $0) }, uniquingKeysWith: { first, _ in first })
  }

  package func realm(domain: String) -> Realm? { byDomain[domain]?.realm }
  package func realm(_ id: RealmID) -> Realm? { byID[id]?.realm }
  package func realm(rooms domain: String) -> Realm? { all.first { $0.rooms == domain } }

  /// Returns the realm whose users can communicate with those of `realm`: for a remote realm the one it is attached to.
  package func home(of realm: RealmID) -> RealmID { homes[realm] ?? realm }

  /// Returns the realm at this domain, if users of `realm` reach it: their own, or a remote one attached to it.
  package func realm(domain: String, reachedFrom realm: RealmID) -> Realm? {
    guard let found = self.realm(domain: domain), home(of: found.id) == home(of: realm) else { return nil }
    return found
  }

  func remotes(of realm: RealmID) -> [Realm] { all.filter { $0.id.isRemote && homes[$0.id] == realm } }

  /// Returns the occupant id (XEP-0421 3): permanently the same for a user in a room, different in every other room,
  /// and revealing nothing.
  func occupantID(of user: UserID, in room: RoomName) -> String {
    var message: [UInt8] = []
    for shift in stride(from: 56, through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: user.number >> Int64(shift)))
    }
    // The address is never reused, and unlike the id it exists while the room is being set up.
    message += room.address.description.utf8
    let code = HMAC<SHA256>.authenticationCode(for: message, using: served(room.realm).occupants)
    return PublicID(bytes: Array(code)).description
  }

  func entryID(_ position: Position, in realm: RealmID) -> PublicID { served(realm).entries.seal(position.number) }
  func position(of id: PublicID, in realm: RealmID) -> Position? {
    served(realm).entries.open(id).map { Position($0) }
  }
  func dialogID(_ dialog: DialogID, in realm: RealmID) -> PublicID { served(realm).dialogs.seal(dialog.number) }
  func dialog(of id: PublicID, in realm: RealmID) -> DialogID? {
    served(realm).dialogs.open(id).map { DialogID($0) }
  }
  func cursor(_ position: Position, in realm: RealmID) -> PublicID { served(realm).cursors.seal(position.number) }
  func position(ofCursor id: PublicID, in realm: RealmID) -> Position? {
    served(realm).cursors.open(id).map { Position($0) }
  }

  /// Returns the cursor of a place in a room's member list. For one user it differs in each room.
  func memberCursor(_ user: UserID, in room: RoomName) -> PublicID {
    served(room.realm).members.seal(user.number ^ (room.dialog.number << 32))
  }
  func user(ofMemberCursor id: PublicID, in room: RoomName) -> UserID? {
    served(room.realm).members.open(id).map { UserID($0 ^ (room.dialog.number << 32)) }
  }

  private func served(_ realm: RealmID) -> Served {
    guard let served = byID[realm] else {
      // Users are only ever found through a served domain.
      preconditionFailure("a user of a realm that is not served")
    }
    return served
  }
}
