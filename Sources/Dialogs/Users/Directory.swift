import Addresses

/// A search in the directory of users.
///
///     let page = try await parley.read { try $0.directoryPage(of: realm.id, DirectoryQuery(text: "jul", limit: 20)) }
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
  /// The last name that is looked at; `nil` for all.
  public var through: String?
  public var limit: Int

  public init(
    text: String?, fields: Fields = [.name, .id], after: String? = nil, through: String? = nil, limit: Int
  ) {
    self.text = text
    self.fields = fields
    self.after = after
    self.through = through
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
  /// Returns the name of the last user whom `directory` may return among the next `count` of all users behind a name, `nil` if there
  /// are fewer. It is sent to clients, which must not get the names of users in no list; only if all of them are in none, it is that
  /// of the `count`-th.
  func directoryEnd(of realm: RealmID, after: String?, count: Int) throws -> String?
}

extension StoreReader {
  /// Returns a page of the directory, and the name behind which the next one begins; `nil` if there is none. The page may be short,
  /// even empty: it ends behind the last user that it may look at (`Limits.searchedNamesMax`, `Limits.listedUsersMax`).
  public func directoryPage(of realm: RealmID, _ query: DirectoryQuery) throws -> (users: [User], next: String?) {
    let end = try directoryEnd(
      of: realm, after: query.after, count: query.text == nil ? Limits.listedUsersMax : Limits.searchedNamesMax)
    var query = query
    let limit = query.limit
    query.through = end
    query.limit += 1
    let found = try directory(of: realm, query)
    guard found.count > limit else { return (found, end) }
    let users = Array(found.prefix(limit))
    return (users, users.last?.localpart)
  }
}
