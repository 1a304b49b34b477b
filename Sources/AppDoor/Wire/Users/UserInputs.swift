struct UserInput: Decodable, Hashable, Sendable {
  var userId: String
}

/// At most one of `query`, `ids`, `externalId` and `near`.
struct ListUsersInput: Decodable, Hashable, Sendable {
  /// What `field` says it is; absent: everybody.
  var query: String?
  /// `name`, `id`, `email` or `phone`; absent: the beginning of an id or a part of a name.
  var field: String?
  /// With commas between.
  var ids: String?
  var externalId: String?
  /// Latitude and longitude, with a comma between.
  var near: String?
  /// Kilometres around `near`.
  var radius: Int?
  var cursor: String?
  var limit: Int?
}

/// What operations on oneself and on users take, beyond `Inputs.swift`.

struct LocationInput: Decodable, Hashable, Sendable {
  var latitude: Double
  var longitude: Double
  /// Seconds; absent: an hour.
  var ttl: Int?
}

struct TermsInput: Decodable, Hashable, Sendable {
  var version: String
}

struct ContactMatchInput: Decodable, Hashable, Sendable {
  /// Each 64 hex digits.
  var hashes: [String]
}

struct ExportInput: Decodable, Hashable, Sendable {
  var exportId: String
}

struct DeleteMeInput: Decodable, Hashable, Sendable {
  /// Whether everything that was said is taken back, too.
  var erase: Bool?
}
