import Addresses
import Crypto

/// The served realms, with the keys that seal their public ids. Created at start, immutable.
package struct RealmTable: Sendable {
  private let byDomain: [String: Served]
  private let byID: [RealmID: Served]
  /// The realm to which a remote one is attached.
  private let homes: [RealmID: RealmID]
  /// The home of each local domain: of users, rooms and services, and of components.
  private let ownDomains: [String: RealmID]
  private let components: Set<String>
  /// The federated realm of each home.
  private let federated: [RealmID: Realm]
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
  ///
  /// - Parameters:
  ///   - components: the remote domains that are reached by a component's link.
  ///   - services: the domain of the pubsub service of a domain.
  package init(_ realms: [Realm], components: Set<String> = [], services: (String) -> String? = { _ in nil }) {
    all = realms
    self.components = components
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
    var federated: [RealmID: Realm] = [:]
    for realm in realms where realm.isFederated { federated[homes[realm.id] ?? realm.id] = realm }
    self.federated = federated
    byID = Dictionary(served.map { ($0.realm.id, $0) }, uniquingKeysWith: { first, _ in first })
    var ownDomains: [String: RealmID] = [:]
    for realm in realms where !realm.id.isRemote {
      for domain in [realm.domain, realm.rooms] + [services(realm.domain)].compactMap({ $0 }) {
        ownDomains[domain] = realm.id
      }
    }
    for realm in realms where components.contains(realm.domain) { ownDomains[realm.domain] = homes[realm.id] }
    self.ownDomains = ownDomains
  }

  package func realm(domain: String) -> Realm? { byDomain[domain]?.realm }
  package func realm(_ id: RealmID) -> Realm? { byID[id]?.realm }
  package func realm(rooms domain: String) -> Realm? { all.first { $0.rooms == domain } }

  /// Returns the local realm of `realm`: itself, or, for a remote realm, the one to which it is attached.
  package func home(of realm: RealmID) -> RealmID { realm.isRemote ? homes[realm] ?? realm : realm }

  /// Returns the realm of the users at this domain, as users of `realm` see it: their own, a remote one attached to it, or
  /// the federated one for every other domain, including those that this server serves for other realms. `nil` for a
  /// domain of services, which has no users.
  package func realm(domain: String, reachedFrom realm: RealmID) -> Realm? {
    let home = home(of: realm)
    if let found = self.realm(domain: domain), self.home(of: found.id) == home { return found }
    return ownDomains[domain] == home ? nil : federated(of: home)
  }

  func isFederated(_ realm: RealmID) -> Bool { realm.isRemote && federated[home(of: realm)]?.id == realm }

  /// See `Judge.isElsewhere`.
  func isElsewhere(_ party: Party) -> Bool { party.realm.isRemote && isFederated(party.realm) }

  /// Returns whether a remote realm is that of a component. Users of any other are reached through their own servers.
  func isComponent(_ realm: Realm) -> Bool { components.contains(realm.domain) }

  /// Returns the realm whose users, rooms or services have this domain, or to which its component is attached.
  func home(ofDomain domain: String) -> RealmID? { ownDomains[domain] }

  /// Returns the federated realm of a home, which contains all remote users whom its users know.
  package func federated(of home: RealmID) -> Realm? { federated[home] }

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
