import Accounts
import Addresses
package import Dialogs
import HTTPPort

/// Changes a user's data. An absent member keeps the value, an empty text removes it.
package enum UpdateUser: AdminOperation {
  package static let name = "users.update"
  package static let routes = [AdminRoute(.patch, "/users/{jid}", .usersWrite)]

  package struct Input: Codable, Sendable {
    let jid: String
    let name: String?
    let status: String?
    let externalId: String?
    let email: String?
  }

  package typealias Output = ShowUser.Output

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    if input.externalId != nil || input.email != nil { try context.requireReach(over: user.party) }
    var draft = ProfileDraft()
    if let name = input.name { draft.displayName = .some(name.isEmpty ? nil : name) }
    if let status = input.status { draft.status = .some(status.isEmpty ? nil : status) }
    if input.name != nil || input.status != nil {
      try await context.parley.post(.profile(draft), by: user.party, isFromBackend: true)
    }
    if let id = input.externalId {
      try await context.accounts.setIdentity(.external, AdminContext.externalID(id), of: user.party)
    }
    if let email = input.email {
      try await context.accounts.setIdentity(.email, AdminContext.email(email), of: user.party)
    }
    return try await ShowUser.perform(ShowUser.Input(jid: user.address.description), in: context)
  }
}
