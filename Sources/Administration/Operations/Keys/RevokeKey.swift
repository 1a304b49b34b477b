import Accounts
package import Dialogs

/// Revokes an app key.
package enum RevokeKey: AdminOperation {
  package static let name = "keys.revoke"
  package static let scope: AppKey.Scope? = .keys

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    let id: Int64
    package init(domain: String?, id: Int64) {
      self.domain = domain
      self.id = id
    }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    try await context.accounts.removeAppKey(input.id, in: context.realm(input.domain).id)
    return Empty()
  }
}
