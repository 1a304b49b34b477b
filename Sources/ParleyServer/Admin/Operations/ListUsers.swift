package import Dialogs

/// One page of a domain's users, by name.
package enum ListUsers: AdminOperation {
  package static let name = "users.list"

  package struct Input: Codable, Sendable {
    /// nil: the first.
    let domain: String?
    /// A prefix of the name or a part of the display name.
    let matching: String?
    /// The name that ended the page before.
    let after: String?
    let limit: Int
    package init(domain: String?, matching: String?, after: String?, limit: Int) {
      self.domain = domain
      self.matching = matching
      self.after = after
      self.limit = limit
    }
  }

  package struct Output: Codable, Sendable {
    package let users: [UserRow]
    /// nil: that was the last page.
    package let next: String?
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    let limit = min(max(1, input.limit), ServerLimits.importBatchRows)
    let users = try await context.parley.read {
      try $0.users(in: realm.id, matching: input.matching, after: input.after, limit: limit)
    }
    return Output(
      users: users.map { UserRow($0, in: context) }, next: users.count == limit ? users.last?.name : nil)
  }
}
