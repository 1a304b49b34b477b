import Synchronization

/// The users with push registrations, in memory, so that a message to others costs one lookup; and the signal that
/// wakes the pusher. The committer changes it after a commit.
///
/// It also knows the rooms of these users, so that a message to a room without any of them costs one lookup. It only
/// narrows the search: the user's settings of a room are read when a push would be due.
public final class PushRegistry: Sendable {
  /// A user's membership of a room, with their notification setting; `nil` is the default.
  enum Preference: Hashable, Sendable { case member(Alerts?), none }

  /// The combined settings of a user's registrations.
  struct Asked: Hashable, Sendable {
    /// The resources of the registering sessions.
    var resources: Set<String> = []
    /// Whether one of them wants pushes of muted dialogs.
    var hearsSilently = false
    /// Whether one of them is for calls alone.
    var rings = false

    static let nothing = Asked()

    init(_ registrations: [PushRegistration] = []) {
      for registration in registrations {
        resources.insert(registration.resource)
        if registration.target.device?.hearsSilently == true { hearsSilently = true }
        if registration.target.device?.kind == .voip { rings = true }
      }
    }
  }

  private struct User {
    var asked: Asked
    /// The rooms with the user in `listeners`.
    var rooms: Set<DialogID> = []
  }
  private struct Listeners {
    var always: Set<UserID> = []
    var unsaid: Set<UserID> = []
    /// Users who want fewer notifications, and the rest silently.
    var quiet: Set<UserID> = []
    var all: Set<UserID> { always.union(unsaid).union(quiet) }
    var isEmpty: Bool { always.isEmpty && unsaid.isEmpty && quiet.isEmpty }
  }
  private struct State {
    var users: [UserID: User] = [:]
    var listeners: [DialogID: Listeners] = [:]
    var owed: Set<UserID> = []

    mutating func set(_ user: UserID, _ asked: Asked, _ rooms: [DialogID: Preference]) {
      for room in users[user]?.rooms ?? [] { set(user, in: room, .none) }
      users[user] = asked.resources.isEmpty ? nil : User(asked: asked)
      for (room, preference) in rooms { set(user, in: room, preference) }
    }

    mutating func set(_ user: UserID, in room: DialogID, _ preference: Preference) {
      guard let asked = users[user]?.asked else { return }
      // Removed, so that the sets are changed in place.
      var found = listeners.removeValue(forKey: room) ?? Listeners()
      found.always.remove(user)
      found.unsaid.remove(user)
      found.quiet.remove(user)
      var isThere = true
      switch preference {
      case .member(.always): found.always.insert(user)
      case .member(nil): found.unsaid.insert(user)
      case .member(.onMention), .member(.never):
        isThere = asked.hearsSilently
        if isThere { found.quiet.insert(user) }
      case .none: isThere = false
      }
      if isThere { users[user]?.rooms.insert(room) } else { users[user]?.rooms.remove(room) }
      if !found.isEmpty { listeners[room] = found }
    }
  }
  private let state: Mutex<State>
  private let wakes: AsyncStream<Void>.Continuation
  /// The signal of pending pushes; for one listener.
  package let wakeSignal: AsyncStream<Void>

  /// Loads the registry; blocks.
  init(_ reader: any StoreReader) throws {
    var first = State()
    for (user, registrations) in Dictionary(grouping: try reader.pushRegistrations(), by: \.user) {
      first.set(user, Asked(registrations), try Self.rooms(of: user, reader))
    }
    first.owed = Set(try reader.usersOwedPushes().map(\.user))
    let isOwed = !first.owed.isEmpty
    state = Mutex(first)
    (wakeSignal, wakes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    if isOwed { wakes.yield() }
  }

  /// Returns a user's preferences for all their rooms.
  static func rooms(of user: UserID, _ reader: any StoreReader) throws -> [DialogID: Preference] {
    let settings = try reader.settings(of: user)
    return Dictionary(
      try reader.memberships(of: user).map { ($0.room.dialog, .member(settings[$0.room.dialog]?.alerts)) },
      uniquingKeysWith: { $1 })
  }

  /// Returns whether the user has a registration.
  public func has(_ user: UserID) -> Bool { state.withLock { $0.users[user] != nil } }
  /// Returns whether the session with this resource has registered.
  public func has(_ user: UserID, resource: String) -> Bool {
    state.withLock { $0.users[user]?.asked.resources.contains(resource) == true }
  }
  func asked(_ user: UserID) -> Asked? { state.withLock { $0.users[user]?.asked } }

  /// Returns the members of a room who may want pushes of every message: those with the setting `always` and, if that
  /// is `usual`, those without a setting. If it is `usual`, also those who want the rest silently: in a larger room
  /// that would be a row for everyone.
  func listeners(in room: DialogID, usual: Alerts) -> Set<UserID> {
    state.withLock { state in
      guard let found = state.listeners[room] else { return [] }
      return usual == .always ? found.all : found.always
    }
  }

  func set(_ user: UserID, _ asked: Asked, _ rooms: [DialogID: Preference]) {
    state.withLock { $0.set(user, asked, rooms) }
  }

  func set(_ user: UserID, in room: DialogID, _ preference: Preference) {
    state.withLock { $0.set(user, in: room, preference) }
  }

  /// Removes a deleted user.
  package func forget(_ user: UserID) { set(user, .nothing, [:]) }

  /// Removes a destroyed room.
  func forget(_ room: DialogID) {
    state.withLock { state in
      let gone = state.listeners.removeValue(forKey: room) ?? Listeners()
      for user in gone.all { state.users[user]?.rooms.remove(room) }
    }
  }

  /// Wakes the pusher for a user with pending pushes.
  package func wake(for user: UserID) {
    state.withLock { _ = $0.owed.insert(user) }
    wakes.yield()
  }

  /// Wakes the pusher without a further user.
  package func wake() { wakes.yield() }

  package func takeOwed() -> Set<UserID> {
    state.withLock { state in
      defer { state.owed = [] }
      return state.owed
    }
  }
}
