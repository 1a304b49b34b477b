import Synchronization

/// Whether a piece of the end of a room could not be committed, such as on a full disk. The next piece is posted only by the one
/// before it, so the end stops there and the address stays taken. It is continued later
/// (`Parley.continueRoomEnds`), as the next start would do.
final class FailedRoomEnds: Sendable {
  private let hasFailed = Atomic(false)

  func note() { hasFailed.store(true, ordering: .relaxed) }

  /// Returns whether a piece has failed since the last call.
  func take() -> Bool { hasFailed.exchange(false, ordering: .relaxed) }
}

extension RoomIntent {
  /// Whether it is a piece of the end of a room, which the server posts itself.
  var isPieceOfEnd: Bool {
    switch self {
    case .endMembers, .endEmpty, .removeContent: true
    case .create, .introduce, .enter, .show, .probe, .exit, .say, .signal, .whisper, .pass, .face, .marker, .members,
      .roles, .configure, .expelOutsiders, .prepare, .abandon, .topic, .invite, .decline, .askForVoice, .register,
      .destroy, .readNicks, .occupants, .place, .headcounts, .come, .vacate, .lose:
      false
    }
  }
}

extension Parley {
  /// Continues the ends of rooms of which a piece could not be committed since the last call.
  public func continueRoomEnds() {
    guard registries.failedRoomEnds.take() else { return }
    submitSurely(Post(author: Self.nobody, intent: .room(.endEmpty(after: DialogID(0))), completion: .none))
  }
}
