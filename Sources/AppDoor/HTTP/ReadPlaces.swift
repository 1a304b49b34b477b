import Dialogs
import Synchronization

/// The places of requests whose answers may be long: pages of messages and users, a whole list of contacts. Theory:
///
/// Such an answer is in memory several times while it is built: as rows, as the wire's objects, and as JSON. Hence a request
/// takes a place before it reads, and has it until its answer is built. Networks and users take turns (`Turns`), and further requests
/// wait in order: a client that asks for many pages at once gets all of them, in the memory of a few. Large pictures have places of
/// their own (`AppDoor.picturePlaces`).
final class ReadPlaces: Sendable {
  private let turns: Mutex<Turns<ReadOwner, CheckedContinuation<Void, Never>>>

  init(max: Int = AppLimits.readPlacesMax, perUserMax: Int = AppLimits.readPlacesPerUserMax) {
    turns = Mutex(Turns(max: max, perOwnerMax: perUserMax))
  }

  /// Returns when the owner of a request's reads has a place, which must be given back.
  func take(for owner: ReadOwner) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let begun = turns.withLock { turns -> CheckedContinuation<Void, Never>? in
        turns.add(continuation, of: owner, in: owner.network)
        return turns.next()?.job
      }
      begun?.resume()
    }
  }

  func giveBack(by owner: ReadOwner) {
    let begun = turns.withLock { turns -> [CheckedContinuation<Void, Never>] in
      turns.end(owner, in: owner.network)
      var begun: [CheckedContinuation<Void, Never>] = []
      while let next = turns.next() { begun.append(next.job) }
      return begun
    }
    for waiting in begun { waiting.resume() }
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

  /// Returns when the request has a place. It reads one thing after the other.
  func take() async {
    if isTaken.withLock({ $0 }) { return }
    await places.take(for: owner)
    isTaken.withLock { $0 = true }
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
