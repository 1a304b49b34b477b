import Synchronization

/// The one upload at a time that fills a slot. A later one of the same slot may take over until the bytes are all there:
/// whoever comes back after a lost connection need not wait until the server has noticed that it is lost.
final class BlobClaim: Sendable {
  private enum Phase { case receiving, finishing, over }
  let user: UserID
  private let phase = Mutex(Phase.receiving)

  init(_ user: UserID) { self.user = user }

  /// Writes, and nobody takes over meanwhile; false: somebody has.
  func write(_ body: () throws(BlobFailure) -> Void) throws(BlobFailure) -> Bool {
    let result: Result<Bool, BlobFailure> = phase.withLock { phase in
      guard phase == .receiving else { return .success(false) }
      do throws(BlobFailure) {
        try body()
        return .success(true)
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Nobody takes over any more; false: somebody has.
  func beginFinishing() -> Bool { move(to: .finishing) }

  /// Nothing is written any more, when this returns; false: it is being finished.
  func end() -> Bool {
    phase.withLock { phase in
      if phase == .finishing { return false }
      phase = .over
      return true
    }
  }

  private func move(to next: Phase) -> Bool {
    phase.withLock { phase in
      guard phase == .receiving else { return false }
      phase = next
      return true
    }
  }
}
