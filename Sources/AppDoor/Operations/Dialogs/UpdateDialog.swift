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
    let kind = try input.type.map { (text) throws(Problem) in try Self.kind(text) }
    let history = try input.historyVisibility.map { (text) throws(Problem) in try Checks.history(text) }
    let name = try Self.text(input.name, "name")
    let about = try Self.text(input.about, "about")
    let metadata: String??
    switch input.metadata {
    case .keep: metadata = nil
    case .clear: metadata = .some(nil)
    case .set(let object): metadata = object.text
    }
    let slowMode = input.slowModeSeconds
    let whoPins = try input.whoPins.map { (text) throws(Problem) in try Checks.whoPins(text) }
    let acceptsRemote = input.acceptsRemote
    let retentionDays: Int??
    switch input.retentionDays {
    case .keep: retentionDays = nil
    case .clear: retentionDays = .some(nil)
    case .set(let days): retentionDays = days
    }
    let isConfigured =
      retentionDays != nil || slowMode != nil || whoPins != nil || acceptsRemote != nil || kind != nil || history != nil
    if isConfigured || name != nil || about != nil || metadata != nil {
      intents.append(
        .configure(
          .dialog(room.dialog),
          SettingsDraft { settings in
            if let kind, kind != settings.wireType { settings.become(kind) }
            if let name { settings.name = name }
            if let about { settings.about = about }
            if let metadata { settings.metadata = metadata }
            if let history { settings.history = history }
            if let slowMode { settings.slowModeSeconds = slowMode }
            if let whoPins { settings.membersPin = whoPins == .members }
            if let acceptsRemote { settings.acceptsRemote = acceptsRemote }
            if let retentionDays { settings.retentionDays = retentionDays }
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
