import Addresses
package import Dialogs
import XMPPDoor

/// Returns all of a domain in the portable format (XEP-0227), a piece at a time.
package enum ExportRecords: AdminOperation {
  package static let name = "records.export"

  /// The place at which the next piece begins.
  package struct Cursor: Codable, Sendable {
    /// The user's name.
    package let user: String
    /// `settings`, `offline` or `archive`.
    let part: String
    let position: Int64
  }

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    /// nil for the beginning.
    let cursor: Cursor?
    package init(domain: String?, cursor: Cursor?) {
      self.domain = domain
      self.cursor = cursor
    }
  }

  package struct Output: Codable, Sendable {
    package let xml: String
    /// nil at the end.
    package let next: Cursor?
    /// Whether a user is complete with this piece.
    package let endsUser: Bool
  }

  /// Pieces are not acts: the audit has the beginning of an export, as it gives keys of passwords away.
  package static let isReading = true

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    if input.cursor == nil { try await context.recorded(name, on: realm.domain) { () throws(Problem) in } }
    let frame = PortableExport.frame(of: realm.domain)
    return try await context.parley.read { reader in
      guard let cursor = input.cursor else {
        let next = try Self.user(after: nil, in: realm.id, reader, context.parley)
        return Self.output(frame.start + (next == nil ? frame.end : []), next: next, endsUser: false)
      }
      let address = try? BareJID(local: cursor.user, domain: realm.domain)
      guard let user = try address.flatMap({ try reader.user($0) }), user.state != .deleted else {
        throw Problem(
          .conflict, "user-deleted", "\(cursor.user) was deleted while the export ran. Begin it again.", field: "cursor"
        )
      }
      let part: PortableExport.Part =
        switch cursor.part {
        case "offline": .offline(Position(cursor.position))
        case "archive": .archive(Position(cursor.position))
        default: .settings
        }
      let piece = try PortableExport.piece(part, of: user, reader)
      if let next = piece.next {
        return Self.output(piece.bytes, next: Self.cursor(next, of: user.localpart), endsUser: false)
      }
      let next = try Self.user(after: user.localpart, in: realm.id, reader, context.parley)
      return Self.output(piece.bytes + (next == nil ? frame.end : []), next: next, endsUser: true)
    }
  }

  private static func output(_ bytes: [UInt8], next: Cursor?, endsUser: Bool) -> Output {
    Output(xml: String(decoding: bytes, as: UTF8.self), next: next, endsUser: endsUser)
  }

  /// Returns the beginning of the next user; guests are left out.
  private static func user(
    after name: String?, in realm: RealmID, _ reader: any StoreReader, _ parley: Parley
  ) throws -> Cursor? {
    var name = name
    while let user = try reader.users(in: realm, matching: nil, after: name, limit: 1).first {
      if !parley.isGuest(user.id) { return cursor(.settings, of: user.localpart) }
      name = user.localpart
    }
    return nil
  }

  private static func cursor(_ part: PortableExport.Part, of user: String) -> Cursor {
    switch part {
    case .settings: Cursor(user: user, part: "settings", position: 0)
    case .offline(let position): Cursor(user: user, part: "offline", position: position.number)
    case .archive(let position): Cursor(user: user, part: "archive", position: position.number)
    }
  }
}
