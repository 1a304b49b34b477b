import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's contacts, with unanswered requests. The core stores at most `Limits.contactsMax`, so there is one
/// page.
enum ListContacts: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<ContactBody>
  static let name = "contact.list"
  static let method = Method.get
  static let path = "/v1/contacts"
  static let isConditional = true

  /// Returns the roster's version, which changes with each item and each unanswered request, and with the contact groups.
  static func version(_ call: RequestContext) async throws(Problem) -> String? {
    let caller = try call.user().user
    return call.rendering.cursor(try await call.parley.read { try $0.rosterVersion(of: caller.id) })
  }

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let (rendering, domain) = (call.rendering, call.realm.domain)
    return .ok(
      try await call.readMessages { reader in
        // They are ordered by address.
        PageBody(items: try reader.contacts(of: caller.id).map { rendering.contact($0, domain: domain) })
      })
  }
}
