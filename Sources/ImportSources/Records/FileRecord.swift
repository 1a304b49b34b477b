/// A file that a user has uploaded. Its bytes are in the file that the record's place names.
public struct FileRecord: Sendable, Equatable, Codable {
  public var owner: String
  /// The random part of its URL's path, which stands before the name: `…/SECRET/NAME`.
  public var secret: String
  public var name: String
  /// `nil` if the former server did not keep it.
  public var mediaType: String?
  /// Bytes.
  public var size: Int64
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var time: Int64

  public init(owner: String, secret: String, name: String, mediaType: String?, size: Int64, time: Int64) {
    self.owner = owner
    self.secret = secret
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.time = time
  }
}
