import Addresses

/// A search in the directory of users.
///
///     let users = try await parley.read { try $0.directory(of: realm.id, DirectoryQuery(text: "jul", limit: 20)) }
public struct DirectoryQuery: Hashable, Sendable {
  /// The fields that are searched.
  public struct Fields: OptionSet, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Any part of the display name, ignoring case, accents and width.
    public static let name = Fields(rawValue: 1)
    /// The beginning of the id.
    public static let id = Fields(rawValue: 2)
  }

  /// The text; `nil` for all users.
  public var text: String?
  public var fields: Fields
  /// The name behind which the page begins.
  public var after: String?
  public var limit: Int

  public init(text: String?, fields: Fields = [.name, .id], after: String? = nil, limit: Int) {
    self.text = text
    self.fields = fields
    self.after = after
    self.limit = limit
  }

  /// Returns the text in the form in which names are compared.
  public static func folded(_ text: String) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: TextFolding.folded(text))
    return String(view)
  }
}

public protocol DirectoryReader {
  /// Returns active, searchable users without guests, by name, ascending.
  func directory(of realm: RealmID, _ query: DirectoryQuery) throws -> [User]
}
