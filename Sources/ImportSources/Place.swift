/// The place of a record in its source, for the report.
public struct Place: Sendable, Equatable, Codable, CustomStringConvertible {
  public var file: String
  /// The line, from 1; `nil` where lines mean nothing.
  public var line: Int?
  /// The user and kind of data, or the key of a database's row.
  public var key: String?

  public init(file: String, line: Int? = nil, key: String? = nil) {
    self.file = file
    self.line = line
    self.key = key
  }

  public var description: String {
    var text = file
    if let line { text += ", line \(line)" }
    if let key { text += ": \(key)" }
    return text
  }
}
