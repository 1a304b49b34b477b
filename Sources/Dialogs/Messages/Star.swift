/// A message that a user has saved.
public struct Star: Hashable, Sendable {
  public let dialog: DialogID
  public let message: Position
  public init(dialog: DialogID, message: Position) {
    self.dialog = dialog
    self.message = message
  }
}

/// A star under its user.
struct StarRow {
  let user: UserID
  let star: Star
}

extension StarRow: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, position, dialog
  }
  static let kind = "stars"
  static let key: [Field] = [.user, .position]
  var fields: [FieldValue] {
    [user.field, star.message.field, star.dialog.field]
  }
  init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    let message: Position = try fields.next()
    star = try Star(dialog: fields.next(), message: message)
  }
}

extension RecordReader {
  /// Returns the user's stars, those of the newest messages first.
  public func stars(of user: UserID, before: Position, limit: Int) throws -> [Star] {
    try records(StarRow.self, .equal(.user, user), .below(.position, before), isDescending: true, limit: limit)
      .map(\.star)
  }
  public func starCount(of user: UserID) throws -> Int { try count(StarRow.self, .equal(.user, user)) }
  public func isStarred(_ message: Position, by user: UserID) throws -> Bool {
    try count(StarRow.self, .equal(.user, user), .equal(.position, message)) > 0
  }
}

extension RecordWriter {
  public func setStar(_ isStarred: Bool, _ message: Position, in dialog: DialogID, for user: UserID) throws {
    if isStarred {
      try put(StarRow(user: user, star: Star(dialog: dialog, message: message)))
    } else {
      try remove(StarRow.self, .equal(.user, user), .equal(.position, message))
    }
  }
}
