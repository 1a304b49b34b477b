import Dialogs
import NIOCore

/// The cache of encoded member lists (XEP-0045 9.5). In a non-anonymous room every client requests them when it enters,
/// to encrypt for absent members too: a list of thousands is not read and encoded again for each.
final class EncodedMemberLists: Sendable {
  private struct Key: Hashable {
    let room: DialogID
    let affiliation: Affiliation
  }
  private struct State {
    var lists: [Key: (edition: UInt64, list: ByteBuffer)] = [:]
    var byteCount = 0
  }
  private let state = Locked(State())

  /// Returns the list; `nil` if another edition is cached, or none.
  func find(_ affiliation: Affiliation, of room: DialogID, _ edition: UInt64) -> ByteBuffer? {
    state.withLock { state in
      guard let kept = state.lists[Key(room: room, affiliation: affiliation)], kept.edition == edition else {
        return nil
      }
      return kept.list
    }
  }

  /// Caches a list. `edition` is the one that was current before the list was read; a later change is in the next.
  func keep(_ list: ByteBuffer, _ affiliation: Affiliation, of room: DialogID, _ edition: UInt64) {
    guard list.readableBytes <= DoorLimits.memberListBytesMax else { return }
    state.withLock { state in
      let key = Key(room: room, affiliation: affiliation)
      if let kept = state.lists.removeValue(forKey: key) {
        state.byteCount -= kept.list.readableBytes
      }
      if state.byteCount + list.readableBytes > DoorLimits.memberListBytesMax { state = State() }
      state.lists[key] = (edition, list)
      state.byteCount += list.readableBytes
    }
  }
}
