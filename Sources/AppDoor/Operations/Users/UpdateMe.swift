import Accounts
import Dialogs
import HTTPPort
import JSON

/// Changes the caller's profile and settings, all or nothing: absent members are unchanged, null clears.
enum UpdateMe: ServedOperation {
  typealias Input = UpdateMeInput
  typealias Output = MeBody
  static let name = "me.update"
  static let method = Method.patch
  static let path = "/v1/users/me"

  static func perform(_ input: UpdateMeInput, _ call: RequestContext) async throws(Problem) -> Outcome<MeBody> {
    let caller = try call.user()
    if case .set(let name) = input.name { try Checks.text(name, field: "name") }
    if case .set(let status) = input.status { try Checks.text(status, field: "status") }
    if case .set(let url) = input.avatarUrl { try Checks.webURL(url, field: "avatarUrl") }
    var settings = UserSettingsDraft(
      isSearchable: input.searchable, isMatchable: input.matchable,
      contactsMetadata: change(input.contactsMetadata) { $0.text },
      privateMetadata: change(input.privateMetadata) { $0.text })
    settings.lastSeen = try visibility(input.lastSeenVisibility, field: "lastSeenVisibility")
    settings.callsFrom = try visibility(input.callsFrom, field: "callsFrom")
    settings.messagesFrom = try visibility(input.messagesFrom, field: "messagesFrom")
    if settings.messagesFrom == .nobody {
      throw Problem(
        .malformed, "visibility-unknown", "messagesFrom is \"everybody\" or \"contacts\".", field: "messagesFrom")
    }
    let name = change(input.name) { $0 }
    // A new display name in the app is the full name too.
    let draft = ProfileDraft(
      displayName: name, fullName: name == nil ? nil : .some(nil), status: change(input.status) { $0 },
      metadata: change(input.metadata) { $0.text }, avatarURL: change(input.avatarUrl) { $0 }, settings: settings)
    try await call.parley.post(.profile(draft), by: caller.user)
    return .ok(try await call.me())
  }

  private static func visibility(_ word: String?, field: String) throws(Problem) -> Visibility? {
    guard let word else { return nil }
    guard let visibility = Visibility.allCases.first(where: { $0.wire == word }) else {
      throw Problem(
        .malformed, "visibility-unknown", "\(field) is \"everybody\", \"contacts\" or \"nobody\".", field: field)
    }
    return visibility
  }

  private static func change<Value>(_ change: Change<Value>, _ text: (Value) -> String) -> String?? {
    switch change {
    case .keep: nil
    case .clear: .some(nil)
    case .set(let value): .some(text(value))
    }
  }
}
