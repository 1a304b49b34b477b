import Accounts
import Dialogs
import HTTPPort

/// Lists the members of a group or public dialog, for its members; the outcasts, for its admins and owners.
enum ListMembers: ServedOperation {
  typealias Input = ListMembersInput
  typealias Output = PageBody<MemberBody>
  static let name = "member.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/members"

  static func perform(_ input: ListMembersInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let rendering = call.rendering
    let parley = call.parley
    return .ok(
      try await call.parley.read { reader in
        let readable = try reader.access(to: room.dialog, for: caller).get()
        let limit = try Checks.limit(input.limit)
        var access = readable.members.only(Set(Affiliation.allCases.filter(\.isMember)))
        if let role = input.role {
          access = readable.members.only([try Checks.role(role)])
          if access.among.isEmpty { throw Problem.notAdmin }
        }
        let after = try call.member(ofCursor: input.cursor, in: room)
        let page = try reader.members(of: access, after: after, limit: limit + 1).page(limit)
        return try body(page, of: room, readable.naming(parley), rendering, reader)
      })
  }

  /// Returns a page of a room's members. Blocks: for `Parley.read`.
  static func body(
    _ page: (items: ArraySlice<Member>, last: Member?), of room: RoomName, _ naming: ParticipantNaming,
    _ rendering: Rendering, _ reader: any StoreReader
  ) throws -> Output {
    PageBody(
      items: try page.items.map { rendering.member($0, user: try reader.user($0.party.id), naming) },
      nextCursor: page.last.map { rendering.parley.memberCursor($0.party.id, in: room) })
  }
}
