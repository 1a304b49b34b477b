import Accounts
import Dialogs
import HTTPPort

/// Returns a dialog, with the caller's state of it. Non-members see a listed public one, without its messages.
enum GetDialog: ServedOperation {
  typealias Input = DialogInput
  typealias Output = DialogBody
  static let name = "dialog.get"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}"

  static func perform(_ input: DialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<DialogBody> {
    let caller = try call.user()
    let place = try await call.door.dialogs.place(input.dialogId, for: caller.user)
    return .ok(try await body(place.id, call))
  }

  /// Returns the dialog, read in one snapshot, so that message, mark and count agree.
  static func body(_ id: DialogID, _ call: RequestContext) async throws(Problem) -> DialogBody {
    let caller = try call.user().user
    let rendering = call.rendering
    guard let body = try await call.readMessages({ try Self.body(id, for: caller, rendering, $0) }) else {
      throw DialogResolver.unknown
    }
    return body
  }

  /// Returns the dialog; `nil` if the caller may not know of it. Blocks: for `Parley.read`.
  static func body(
    _ id: DialogID, for caller: Party, _ rendering: Rendering, _ reader: any StoreReader
  ) throws -> DialogBody? {
    guard let dialog = try reader.dialog(id) else {
      return try rendering.dialog(try reader.access(to: id, for: caller), for: caller, reader)
    }
    guard let messages = dialog.messages(for: caller.id) else { return nil }
    let last = try reader.last(of: messages)
    let view = DialogView(
      dialog: dialog, mark: try reader.mark(caller.id, in: id) ?? Mark(dialog: id, user: caller.id),
      settings: try reader.settings(of: caller.id, in: id) ?? DialogSettings(), lastMessage: last)
    var body = rendering.dialog(
      view, peer: try reader.user(dialog.peer(of: caller.id).id).map { try reader.view(of: $0, for: caller) },
      mentions: try reader.mentions(of: caller.id, in: id), updatedAt: last?.time ?? dialog.createdAt)
    body.me?.draft = try rendering.draft(of: caller.id, in: id, reader)
    return body
  }
}
