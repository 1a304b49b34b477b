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
        let (sight, own) = try RoomAccess.asMember(of: room.dialog, caller, reader)
        let limit = try Checks.limit(input.limit)
        var among = Set(Affiliation.allCases.filter(\.isMember))
        if let role = input.role {
          let affiliation = try Checks.role(role)
          if affiliation == .outcast && own.affiliation < .admin { throw Problem.notAdmin }
          among = [affiliation]
        }
        let after = try parley.member(ofCursor: input.cursor, in: room)
        let naming = sight.naming(parley)
        let (page, last) = try reader.members(of: room.dialog, among: among, after: after, limit: limit + 1).page(limit)
        return PageBody(
          items: try page.map { rendering.member($0, user: try reader.user($0.party.id), naming) },
          nextCursor: last.map { parley.memberCursor($0.party.id, in: room) })
      })
  }
}
