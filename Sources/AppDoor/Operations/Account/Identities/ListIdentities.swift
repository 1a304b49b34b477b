import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's external identities.
enum ListIdentities: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<IdentityBody>
  static let name = "identity.list"
  static let method = Method.get
  static let path = "/v1/users/me/identities"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    return .ok(PageBody(items: try await call.accounts.identities(of: caller.user.id).map { IdentityBody($0) }))
  }
}

extension IdentityBody {
  init(_ identity: UserIdentity) {
    let (type, provider): (Kind, String?) =
      switch identity.identity.issuer {
      case .external: (.external, nil)
      case .email: (.email, nil)
      case .phone: (.phone, nil)
      case .provider(let name): (.provider, name)
      }
    self.init(
      id: identity.identity.id, type: type.rawValue, provider: provider, subject: identity.identity.subject,
      createdAt: identity.since)
  }
}
