import Synchronization

/// The bytes of what waits in many queues, which are bounded in all and by owner, across threads. At a bound the newest is refused:
/// what waits elsewhere stays, where a holder of `MemoryBound` would end.
///
/// Theory: each owner may have a share of what all leave free, up to a bound of its own. So many owners together always leave some of it
/// to the next one, and what is small fits where what is large does not.
public final class WaitingBytes: Sendable {
  private struct State {
    var owners: [String: Int] = [:]
    var sum = 0
  }

  private let bytesMax: Int
  private let ownerBytesMax: Int
  private let ownerShare: Int
  private let onRefusal: @Sendable (_ owner: String) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - bytesMax: The bytes that may wait in all; without it there is no bound.
  ///   - ownerBytesMax: Those of one owner.
  ///   - ownerShare: The divisor of what is free that one owner may have.
  ///   - onRefusal: Called for everything that is refused, with its owner.
  public init(
    bytesMax: Int = .max, ownerBytesMax: Int = .max, ownerShare: Int = 1,
    onRefusal: @escaping @Sendable (_ owner: String) -> Void = { _ in }
  ) {
    self.bytesMax = bytesMax
    self.ownerBytesMax = ownerBytesMax
    self.ownerShare = ownerShare
    self.onRefusal = onRefusal
  }

  /// The bytes that wait.
  public var bytes: Int { state.withLock { $0.sum } }

  /// Counts bytes of an owner until they are released. Returns `false` at a bound; then nothing was counted.
  ///
  /// - Parameter replaced: Bytes of the same owner that are released next. What takes no more than it replaces has no bound: shares
  ///   shrink as others fill theirs, and what waits already may be brought up to date.
  public func take(_ bytes: Int, of owner: String, replacing replaced: Int = 0) -> Bool {
    let isTaken = state.withLock { state in
      let held = state.owners[owner, default: 0]
      guard
        bytes <= replaced
          || held - replaced + bytes <= min(ownerBytesMax, (bytesMax - state.sum + replaced) / ownerShare)
      else { return false }
      state.owners[owner] = held + bytes
      state.sum += bytes
      return true
    }
    if !isTaken { onRefusal(owner) }
    return isTaken
  }

  /// Returns whether `take` would count these bytes.
  public func takes(_ bytes: Int, of owner: String) -> Bool {
    let takes = state.withLock { state in
      state.owners[owner, default: 0] + bytes <= min(ownerBytesMax, (bytesMax - state.sum) / ownerShare)
    }
    if !takes { onRefusal(owner) }
    return takes
  }

  /// Counts bytes of an owner whatever the bounds are: what they are for was found to fit (`takes`) before it began.
  public func add(_ bytes: Int, of owner: String) {
    state.withLock { state in
      state.owners[owner, default: 0] += bytes
      state.sum += bytes
    }
  }

  /// Counts bytes that were taken no more.
  public func release(_ bytes: Int, of owner: String) {
    state.withLock { state in
      let held = state.owners[owner, default: 0] - bytes
      state.owners[owner] = held > 0 ? held : nil
      state.sum -= bytes
    }
  }
}
