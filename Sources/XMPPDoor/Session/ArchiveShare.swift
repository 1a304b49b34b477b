import Dialogs

/// The bound of what all sessions store together at a stop, as a value. Theory:
///
/// Most sessions store a kilobyte or two; one whose client acknowledges nothing stores up to a thousand times as much. If
/// not all fit, the smallest are stored, so that a few large sessions do not keep the others from being resumed. The sizes are
/// estimated first, for all event loops; what is stored then is counted exactly.
struct ArchiveShare: Equatable, Sendable {
  /// The size of the largest session that is stored.
  let sizeMax: Int
  private(set) var bytesLeft: Int
  /// The bytes that are stored.
  private(set) var bytes = 0
  /// The sessions that are not stored: their clients would be sent too much again, or there was no room.
  private(set) var tooLarge = 0
  private(set) var withoutRoom = 0

  /// - Parameter sizes: those of all sessions, as `SessionArchive.size` has them.
  init(sizes: [Int], bytesMax: Int) {
    var (left, sizeMax) = (bytesMax, 0)
    let sizes = sizes.filter { $0 < .max }.sorted()
    for size in sizes {
      guard size <= left else { break }
      left -= size
      sizeMax = size
    }
    // The estimates of sessions that all fit are no bound.
    self.sizeMax = sizes.reduce(0, +) <= bytesMax ? bytesMax : sizeMax
    bytesLeft = bytesMax
  }

  /// Returns what a session of this size stores; `nil` if it is not stored.
  mutating func store(_ size: Int, _ archive: () -> SuspendedSession?) -> SuspendedSession? {
    guard size < .max else {
      tooLarge += 1
      return nil
    }
    guard size <= sizeMax, let session = archive(), session.byteCount <= bytesLeft else {
      withoutRoom += 1
      return nil
    }
    bytesLeft -= session.byteCount
    bytes += session.byteCount
    return session
  }
}

extension SuspendedSession {
  fileprivate var byteCount: Int { state.count + stanzas.count }
}
