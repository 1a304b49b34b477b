import Accounts
import Dialogs
import HTTPPort

/// Stores the caller's draft in a dialog, replacing the previous one; their other clients are told.
enum PutDraft: ServedOperation {
  typealias Input = PutDraftInput
  typealias Output = DraftBody
  static let name = "draft.put"
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/draft"

  static func perform(_ input: PutDraftInput, _ call: RequestContext) async throws(Problem) -> Outcome<DraftBody> {
    if input.text.isEmpty && input.replyTo == nil {
      throw Problem(.malformed, "draft-empty", "An empty draft is none: DELETE it.", field: "text")
    }
    try Checks.text(input.text, field: "text")
    try Checks.length(input.text, field: "text")
    let replyTo = try input.replyTo.map { id throws(Problem) in try Checks.message(id, field: "replyTo") }
    let caller = try call.user().user
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    guard let draft = try await set(input.text, replyTo, in: place, by: caller, call) else {
      throw Problem(.internal, "outcome-missing", "The draft was stored, but it cannot be shown.")
    }
    return .ok(call.rendering.draft(draft, in: place.id))
  }

  /// Stores a draft; an empty one removes it.
  static func set(
    _ text: String, _ replyTo: PublicID?, in place: DialogPlace, by caller: Party, _ call: RequestContext
  ) async throws(Problem) -> DialogDraft? {
    do throws(Problem) {
      let intent = Intent.draft(place.id, text: text, replyTo: replyTo)
      return try await call.parley.post(intent, by: caller).value as? DialogDraft
    } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller)
    }
  }
}
