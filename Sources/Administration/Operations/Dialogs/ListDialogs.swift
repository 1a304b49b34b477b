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
    /// Restricts the list to the dialog with this id: the backend's, or with `creator` the one that this user has given.
    let externalId: String?
    let creator: String?
    package init(
      domain: String?, matching: String?, after: String?, limit: Int, externalId: String? = nil, creator: String? = nil
    ) {
      self.domain = domain
      self.matching = matching
      self.cursor = after
      self.limit = limit
      self.externalId = externalId
      self.creator = creator
    }
  }

  package typealias Output = AdminPage<DialogRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    if let id = input.externalId {
      let room = try await room(id, of: input.creator, in: realm, context)
      return Output(items: [room].compactMap { $0 }.map { DialogRow($0, in: context) })
    }
    if input.creator != nil {
      throw Problem(.malformed, "external-id-missing", "Give the externalId of this creator.", field: "externalId")
    }
    let limit = Output.limit(input.limit)
    let rooms = try await context.parley.read {
      try $0.rooms(in: realm.id, listed: false, matching: input.matching, after: input.cursor, limit: limit)
    }
    return Output(rooms, limit: limit, cursor: \.address.local) { DialogRow($0, in: context) }
  }

  /// Returns the dialog that has this id and is not deleted. The creator may have been deleted since.
  private static func room(
    _ id: String, of creator: String?, in realm: Realm, _ context: AdminContext
  ) async throws(Problem) -> Room? {
    var address: BareJID?
    if let creator { address = try context.account(creator) }
    let room = try await context.parley.read { [address] reader -> Room? in
      guard let address else { return try reader.room(externalID: .backend(id), in: realm.id) }
      guard let user = try reader.user(address) else { return nil }
      return try reader.room(externalID: .user(user.id, id), in: user.realm)
    }
    return room.flatMap { $0.isDestroyed ? nil : $0 }
  }
}
