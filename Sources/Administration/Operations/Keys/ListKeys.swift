import Accounts
package import Dialogs

/// Lists a domain's app keys.
package enum ListKeys: AdminOperation {
  package static let name = "keys.list"
  package static let scope: AppKey.Scope? = .keys
  package static let isReading = true

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package typealias Output = [KeyRow]

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [KeyRow] {
    try await context.accounts.appKeys(in: context.realm(input.domain).id).map(KeyRow.init)
  }
}
