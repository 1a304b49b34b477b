/// One hash that was asked for, and whose it is.
public struct ContactMatchBody: Codable, Hashable, Sendable, JSONWritable {
  public var hash: String
  public var user: UserBody

  public init(hash: String, user: UserBody) {
    self.hash = hash
    self.user = user
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("hash", hash)
    writer.member("user", user)
    writer.endObject()
  }
}

/// What clients hash their contacts with.
public struct ContactMatchSaltBody: Codable, Hashable, Sendable, JSONWritable {
  /// Goes before the number or address.
  public var salt: String
  /// `sha-256`.
  public var algorithm: String
  /// Hashes in one request.
  public var hashesMax: Int

  public init(salt: String, algorithm: String, hashesMax: Int) {
    self.salt = salt
    self.algorithm = algorithm
    self.hashesMax = hashesMax
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("salt", salt)
    writer.member("algorithm", algorithm)
    writer.member("hashesMax", hashesMax)
    writer.endObject()
  }
}
