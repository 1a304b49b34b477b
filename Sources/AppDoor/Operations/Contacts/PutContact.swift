import Accounts
import Dialogs
import HTTPPort

/// Requests a contact, or accepts a request; also renames a contact.
enum PutContact: ServedOperation {
  typealias Input = PutContactInput
  typealias Output = ContactBody
  static let name = "contact.put"
  static let method = Method.put
  static let path = "/v1/contacts/{userId}"

  static func perform(_ input: PutContactInput, _ call: RequestContext) async throws(Problem) -> Outcome<ContactBody> {
    let caller = try call.user()
    let address = try Checks.address(input.userId, domain: call.realm.domain)
    if let name = input.name { try Checks.text(name, field: "name") }
    try await call.parley.post(.befriend(address, name: input.name), by: caller.user)
    guard let contact = try await call.parley.read({ try $0.contact(of: caller.user.id, address) }) else {
      throw Problem(.conflict, "contact-removed", "The contact was removed again meanwhile.")
    }
    return .ok(call.rendering.contact(contact, domain: call.realm.domain))
  }
}
