import Synchronization

/// Who has push registrations, in memory, so that a message to anybody else costs one look; and the bell that wakes whoever
/// sends pushes. Changed by the committer, after a commit.
public final class PushBook: Sendable {
  private struct State {
    /// The resources of the sessions that asked, by user.
    var users: [UserID: Set<String>] = [:]
    var owed: Set<UserID> = []
  }
  private let state: Mutex<State>
  private let rings: AsyncStream<Void>.Continuation
  /// Rings when somebody is owed a push; for one listener.
  let bell: AsyncStream<Void>

  init(_ registrations: [PushRegistration], owed: [UserID]) {
    var first = State()
    for registration in registrations { first.users[registration.user, default: []].insert(registration.resource) }
    first.owed = Set(owed)
    state = Mutex(first)
    (bell, rings) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    if !owed.isEmpty { rings.yield() }
  }

  /// Whether the user has a registration.
  public func has(_ user: UserID) -> Bool { state.withLock { $0.users[user] != nil } }
  /// Whether the session under this resource asked for one.
  public func has(_ user: UserID, resource: String) -> Bool {
    state.withLock { $0.users[user]?.contains(resource) == true }
  }

  func set(_ user: UserID, _ resources: Set<String>) {
    state.withLock { $0.users[user] = resources.isEmpty ? nil : resources }
  }

  func ring(_ user: UserID) {
    state.withLock { _ = $0.owed.insert(user) }
    rings.yield()
  }

  /// Looks again, without anybody new.
  func ring() { rings.yield() }

  func takeOwed() -> Set<UserID> {
    state.withLock { state in
      defer { state.owed = [] }
      return state.owed
    }
  }
}
