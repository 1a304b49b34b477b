import Accounts
import Addresses
import Basics
package import Dialogs

/// Creates an archive of all data of a user, and returns its URL.
package enum ExportUser: AdminOperation {
  package static let name = "users.export"
  package static let scope: AppKey.Scope? = .usersWrite
  /// A bound of a day: it reads all that the user ever sent and received.
  package static let answerWait: Duration = .seconds(86_400)

  package struct Input: Codable, Sendable {
    let jid: String
    package init(jid: String) { self.jid = jid }
  }

  package struct Output: Codable, Sendable {
    package let jid: String
    package let url: String
    package let size: Int64
    package let expiresAt: String?
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let task = try await context.accounts.beginExport(of: party, isPaced: false)
    try await context.accounts.finish(task)
    guard let done = try await context.accounts.exports(of: user.id).first(where: { $0.id == task.id }),
      let place = try await context.accounts.exportURL(done)
    else { throw Problem(.overloaded, "export-pending", "An export is being created already. Try again later.") }
    return Output(
      jid: user.address.description, url: place.url, size: done.size ?? 0, expiresAt: place.expires.map(\.description))
  }
}
