public import Addresses
import Synchronization

// What a component may do for the users of the realm it is attached to (XEP-0356). Theory:
//
// The operator grants it, by component. Whatever a component does in a user's name is a post of the component that says for
// whom it is and by which right (`Post.behalf`). The `Judge` looks at the grant as it stands when the post is judged, and goes
// on as if the user had posted: their blocks, bounds and rights hold as ever. Nothing is done in anybody's name that they
// could not do themselves, except that a component speaks for its own users, too, where a roster is concerned.

/// The grants of one component.
public struct Privileges: Sendable, Hashable {
  /// To read, to change, or both.
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

  /// Whose presence it is told.
  public enum Presence: String, Sendable, Hashable, CaseIterable {
    case none
    /// The users': that they come and go.
    case users = "managed_entity"
    /// And what the users' contacts announce to them.
    case contacts = "roster"

    /// - Parameters:
    ///   - isNews: somebody came or went.
    ///   - isSeen: another user is told.
    func covers(isNews: Bool, isSeen: Bool) -> Bool {
      switch self {
      case .none: false
      case .users: isNews
      case .contacts: isNews || isSeen
      }
    }
  }

  public var roster: Access
  /// Whether it is told of changes of rosters; only where it may read them.
  public var isToldOfRosters: Bool
  /// To say something in the name of a user or of the domain.
  public var speaks: Bool
  /// What it may ask in a user's name, by a name that is the door's (for XMPP: a namespace).
  public var requests: [String: Access]
  public var presence: Presence

  public static let none = Privileges()

  /// - Parameter isToldOfRosters: nil: where it may read them (XEP-0356 4.1).
  public init(
    roster: Access = .none, isToldOfRosters: Bool? = nil, speaks: Bool = false, requests: [String: Access] = [:],
    presence: Presence = .none
  ) {
    let reads = roster.allows(isSet: false)
    self.roster = roster
    self.isToldOfRosters = reads && isToldOfRosters ?? true
    self.speaks = speaks
    self.requests = requests
    // XEP-0356 7: who may not read rosters is not told by their presence who stands in them.
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

/// By what a component acts in somebody's name.
public enum Right: Sendable, Hashable {
  case roster(isSet: Bool)
  case speak
  case request(String, isSet: Bool)
}

/// In whose name something is done, and by what right.
public struct Behalf: Sendable, Hashable {
  /// A user of the realm that the author is attached to; for `speak` also that realm's domain.
  public let user: BareJID
  public let right: Right
  public init(_ user: BareJID, by right: Right) {
    self.user = user
    self.right = right
  }
}

/// The grants as they stand; they may change while the server runs.
public final class PrivilegeRegistry: Sendable {
  private struct Grant {
    let home: RealmID
    let privileges: Privileges
  }
  private let grants = Mutex<[RealmID: Grant]>([:])

  /// Of the component that is this remote realm.
  public subscript(realm: RealmID) -> Privileges { grants.withLock { $0[realm]?.privileges ?? .none } }

  func set(_ privileges: [RealmID: Privileges], home: (RealmID) -> RealmID) {
    var all: [RealmID: Grant] = [:]
    for (realm, granted) in privileges where granted != .none {
      all[realm] = Grant(home: home(realm), privileges: granted)
    }
    grants.withLock { [all] in $0 = all }
  }

  /// The components of a realm that are granted this.
  func holders(in home: RealmID, where test: (Privileges) -> Bool) -> [RealmID] {
    grants.withLock { $0.isEmpty ? [] : $0.filter { $0.value.home == home && test($0.value.privileges) }.map(\.key) }
  }
}
