import Dialogs

/// What one user may see of a group or public dialog at one moment. Members see
/// all of it; others see that it is there where it is listed, and else nothing:
/// to them its id is that of no dialog.
struct RoomAccess: Sendable {
  let room: Room
  /// nil: the user is no member.
  let member: Member?

  /// nil: not theirs to know of. Blocks: for `Parley.read`.
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

  /// The same where only members may look.
  static func asMember(
    of id: DialogID, _ user: Party, _ reader: any StoreReader
  ) throws -> (sight: RoomAccess, member: Member) {
    guard let sight = try of(id, for: user, reader) else { throw DialogResolver.unknown }
    guard let member = sight.member else { throw notJoined }
    return (sight, member)
  }

  /// Messages at or before this are not the member's to read.
  static func horizon(of member: Member, in room: Room) -> Position {
    room.settings.history == .sinceJoin ? member.since : .zero
  }

  /// Everybody may know of a listed dialog, so this hides nothing.
  static let notJoined = Problem(
    .forbidden, "dialog-not-joined", "You are no member of this dialog. Join it first.", field: "dialogId")

  /// What somebody is told whose post the core has refused: who may not know of the
  /// dialog learns nothing from why.
  static func told(_ problem: Problem, _ sight: RoomAccess?) -> Problem {
    guard let sight else { return DialogResolver.unknown }
    // To the core who is no member does not know the room, and to the app a listed one is there.
    return problem.code == Problem.roomUnknown.code && sight.member == nil ? notJoined : problem
  }
}

extension Problem {
  /// Whether the refusal could tell a stranger that a dialog is there. The
  /// server's own troubles do not.
  var isTelling: Bool {
    switch kind {
    case .overloaded, .internal, .tooFast, .unsupported, .refused: false
    case .malformed, .unauthenticated, .forbidden, .missing, .conflict, .tooLarge, .unreachable, .blocked, .foreign:
      true
    }
  }
}

extension Parley {
  /// Why a post about `place` was refused, as `user` may know it.
  func told(_ problem: Problem, of place: DialogPlace, to user: Party) async -> Problem {
    guard case .room(let room) = place, problem.isTelling else { return problem }
    do throws(Problem) {
      return RoomAccess.told(problem, try await read { try RoomAccess.of(room.dialog, for: user, $0) })
    } catch {
      return error
    }
  }

  /// Posts about a group or public dialog; a refusal is one that the author may know.
  @discardableResult
  func post(_ intent: RoomIntent, in room: RoomName, by author: Party) async throws(Problem) -> Receipt {
    do throws(Problem) { return try await post(.room(intent), by: author) } catch {
      throw await told(error, of: .room(room), to: author)
    }
  }
}

extension DialogPlace {
  /// Behind which position a user reads there, and by which ids they know people. Throws where they are no member. Blocks: for
  /// `Parley.read`.
  func sight(
    of user: Party, _ parley: Parley, _ reader: any StoreReader
  ) throws -> (horizon: Position, naming: ParticipantNaming) {
    guard case .room(let room) = self else { return (.zero, .open) }
    let (sight, member) = try RoomAccess.asMember(of: room.dialog, user, reader)
    return (RoomAccess.horizon(of: member, in: sight.room), sight.naming(parley))
  }
}
