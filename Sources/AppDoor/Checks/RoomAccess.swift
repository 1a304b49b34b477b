import Dialogs

/// A user's read access to a group or public dialog at one moment. Members see all of it; others see its existence if
/// it is listed, and otherwise nothing: its id then appears unknown.
struct RoomAccess: Sendable {
  let room: Room
  /// The membership; `nil` if the user is no member.
  let member: Member?

  /// Returns the access; `nil` if the user may not know of the dialog. Blocks: for `Parley.read`.
  static func of(_ id: DialogID, for user: Party, _ reader: any StoreReader) throws -> RoomAccess? {
    guard let room = try reader.room(id) else { return nil }
    return try of(room, for: user, reader)
  }

  static func of(_ room: Room, for user: Party, _ reader: any StoreReader) throws -> RoomAccess? {
    guard !room.isDestroyed, room.name.realm == user.realm else { return nil }
    let member = try reader.member(user.id, of: room.id).flatMap { $0.affiliation.isMember ? $0 : nil }
    guard member != nil || room.settings.isListed else { return nil }
    return RoomAccess(room: room, member: member)
  }

  /// Returns the access of a member; throws for others.
  static func asMember(
    of id: DialogID, _ user: Party, _ reader: any StoreReader
  ) throws -> (sight: RoomAccess, member: Member) {
    guard let sight = try of(id, for: user, reader) else { throw DialogResolver.unknown }
    guard let member = sight.member else { throw notJoined }
    return (sight, member)
  }

  /// Returns the position up to which the member may not read.
  static func horizon(of member: Member, in room: Room) -> Position {
    room.settings.history == .sinceJoin ? member.since : .zero
  }

  /// The problem for a listed dialog, whose existence is no secret.
  static let notJoined = Problem(
    .forbidden, "dialog-not-joined", "You are no member of this dialog. Join it first.", field: "dialogId")

  /// Returns the problem that a user may see after a refusal by the core: one who may not know of the dialog learns
  /// nothing of the reason.
  static func told(_ problem: Problem, _ sight: RoomAccess?) -> Problem {
    guard let sight else { return DialogResolver.unknown }
    // To the core a room is unknown to non-members, but the app shows listed ones to them.
    return problem.code == Problem.roomUnknown.code && sight.member == nil ? notJoined : problem
  }
}

extension Problem {
  /// Whether the refusal could reveal the dialog's existence. The server's own failures do not.
  var isTelling: Bool {
    switch kind {
    case .overloaded, .internal, .tooFast, .unsupported, .refused: false
    case .malformed, .unauthenticated, .forbidden, .missing, .conflict, .tooLarge, .unreachable, .blocked, .foreign:
      true
    }
  }
}

extension Parley {
  /// Returns the reason of a refused post about `place`, as `user` may know it.
  func told(_ problem: Problem, of place: DialogPlace, to user: Party) async -> Problem {
    guard case .room(let room) = place, problem.isTelling else { return problem }
    do throws(Problem) {
      return RoomAccess.told(problem, try await read { try RoomAccess.of(room.dialog, for: user, $0) })
    } catch {
      return error
    }
  }

  /// Posts about a group or public dialog; a refusal is converted to what the author may know.
  @discardableResult
  func post(_ intent: RoomIntent, in room: RoomName, by author: Party) async throws(Problem) -> Receipt {
    do throws(Problem) { return try await post(.room(intent), by: author) } catch {
      throw await told(error, of: .room(room), to: author)
    }
  }
}

extension DialogPlace {
  /// Returns the position behind which a user may read, and the naming of its members. Throws for non-members. Blocks:
  /// for `Parley.read`.
  func sight(
    of user: Party, _ parley: Parley, _ reader: any StoreReader
  ) throws -> (horizon: Position, naming: ParticipantNaming) {
    guard case .room(let room) = self else { return (.zero, .open) }
    let (sight, member) = try RoomAccess.asMember(of: room.dialog, user, reader)
    return (RoomAccess.horizon(of: member, in: sight.room), sight.naming(parley))
  }
}
