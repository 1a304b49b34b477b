public import Addresses

/// The publish-subscribe services of the served domains (XEP-0060). Theory:
///
/// A node belongs to an *owner*: an account (XEP-0163), or a service. Both are a `Party`, and the store and most rules
/// do not distinguish them. The party of a service has an id that is no user's: it has no contacts, no blocks, no
/// sessions and no self dialog, and whoever looks for them finds none. Three things differ, each at one place:
///
/// * who decides about a node: the account's user about all of its nodes, at a service the users with the stored
///   affiliation `owner`, first of them who created it (`Judge.relation`);
/// * the log: a change of an account's node is an entry of its self dialog; a change of a service's node takes a
///   position and leaves no entry, as no one follows the service (`Judge.record`);
/// * the quota: the items of a service's node count for who created it (`Node.creator`).
///
/// The access models `presence` and `roster` refer to the contacts of an owner (XEP-0060 4.5), so a service has none of
/// them.
public struct PubsubServices: Sendable {
  /// The users who may create nodes at a service. Guests never may.
  public enum Creators: String, Sendable, CaseIterable { case admins, users, nobody }

  private let byDomain: [String: Party]
  private let creators: Creators
  private let administrators: AdministratorRegistry

  init(_ options: Parley.Options, _ realms: [Realm], _ administrators: AdministratorRegistry) {
    var found: [String: Party] = [:]
    for realm in realms where options.domains.contains(realm.domain) && !realm.id.isRemote {
      guard let domain = options.pubsub(realm.domain), let address = try? BareJID(local: nil, domain: domain) else {
        continue
      }
      found[address.domain] = Party(id: .service(of: realm.id), realm: realm.id, address: address)
    }
    byDomain = found
    creators = options.nodeCreators
    self.administrators = administrators
  }

  /// Returns the service at an address, if it is that of the user's own realm.
  public func service(at address: BareJID, for user: Party) -> Party? {
    guard address.local == nil, let service = byDomain[address.domain], service.realm == user.realm else { return nil }
    return service
  }

  public func service(of realm: RealmID) -> Party? { byDomain.values.first { $0.realm == realm } }

  /// Returns whether an administrator owns all nodes of the service beside their owners: somebody must be able to remove
  /// what must not be published.
  public func isAdmin(_ user: Party, of owner: UserID) -> Bool {
    owner.isService && administrators.contains(user)
  }

  func mayCreate(_ user: Party) -> Bool {
    switch creators {
    case .admins: administrators.contains(user)
    case .users: true
    case .nobody: false
    }
  }
}

extension UserID {
  /// The first id behind those of services, of which each realm has one. `Party.init(remote:)` avoids them.
  static let servicesEnd = UserID(.min / 2)

  static func service(of realm: RealmID) -> UserID { UserID(.min + realm.number) }

  /// Whether this is the id of a pubsub service, not of a user.
  public var isService: Bool { self < Self.servicesEnd }
}
