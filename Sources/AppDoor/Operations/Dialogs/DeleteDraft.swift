import Accounts
import Dialogs
import HTTPPort

/// Deletes the caller's draft in a dialog, if there is one.
enum DeleteDraft: ServedOperation {
  typealias Input = DraftInput
  typealias Output = EmptyBody
  static let name = "draft.delete"
  static let method = Method.delete
  static let path = "/v1/dialogs/{dialogId}/draft"

  static func perform(_ input: DraftInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user().user
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    _ = try await PutDraft.set("", nil, in: place, by: caller, call)
    return .done
  }
}
