import Accounts
import Dialogs
import HTTPPort

/// Removes a contact and both subscriptions, or declines a request.
enum RemoveContact: ServedOperation {
  typealias Input = UserInput
  typealias Output = EmptyBody
  static let name = "contact.delete"
  static let method = Method.delete
  static let path = "/v1/contacts/{userId}"

  static func perform(_ input: UserInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    let address = try Checks.address(input.userId, domain: call.realm.domain)
    guard let contact = try await call.parley.read({ try $0.contact(of: caller.user.id, address) }) else {
      throw Problem(.missing, "contact-unknown", "This user is not among your contacts.", field: "userId")
    }
    if contact.subscription.isInRoster {
      try await call.parley.post(.removeContact(address), by: caller.user)
    } else {
      // There is only a request: denies it (RFC 6121 3.1.6).
      try await call.parley.post(.subscription(.unsubscribed, to: address, stanza: nil), by: caller.user)
    }
    return .done
  }
}
