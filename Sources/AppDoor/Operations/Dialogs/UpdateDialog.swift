import Accounts
import Dialogs
import HTTPPort
import JSON

/// Changes a group or public dialog: absent members are unchanged, null clears. Admins may change its appearance,
/// owners also its access and history, and the topic those whom the dialog allows.
enum UpdateDialog: ServedOperation {
  typealias Input = UpdateDialogInput
  typealias Output = DialogBody
  static let name = "dialog.update"
  static let method = Method.patch
  static let path = "/v1/dialogs/{dialogId}"

  static func perform(_ input: UpdateDialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<DialogBody> {
    let caller = try call.user().user
    let room = try await call.door.dialogs.room(input.dialogId, for: caller)
    let intents: [RoomIntent]
    do throws(Problem) { intents = try Self.intents(input, room) } catch {
      throw await call.door.dialogs.refusal(error, of: .room(room), to: caller)
    }
    // The settings come first: more users may set the topic.
    for intent in intents { try await call.door.dialogs.post(intent, in: room, by: caller) }
    return .ok(try await GetDialog.body(room.dialog, call))
  }

  private static func intents(_ input: UpdateDialogInput, _ room: RoomName) throws(Problem) -> [RoomIntent] {
    var intents: [RoomIntent] = []
    var changes: [RoomSetting.Change] = []
    if let kind = try input.type.map({ (text) throws(Problem) in try Self.kind(text) }) {
      changes.append { settings in if kind != settings.wireType { settings.become(kind) } }
    }
    for wish in input.settings.wishes { changes.append(try wish.change.get()) }
    if let name = try Self.text(input.name, "name") { changes.append { settings in settings.name = name } }
    if let about = try Self.text(input.about, "about") { changes.append { settings in settings.about = about } }
    switch input.metadata {
    case .keep: break
    case .clear: changes.append { settings in settings.metadata = nil }
    case .set(let object): changes.append { settings in settings.metadata = object.text }
    }
    if !changes.isEmpty {
      intents.append(
        .configure(
          .dialog(room.dialog),
          SettingsDraft { [changes] settings in
            for change in changes { change(&settings) }
          }))
    }
    if let topic = try Self.text(input.topic, "topic") {
      intents.append(.topic(.dialog(room.dialog), text: topic ?? "", stanza: nil))
    }
    return intents
  }

  private static func kind(_ text: String) throws(Problem) -> DialogBody.Kind {
    guard let kind = DialogBody.Kind(rawValue: text), kind != .isPrivate else {
      throw Problem(.malformed, "dialog-type-unknown", "type becomes \"group\" or \"public\".", field: "type")
    }
    return kind
  }

  /// Returns the change of a text; `nil` to keep it. An empty text clears.
  private static func text(_ change: Change<String>, _ field: String) throws(Problem) -> String?? {
    switch change {
    case .keep: return nil
    case .clear: return .some(nil)
    case .set(let text): return .some(try Checks.line(text, field: field))
    }
  }
}
