import Basics
import Dialogs

/// A contact group in the operators' view.
package struct ContactGroupRow: Codable, Hashable, Sendable {
  package let name: String
  /// The group in the members' rosters.
  package let displayName: String
  /// Whether all users of the domain are in it.
  package let everyone: Bool
  package let members: Int
  /// The names of the other groups whose members and those of this one see each other.
  package let sees: [String]

  init(_ group: ContactGroup, _ reader: any StoreReader) throws {
    name = group.name
    displayName = group.displayName
    everyone = group.hasEveryone
    members = try reader.memberCount(ofContactGroup: group.id)
    sees = try reader.contactGroups(seenBy: group.id).compactMap {
      try reader.record(ContactGroup.self, .equal(.id, $0))?.name
    }.sorted()
  }
}

extension AdminContext {
  /// Returns what `row` makes of a group, in one read.
  func contactGroup<Row: Sendable>(
    _ name: String, in domain: String?, _ row: @escaping @Sendable (ContactGroup, any StoreReader) throws -> Row
  ) async throws(Problem) -> Row {
    let realm = try realm(domain)
    let found = try await parley.read { reader in
      try reader.contactGroup(name, in: realm.id).map { try row($0, reader) }
    }
    guard let found else {
      throw Problem(
        .missing, "contact-group-unknown", "There is no contact group \(Line.safe(name)) in \(realm.domain).",
        field: "group")
    }
    return found
  }
}
