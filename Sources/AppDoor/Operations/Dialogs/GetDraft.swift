import Accounts
import Dialogs
import HTTPPort

/// Returns the caller's draft in a dialog.
enum GetDraft: ServedOperation {
  typealias Input = DraftInput
  typealias Output = DraftBody
  static let name = "draft.get"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/draft"

  static func perform(_ input: DraftInput, _ call: RequestContext) async throws(Problem) -> Outcome<DraftBody> {
    let caller = try call.user().user
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    let draft = try await call.parley.read { reader in
      if case .room(let room) = place { _ = try reader.access(to: room.dialog, for: caller).get() }
      return try reader.draft(of: caller.id, in: place.id)
    }
    guard let draft else {
      throw Problem(.missing, "draft-unknown", "There is no draft in this dialog.", field: "dialogId")
    }
    return .ok(call.rendering.draft(draft, in: place.id))
  }
}
