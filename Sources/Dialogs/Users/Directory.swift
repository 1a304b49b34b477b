import Addresses

/// The list of users that users search.
public struct DirectoryQuery: Hashable, Sendable {
  /// Where what is looked for may stand.
  public struct Fields: OptionSet, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Any part of the display name, without regard to case, accents and width.
    public static let name = Fields(rawValue: 1)
    /// The beginning of the id.
    public static let id = Fields(rawValue: 2)
  }

  /// nil: everybody.
  public var text: String?
  public var fields: Fields
  /// Names greater than this.
  public var after: String?
  public var limit: Int

  public init(text: String?, fields: Fields = [.name, .id], after: String? = nil, limit: Int) {
    self.text = text
    self.fields = fields
    self.after = after
    self.limit = limit
  }

  /// As names are compared in searches.
  public static func folded(_ text: String) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: TextFolding.folded(text))
    return String(view)
  }
}

public protocol DirectoryReader {
  /// Active users who let themselves be searched for, without guests, by name, ascending.
  func directory(of realm: RealmID, _ query: DirectoryQuery) throws -> [User]
}
