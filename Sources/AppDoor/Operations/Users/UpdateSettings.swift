import Accounts
import Basics
import Dialogs
import HTTPPort

/// Changes the caller's settings of a dialog: notifications, pinned, archived, marked as unread, how long messages
/// stay for them. Their other clients are told; an XMPP client's bookmark of the dialog is updated too.
enum UpdateSettings: ServedOperation {
  typealias Input = UpdateSettingsInput
  typealias Output = DialogSettingsBody
  static let name = "settings.update"
  static let method = Method.patch
  static let path = "/v1/dialogs/{dialogId}/me"

  static func perform(
    _ input: UpdateSettingsInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<DialogSettingsBody> {
    let caller = try call.user().user
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    let receipt: Receipt
    do throws(Problem) { receipt = try await call.parley.post(.settings(place.id, draft(input)), by: caller) } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller)
    }
    guard let settings = receipt.value as? DialogSettingsChange else { throw Problem.dialogUnknown }
    return .ok(call.rendering.settings(settings))
  }

  private static func draft(_ input: UpdateSettingsInput) throws(Problem) -> DialogSettingsDraft {
    var draft = DialogSettingsDraft(
      isPinned: input.pinned, isArchived: input.archived, isMarkedUnread: input.markedUnread)
    switch input.notify {
    case .keep: break
    case .clear: draft.alerts = .some(nil)
    case .set(let text):
      guard let notify = DialogSettingsBody.Notify(rawValue: text) else {
        throw Problem(
          .malformed, "notify-unknown", "notify is \"always\", \"mentions\", \"never\" or null.", field: "notify")
      }
      draft.alerts = Alerts(notify)
    }
    switch input.mutedUntil {
    case .keep: break
    case .clear: draft.mutedUntil = .some(nil)
    case .set(let time): draft.mutedUntil = time
    }
    switch input.retentionDays {
    case .keep: break
    case .clear: draft.retentionDays = .some(nil)
    case .set(let days): draft.retentionDays = days
    }
    return draft
  }
}

extension Alerts {
  init(_ wire: DialogSettingsBody.Notify) {
    self =
      switch wire {
      case .always: .always
      case .mentions: .onMention
      case .never: .never
      }
  }

  var wire: DialogSettingsBody.Notify {
    switch self {
    case .always: .always
    case .onMention: .mentions
    case .never: .never
    }
  }
}
