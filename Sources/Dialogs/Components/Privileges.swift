public import Addresses
import Synchronization

// The privileges of a component concerning users of its realm (XEP-0356). Theory:
//
// The operator grants them to each component. An action on behalf of a user is a post of the component that names the
// user and the right (`Post.behalf`). The `Judge` checks the current grant when it processes the post, and continues as
// if the user had posted: their blocks, bounds and rights apply as always. A component can do nothing that the user
// could not, except that it may also set rosters to subscriptions with its own users.

/// The privileges of one component.
public struct Privileges: Sendable, Hashable {
  /// The permission to read, to change, or both.
  public enum Access: String, Sendable, Hashable, CaseIterable {
    case none, get, set, both
    public func allows(isSet: Bool) -> Bool {
      switch self {
      case .none: false
      case .get: !isSet
      case .set: isSet
      case .both: true
      }
    }
  }

  /// The presences that the component receives.
  public enum Presence: String, Sendable, Hashable, CaseIterable {
    case none
    /// The users' own, when they become available or unavailable.
    case users = "managed_entity"
    /// In addition, the presences of the users' contacts to them.
    case contacts = "roster"

    /// Returns whether a presence is sent to the component.
    ///
    /// - Parameters:
    ///   - isNews: whether a session became available or unavailable.
    ///   - isSeen: whether another user is told.
    func covers(isNews: Bool, isSeen: Bool) -> Bool {
      switch self {
      case .none: false
      case .users: isNews
      case .contacts: isNews || isSeen
      }
    }
  }

  public var roster: Access
  /// Whether it is told of changes of rosters, which requires the permission to read them.
  public var isToldOfRosters: Bool
  /// Whether it may send messages on behalf of a user or the domain.
  public var speaks: Bool
  /// The permitted requests on behalf of a user, by a name defined by the door (for XMPP, a namespace).
  public var requests: [String: Access]
  public var presence: Presence

  public static let none = Privileges()

  /// Creates privileges.
  ///
  /// - Parameter isToldOfRosters: `nil` if it follows from the permission to read (XEP-0356 4.1).
  public init(
    roster: Access = .none, isToldOfRosters: Bool? = nil, speaks: Bool = false, requests: [String: Access] = [:],
    presence: Presence = .none
  ) {
    let reads = roster.allows(isSet: false)
    self.roster = roster
    self.isToldOfRosters = reads && isToldOfRosters ?? true
    self.speaks = speaks
    self.requests = requests
    // Contacts' presences would reveal the roster to a component that may not read it (XEP-0356 7).
    self.presence = presence == .contacts && !reads ? .none : presence
  }

  public func allows(_ right: Right) -> Bool {
    switch right {
    case .roster(let isSet): roster.allows(isSet: isSet)
    case .speak: speaks
    case .request(let name, let isSet): requests[name]?.allows(isSet: isSet) ?? false
    }
  }
}

/// The right by which a component acts on behalf of a user.
public enum Right: Sendable, Hashable {
  case roster(isSet: Bool)
  case speak
  case request(String, isSet: Bool)
}

/// The user on whose behalf a component acts, and its right.
public struct Behalf: Sendable, Hashable {
  /// A user of the realm that the author is attached to; for `speak` also that realm's domain.
  public let user: BareJID
  public let right: Right
  public init(_ user: BareJID, by right: Right) {
    self.user = user
    self.right = right
  }
}

/// The current privileges; they may change while the server runs.
public final class PrivilegeRegistry: Sendable {
  private struct Grant {
    let home: RealmID
    let privileges: Privileges
  }
  private let grants = Mutex<[RealmID: Grant]>([:])

  /// The privileges of the component that is this remote realm.
  public subscript(realm: RealmID) -> Privileges { grants.withLock { $0[realm]?.privileges ?? .none } }

  func set(_ privileges: [RealmID: Privileges], home: (RealmID) -> RealmID) {
    var all: [RealmID: Grant] = [:]
    for (realm, granted) in privileges where granted != .none {
      all[realm] = Grant(home: home(realm), privileges: granted)
    }
    grants.withLock { [all] in $0 = all }
  }

  /// Returns the components of a realm with a privilege.
  func holders(in home: RealmID, where test: (Privileges) -> Bool) -> [RealmID] {
    grants.withLock { $0.isEmpty ? [] : $0.filter { $0.value.home == home && test($0.value.privileges) }.map(\.key) }
  }
}
