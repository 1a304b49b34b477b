import Accounts
package import Dialogs

/// A domain's keys.
package enum ListKeys: AdminOperation {
  package static let name = "keys.list"

  package struct Input: Codable, Sendable {
    /// nil: the first.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package typealias Output = [KeyRow]

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [KeyRow] {
    try await context.accounts.appKeys(in: context.realm(input.domain).id).map(KeyRow.init)
  }
}
