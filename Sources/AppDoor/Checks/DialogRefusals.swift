import Dialogs

/// The refusals for a dialog that a user may not read or not change: a user who may not know of it learns nothing from them.
extension RoomAccess {
  /// Returns the room; throws unless the user reads it.
  func get() throws(Problem) -> ReadableRoom {
    switch self {
    case .none: throw DialogResolver.unknown
    case .known: throw Self.notJoined
    case .reads(let readable): return readable
    }
  }

  /// The refusal of a user who may know of the dialog, but not read it.
  static let notJoined = Problem(
    .forbidden, "dialog-not-joined", "You are no member of this dialog. Join it first.", field: "dialogId")

  /// Returns the refusal for the author of a post that the core has refused.
  func refusal(_ problem: Problem) -> Problem {
    switch self {
    case .none: DialogResolver.unknown
    // For the core the room is unknown to those who are no members; in the app protocol a listed one is known.
    case .known: problem.code == Problem.roomUnknown.code ? Self.notJoined : problem
    case .reads: problem
    }
  }
}

extension Problem {
  /// Whether the refusal could tell a stranger that a dialog exists; the server's own troubles do not.
  var isTelling: Bool {
    switch kind {
    case .overloaded, .internal, .tooFast, .unsupported, .refused: false
    case .malformed, .unauthenticated, .forbidden, .missing, .conflict, .tooLarge, .unreachable, .blocked, .foreign:
      true
    }
  }
}

extension DialogResolver {
  /// Returns the refusal for the author of a post about `place` that the core has refused.
  func refusal(_ problem: Problem, of place: DialogPlace, to author: Party) async -> Problem {
    guard case .room(let room) = place, problem.isTelling else { return problem }
    do throws(Problem) {
      return try await parley.read { try $0.access(to: room.dialog, for: author) }.refusal(problem)
    } catch {
      return error
    }
  }

  /// Posts about a group or public dialog; throws a refusal that the author may know.
  @discardableResult
  func post(_ intent: RoomIntent, in room: RoomName, by author: Party) async throws(Problem) -> Receipt {
    do throws(Problem) { return try await parley.post(.room(intent), by: author) } catch {
      throw await refusal(error, of: .room(room), to: author)
    }
  }
}
