import Basics
import Synchronization

/// When the long lists of bookmarks were announced to clients that know only the list, each of which is read as a whole: one of a
/// user is announced once in `Limits.bookmarkListPause`, at the end of which its further changes are announced together.
///
/// Nothing of it is stored: after a restart clients connect anew, and get the list.
final class BookmarkLists: Sendable {
  private struct Pause {
    let owner: Party
    let end: Timestamp
    /// Whether the list has changed since it was announced.
    var isOwed = false
  }

  private let pauses = Mutex<[UserID: Pause]>([:])
  /// Wakes the timer.
  let wakeSignal = WakeSignal()

  /// Returns whether a changed list is announced now. Otherwise it is at the end of the pause.
  func isDue(_ owner: Party, now: Timestamp) -> Bool {
    let isDue: Bool = pauses.withLock { pauses in
      if pauses[owner.id] != nil {
        pauses[owner.id]?.isOwed = true
        return false
      }
      pauses[owner.id] = Pause(owner: owner, end: now + Limits.bookmarkListPause)
      return true
    }
    if isDue { wakeSignal.wake() }
    return isDue
  }

  /// Ends the pauses that are over. Returns the owners of the lists that have changed in them, whose next pause begins, and the end
  /// of the next pause.
  func takeOwed(_ now: Timestamp) -> (owners: [Party], next: Timestamp?) {
    pauses.withLock { pauses in
      var owners: [Party] = []
      for (id, pause) in pauses where pause.end <= now {
        pauses[id] = nil
        guard pause.isOwed else { continue }
        owners.append(pause.owner)
        pauses[id] = Pause(owner: pause.owner, end: now + Limits.bookmarkListPause)
      }
      return (owners, pauses.values.map(\.end).min())
    }
  }
}

extension Parley {
  /// The timer that announces long lists of bookmarks.
  public var bookmarkListTimer: DueTimer { DueTimer(hub.bookmarkLists.wakeSignal) { await self.tellBookmarkLists() } }

  /// Announces the lists whose pause is over. Returns how long nothing more is to do; `nil` if no list has changed.
  func tellBookmarkLists() async -> Duration? {
    let (owners, next) = hub.bookmarkLists.takeOwed(clock.now)
    // If the inbox is full, the next change is announced.
    for owner in owners { _ = try? await post(.node(.tellBookmarks), by: owner, isFromBackend: true) }
    return next.map { max(.milliseconds(100), .milliseconds($0.milliseconds - clock.now.milliseconds)) }
  }
}
