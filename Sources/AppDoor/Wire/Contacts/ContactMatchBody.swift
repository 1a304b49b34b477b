import JSON

/// One hash that was asked for, and whose it is.
struct ContactMatchBody: Hashable, Sendable, JSONObjectWritable {
  var hash: String
  var user: UserBody

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("hash", hash)
    writer.member("user", user)
  }
}

/// What clients hash their contacts with.
struct ContactMatchSaltBody: Hashable, Sendable, JSONObjectWritable {
  /// Goes before the number or address.
  var salt: String
  /// `sha-256`.
  var algorithm: String
  /// Hashes in one request.
  var hashesMax: Int

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("salt", salt)
    writer.member("algorithm", algorithm)
    writer.member("hashesMax", hashesMax)
  }
}
