import Synchronization

/// The exclusive right to fill a slot. A later upload of the same slot may take over until all bytes have arrived: a
/// client that lost its connection need not wait until the server has noticed.
final class BlobClaim: Sendable {
  private enum Phase { case receiving, finishing, over }
  let user: UserID
  private let phase = Mutex(Phase.receiving)

  init(_ user: UserID) { self.user = user }

  /// Writes, while no upload can take over. Returns `false` if one has.
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

  /// Prevents any takeover. Returns `false` if there was one.
  func beginFinishing() -> Bool { move(to: .finishing) }

  /// Ends the upload: nothing more is written when this returns. Returns `false` if it is being finished.
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
