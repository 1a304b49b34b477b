/// Whose turn it is to have their services told. Who was signals for first is served first, so that slow services keep nobody
/// waiting for ever; who is signals for while being served comes again behind the others.
struct PushQueue: Equatable {
  /// In order; the same as `queued`.
  private var waiting: ArraySlice<UserID> = []
  private var queued: Set<UserID> = []
  private var busy: Set<UserID> = []
  private var again: Set<UserID> = []
  private let max: Int

  /// - Parameter max: users that are served at the same time.
  init(max: Int = Limits.pushesAtOnceMax) { self.max = max }

  mutating func ring(for user: UserID) {
    if busy.contains(user) {
      again.insert(user)
    } else if queued.insert(user).inserted {
      waiting.append(user)
    }
  }

  /// Who is to be served now, until `served`; nil: nobody, or as many as may be are.
  mutating func next() -> UserID? {
    guard busy.count < max, let user = waiting.popFirst() else { return nil }
    queued.remove(user)
    busy.insert(user)
    return user
  }

  mutating func served(_ user: UserID) {
    busy.remove(user)
    if again.remove(user) != nil { ring(for: user) }
  }
}
