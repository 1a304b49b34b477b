import Synchronization

/// The users with push registrations, in memory, so that a message to others costs one lookup; and the signal that
/// wakes the pusher. The committer changes it after a commit.
///
/// It also knows the rooms of these users, so that a message to a room without any of them costs one lookup. It only
/// narrows the search: the user's settings of a room are read when a push would be due. It keeps the rooms of users whose
/// last registration has ended (`Limits.restingPushRoomsMax`), so that a client that registers again and again does not
/// have thousands of them read each time.
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
    /// `nothing` for a user without a registration.
    var asked = Asked.nothing
    /// The rooms with the user in `listeners`, which are all of the user's.
    var rooms: Set<DialogID> = []
  }
  /// The members of a room who are in `State.users`, by their notification settings.
  private struct Listeners {
    var always: Set<UserID> = []
    var unsaid: Set<UserID> = []
    /// Users who want fewer notifications.
    var quiet: Set<UserID> = []
    var all: Set<UserID> { always.union(unsaid).union(quiet) }
    var isEmpty: Bool { always.isEmpty && unsaid.isEmpty && quiet.isEmpty }
  }
  private struct State {
    var users: [UserID: User] = [:]
    var listeners: [DialogID: Listeners] = [:]
    var owed: Set<UserID> = []
    /// The users without a registration, each with the number that the user counts as in `restingRooms`.
    var resting: [UserID: Int] = [:]
    /// The number of rooms of the users in `resting`, and of these users.
    var restingRooms = 0

    mutating func set(_ user: UserID, _ asked: Asked, _ rooms: [DialogID: Preference]?) {
      if let rooms {
        forget(user)
        users[user] = User(rooms: Set(rooms.keys))
        for (room, preference) in rooms { place(user, in: room, preference) }
      }
      if users[user] == nil { return }
      users[user]?.asked = asked
      countResting(user)
    }

    mutating func set(_ user: UserID, in room: DialogID, _ preference: Preference) {
      if users[user] == nil { return }
      place(user, in: room, preference)
      if preference == .none { users[user]?.rooms.remove(room) } else { users[user]?.rooms.insert(room) }
      countResting(user)
    }

    /// Counts the rooms of a user again, if the user has no registration: they change meanwhile.
    mutating func countResting(_ user: UserID) {
      restingRooms -= resting.removeValue(forKey: user) ?? 0
      guard let known = users[user], known.asked == .nothing else { return }
      resting[user] = known.rooms.count + 1
      restingRooms += known.rooms.count + 1
    }

    private mutating func place(_ user: UserID, in room: DialogID, _ preference: Preference) {
      // Removed, so that the sets are changed in place.
      var found = listeners.removeValue(forKey: room) ?? Listeners()
      found.always.remove(user)
      found.unsaid.remove(user)
      found.quiet.remove(user)
      switch preference {
      case .member(.always): found.always.insert(user)
      case .member(nil): found.unsaid.insert(user)
      case .member(.onMention), .member(.never): found.quiet.insert(user)
      case .none: break
      }
      if !found.isEmpty { listeners[room] = found }
    }

    mutating func forget(_ user: UserID) {
      let rooms = users.removeValue(forKey: user)?.rooms ?? []
      for room in rooms { place(user, in: room, .none) }
      restingRooms -= resting.removeValue(forKey: user) ?? 0
    }

    func isRegistered(_ user: UserID) -> Bool { users[user].map { $0.asked != .nothing } ?? false }
    func hearsSilently(_ user: UserID) -> Bool { users[user]?.asked.hearsSilently ?? false }
  }
  private let state: Mutex<State>
  private let restingRoomsMax: Int
  private let wakes: AsyncStream<Void>.Continuation
  /// The signal of pending pushes; for one listener.
  package let wakeSignal: AsyncStream<Void>

  /// Loads the registry; blocks.
  init(_ reader: any StoreReader, restingRoomsMax: Int = Limits.restingPushRoomsMax) throws {
    self.restingRoomsMax = restingRoomsMax
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
  public func has(_ user: UserID) -> Bool { state.withLock { $0.isRegistered(user) } }
  /// Returns whether the session with this resource has registered.
  public func has(_ user: UserID, resource: String) -> Bool {
    state.withLock { $0.users[user]?.asked.resources.contains(resource) == true }
  }
  /// Returns what the user's registrations want; `nil` if there are none.
  func asked(_ user: UserID) -> Asked? {
    state.withLock { state in state.isRegistered(user) ? state.users[user]?.asked : nil }
  }
  /// Returns whether the user's rooms are known here, so that `set` need not get them.
  func knowsRooms(of user: UserID) -> Bool { state.withLock { $0.users[user] != nil } }

  /// Returns the members of a room who may want pushes of every message: those with the setting `always` and, if that
  /// is `usual`, those without a setting. If it is `usual`, also those who want the rest silently: in a larger room
  /// that would be a row for everyone.
  func listeners(in room: DialogID, usual: Alerts) -> Set<UserID> {
    state.withLock { state in
      guard let found = state.listeners[room] else { return [] }
      var readers = found.always.filter { state.isRegistered($0) }
      if usual == .always {
        readers.formUnion(found.unsaid.filter { state.isRegistered($0) })
        readers.formUnion(found.quiet.filter { state.hearsSilently($0) })
      }
      return readers
    }
  }

  /// Sets what a user's registrations want.
  ///
  /// - Parameter rooms: All rooms of the user; `nil` if the registry knows them, or if the user has no registration.
  func set(_ user: UserID, _ asked: Asked, _ rooms: [DialogID: Preference]?) {
    state.withLock { $0.set(user, asked, rooms) }
  }

  /// Forgets rooms of users without a registration until they are few enough. The committer calls it after a batch that has changed
  /// registrations or rooms: what a batch relies on being known stays until the batch has been applied here.
  func batchEnded() {
    state.withLock { state in
      while state.restingRooms > restingRoomsMax, let user = state.resting.keys.first { state.forget(user) }
    }
  }

  func set(_ user: UserID, in room: DialogID, _ preference: Preference) {
    state.withLock { $0.set(user, in: room, preference) }
  }

  /// Removes a deleted user.
  package func forget(_ user: UserID) { state.withLock { $0.forget(user) } }

  /// Removes a destroyed room.
  func forget(_ room: DialogID) {
    state.withLock { state in
      let gone = state.listeners.removeValue(forKey: room) ?? Listeners()
      for user in gone.all {
        state.users[user]?.rooms.remove(room)
        state.countResting(user)
      }
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
