import Dialogs

/// The queue of users with pending pushes. It is first-in, first-out, so that slow services delay no one forever; a
/// user queued while being served is queued again behind the others.
struct PushQueue: Equatable {
  /// The waiting users in order; the same as `queued`.
  private var waiting: ArraySlice<UserID> = []
  private var queued: Set<UserID> = []
  private var busy: Set<UserID> = []
  private var again: Set<UserID> = []
  private let max: Int

  /// Creates a queue.
  ///
  /// - Parameter max: the number of users that are served concurrently.
  init(max: Int = PushLimits.usersAtOnceMax) { self.max = max }

  mutating func add(_ user: UserID) {
    if busy.contains(user) {
      again.insert(user)
    } else if queued.insert(user).inserted {
      waiting.append(user)
    }
  }

  /// Returns the user to serve now, until `served`; `nil` if there is none, or the maximum is reached.
  mutating func next() -> UserID? {
    guard busy.count < max, let user = waiting.popFirst() else { return nil }
    queued.remove(user)
    busy.insert(user)
    return user
  }

  mutating func served(_ user: UserID) {
    busy.remove(user)
    if again.remove(user) != nil { add(user) }
  }
}
