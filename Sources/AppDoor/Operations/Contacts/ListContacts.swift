import Accounts
import Addresses
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

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    let contacts = try await call.parley.read { try $0.contacts(of: caller.user.id) }
    return .ok(
      PageBody(
        items: contacts.sorted { $0.address.description < $1.address.description }.map {
          call.rendering.contact($0, domain: call.realm.domain)
        }))
  }
}
