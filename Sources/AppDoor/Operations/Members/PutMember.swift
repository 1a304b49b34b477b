import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Adds a user to a group or public dialog, or changes their role. With `me` and no role the caller joins a public
/// dialog, returns after a kick, or changes their nick.
enum PutMember: ServedOperation {
  typealias Input = PutMemberInput
  typealias Output = MemberBody
  static let name = "member.put"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/members/{userId}"

  static func perform(_ input: PutMemberInput, _ call: RequestContext) async throws(Problem) -> Outcome<MemberBody> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let address: BareJID
    let intent: RoomIntent
    do throws(Problem) {
      address = try await MemberReference.address(input.userId, in: room, by: caller, call)
      intent = try await Self.intent(input, about: address, room, by: caller, call)
    } catch {
      throw await call.door.dialogs.refusal(error, of: .room(room), to: caller)
    }
    try await call.door.dialogs.post(intent, in: room, by: caller)
    return .ok(try await body(address, in: room, caller, call))
  }

  private static func intent(
    _ input: PutMemberInput, about address: BareJID, _ room: RoomName, by caller: Party, _ call: RequestContext
  ) async throws(Problem) -> RoomIntent {
    let nick = try Checks.line(input.nick, field: "nick")
    let reason = try Checks.line(input.reason, field: "reason")
    let affiliation = try input.role.map { (role) throws(Problem) in try Checks.role(role) }
    let before = try await call.parley.read { reader in
      try reader.user(address, seenFrom: caller.realm).map {
        try reader.affiliation(of: $0.id, in: room.dialog, for: caller)
      } ?? .none
    }
    if address == caller.address, affiliation == nil || (affiliation == .member && !before.isMember) {
      return .register(.dialog(room.dialog), nick: nick, bookmarks: true)
    }
    // Without a role no one loses theirs, and no ban is lifted.
    if affiliation == nil, before == .outcast {
      throw Problem(
        .conflict, "member-banned", "This user is banned. Give a role, or DELETE the ban first.", field: "userId")
    }
    return .members(
      .dialog(room.dialog),
      [
        MemberDraft(
          address: address, affiliation: affiliation ?? (before.isMember ? nil : .member), nick: nick, reason: reason,
          keepsRoom: true)
      ])
  }

  private static func body(
    _ address: BareJID, in room: RoomName, _ caller: Party, _ call: RequestContext
  ) async throws(Problem) -> MemberBody {
    let rendering = call.rendering
    let body = try await call.parley.read { reader -> MemberBody? in
      guard let user = try reader.user(address, seenFrom: caller.realm),
        let readable = try reader.access(to: room.dialog, for: caller).readable,
        let member = try reader.member(user.id, of: readable.members)
      else { return nil }
      return rendering.member(member, user: user, readable.naming(rendering.parley))
    }
    guard let body else {
      throw Problem(.conflict, "member-removed", "They were removed again meanwhile.", field: "userId")
    }
    return body
  }
}
