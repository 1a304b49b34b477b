import Addresses
package import Dialogs
import HTTPPort

/// Lists a page of a domain's group and public dialogs by address, including hidden ones.
package enum ListDialogs: AdminOperation {
  package static let name = "dialogs.list"
  package static let routes = [AdminRoute(.get, "/dialogs", .dialogsRead, defaults: ["limit": "50"])]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    /// A part of the name, or a prefix of the address.
    let matching: String?
    /// The localpart of the previous page's last dialog.
    let cursor: String?
    let limit: Int
    package init(domain: String?, matching: String?, after: String?, limit: Int) {
      self.domain = domain
      self.matching = matching
      self.cursor = after
      self.limit = limit
    }
  }

  package typealias Output = AdminPage<DialogRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    let limit = Output.limit(input.limit)
    let rooms = try await context.parley.read {
      try $0.rooms(in: realm.id, listed: false, matching: input.matching, after: input.cursor, limit: limit)
    }
    return Output(rooms, limit: limit, cursor: \.address.local) { DialogRow($0, in: context) }
  }
}
