import Synchronization

/// Who has push registrations, in memory, so that a message to anybody else costs one look; and the wake signal that rings whoever
/// sends pushes. Changed by the committer, after a commit.
///
/// It also knows in which rooms those users are, so that a message to a room costs one look where it has none of them.
/// That is where to look only: what a user wants of a room is read when a push of it would be owed.
public final class PushRegistry: Sendable {
  /// What a user is to a room, and wants of it; nil: what is usual.
  enum Preference: Hashable, Sendable { case member(Alerts?), none }

  /// What a user's registrations ask for together.
  struct Asked: Hashable, Sendable {
    /// Of the sessions that asked.
    var resources: Set<String> = []
    /// One of them is told of muted dialogs.
    var hearsSilently = false
    /// One of them is there for calls alone.
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
    /// Where the user stands in `listeners`.
    var rooms: Set<DialogID> = []
  }
  private struct Listeners {
    var always: Set<UserID> = []
    var unsaid: Set<UserID> = []
    /// Who wants less, and to be told of the rest silently.
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
      // Taken out, so that the sets are changed in place.
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
  /// Rings when somebody is owed a push; for one listener.
  let wakeSignal: AsyncStream<Void>

  /// Blocks.
  init(_ reader: any StoreReader) throws {
    var first = State()
    for (user, registrations) in Dictionary(grouping: try reader.pushRegistrations(), by: \.user) {
      first.set(user, Asked(registrations), try Self.rooms(of: user, reader))
    }
    first.owed = Set(try reader.usersOwedPushes())
    let isOwed = !first.owed.isEmpty
    state = Mutex(first)
    (wakeSignal, wakes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    if isOwed { wakes.yield() }
  }

  /// What somebody is to all rooms.
  static func rooms(of user: UserID, _ reader: any StoreReader) throws -> [DialogID: Preference] {
    let settings = try reader.settings(of: user)
    return Dictionary(
      try reader.memberships(of: user).map { ($0.room.dialog, .member(settings[$0.room.dialog]?.alerts)) },
      uniquingKeysWith: { $1 })
  }

  /// Whether the user has a registration.
  public func has(_ user: UserID) -> Bool { state.withLock { $0.users[user] != nil } }
  /// Whether the session under this resource asked for one.
  public func has(_ user: UserID, resource: String) -> Bool {
    state.withLock { $0.users[user]?.asked.resources.contains(resource) == true }
  }
  func asked(_ user: UserID) -> Asked? { state.withLock { $0.users[user]?.asked } }

  /// Those of a room's members who may want to be told of every message: who has said so and, if that is `usual`, who
  /// has said nothing. In a room where everything rings as is usual, those too who want the rest silently: in a larger one
  /// that would be a row for everybody.
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

  /// The user is deleted.
  package func forget(_ user: UserID) { set(user, .nothing, [:]) }

  /// The room is destroyed.
  func forget(_ room: DialogID) {
    state.withLock { state in
      let gone = state.listeners.removeValue(forKey: room) ?? Listeners()
      for user in gone.all { state.users[user]?.rooms.remove(room) }
    }
  }

  func ring(_ user: UserID) {
    state.withLock { _ = $0.owed.insert(user) }
    wakes.yield()
  }

  /// Looks again, without anybody new.
  func wake() { wakes.yield() }

  func takeOwed() -> Set<UserID> {
    state.withLock { state in
      defer { state.owed = [] }
      return state.owed
    }
  }
}
