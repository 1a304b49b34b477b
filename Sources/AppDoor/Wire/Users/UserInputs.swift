struct UserInput: Decodable, Hashable, Sendable {
  var userId: String
}

/// A query for users, with at most one of `query`, `ids`, `externalId` and `near`.
struct ListUsersInput: Decodable, Hashable, Sendable {
  /// The searched text, depending on `field`; absent for everyone.
  var query: String?
  /// `name`, `id`, `email` or `phone`; absent for the beginning of an id or a part of a name.
  var field: String?
  /// The ids, separated by commas.
  var ids: String?
  var externalId: String?
  /// Latitude and longitude, separated by a comma.
  var near: String?
  /// Kilometres around `near`.
  var radius: Int?
  var cursor: String?
  var limit: Int?
}

/// Inputs concerning the caller and users, beyond `Inputs.swift`.

struct LocationInput: Decodable, Hashable, Sendable {
  var latitude: Double
  var longitude: Double
  /// Seconds; an hour if absent.
  var ttl: Int?
}

struct TermsInput: Decodable, Hashable, Sendable {
  var version: String
}

struct ContactMatchInput: Decodable, Hashable, Sendable {
  /// The hashes, of 64 hex digits each.
  var hashes: [String]
}

struct ExportInput: Decodable, Hashable, Sendable {
  var exportId: String
}

struct DeleteMeInput: Decodable, Hashable, Sendable {
  /// Whether all messages are retracted, too.
  var erase: Bool?
}
