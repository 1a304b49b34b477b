import JSON

/// A matched hash, with its user.
struct ContactMatchBody: Hashable, Sendable, JSONObjectWritable {
  var hash: String
  var user: UserBody

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("hash", hash)
    writer.member("user", user)
  }
}

/// The parameters for hashing contacts.
struct ContactMatchSaltBody: Hashable, Sendable, JSONObjectWritable {
  /// The salt, which precedes the number or address.
  var salt: String
  /// The hash algorithm, `sha-256`.
  var algorithm: String
  /// The most hashes in one request.
  var hashesMax: Int

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("salt", salt)
    writer.member("algorithm", algorithm)
    writer.member("hashesMax", hashesMax)
  }
}
