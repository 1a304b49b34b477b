import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Removes a user from a group or public dialog, or lifts their ban; with `me` the caller leaves.
enum RemoveMember: ServedOperation {
  typealias Input = RemoveMemberInput
  typealias Output = EmptyBody
  static let name = "member.delete"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/members/{userId}"

  static func perform(_ input: RemoveMemberInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let intent: RoomIntent
    do throws(Problem) { intent = try await Self.intent(input, room, by: caller, call) } catch {
      throw await call.door.dialogs.refusal(error, of: .room(room), to: caller)
    }
    try await call.door.dialogs.post(intent, in: room, by: caller)
    return .done
  }

  private static func intent(
    _ input: RemoveMemberInput, _ room: RoomName, by caller: Party, _ call: RequestContext
  ) async throws(Problem) -> RoomIntent {
    let reason = try Checks.line(input.reason, field: "reason")
    let address = try await MemberReference.address(input.userId, in: room, by: caller, call)
    let before = try await call.parley.read { reader in
      _ = try reader.access(to: room.dialog, for: caller).get()
      return try reader.user(address, seenFrom: caller.realm).map {
        try reader.affiliation(of: $0.id, in: room.dialog, for: caller)
      } ?? .none
    }
    if before == .none {
      throw MemberReference.unknown
    }
    return .members(
      .dialog(room.dialog), [MemberDraft(address: address, affiliation: Affiliation.none, reason: reason)])
  }
}
