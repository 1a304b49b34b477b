import Dialogs
import Synchronization

/// The places of requests whose answers may be long: pages of messages and users, a whole list of contacts. Theory:
///
/// Such an answer is in memory several times while it is built: as rows, as the wire's objects, and as JSON. Hence a request
/// takes a place before it reads, and has it until its answer is built. Networks and users take turns (`Turns`), and further requests
/// wait in order: a client that asks for many pages at once gets all of them, in the memory of a few. Large pictures have places of
/// their own (`AppDoor.picturePlaces`).
final class ReadPlaces: Sendable {
  private let turns: Mutex<Turns<ReadOwner, CheckedContinuation<Bool, Never>>>

  init(max: Int = AppLimits.readPlacesMax, perUserMax: Int = AppLimits.readPlacesPerUserMax) {
    turns = Mutex(Turns(max: max, perOwnerMax: perUserMax))
  }

  /// Returns whether the owner of a request's reads has a place, which must then be given back.
  ///
  /// - Parameter patience: The time for which it waits at most; `nil` for as long as it takes.
  func take(for owner: ReadOwner, within patience: Duration? = nil) async -> Bool {
    let timer = Mutex<Task<Void, Never>?>(nil)
    defer { timer.withLock { $0?.cancel() } }
    return await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
      let (number, begun) = turns.withLock { turns in
        (turns.add(continuation, of: owner, in: owner.network), turns.next()?.job)
      }
      begun?.resume(returning: true)
      guard let patience else { return }
      let task = Task {
        guard (try? await Task.sleep(for: patience)) != nil else { return }
        turns.withLock { $0.remove(number, of: owner) }?.resume(returning: false)
      }
      timer.withLock { $0 = task }
    }
  }

  func giveBack(by owner: ReadOwner) {
    let begun = turns.withLock { turns -> [CheckedContinuation<Bool, Never>] in
      turns.end(owner, in: owner.network)
      var begun: [CheckedContinuation<Bool, Never>] = []
      while let next = turns.next() { begun.append(next.job) }
      return begun
    }
    for waiting in begun { waiting.resume(returning: true) }
  }
}

/// The place of one request, which takes it when it first reads.
final class ReadPlace: Sendable {
  private let places: ReadPlaces
  private let owner: ReadOwner
  let isTaken = Mutex(false)

  init(_ places: ReadPlaces, for owner: ReadOwner) {
    self.places = places
    self.owner = owner
  }

  /// Returns whether the request has a place, after the time at most. It reads one thing after the other.
  @discardableResult
  func take(within patience: Duration? = nil) async -> Bool {
    if isTaken.withLock({ $0 }) { return true }
    let taken = await places.take(for: owner, within: patience)
    isTaken.withLock { $0 = taken }
    return taken
  }

  /// Gives the place back, if the request has one: its answer is built, or it waits for something else.
  func end() {
    let wasTaken = isTaken.withLock { isTaken -> Bool in
      defer { isTaken = false }
      return isTaken
    }
    if wasTaken { places.giveBack(by: owner) }
  }
}
