import Basics
import JSON

/// A login, the answer of `POST /v1/sessions`. The tokens are shown this once.
struct SessionBody: Hashable, Sendable, JSONObjectWritable {
  /// The opaque token for `Authorization: Bearer` and the WebSocket's `hello`.
  var accessToken: String
  /// The opaque token for one refresh, which returns the next one.
  var refreshToken: String
  /// The time when the access token expires.
  var expiresAt: Timestamp
  var user: UserBody
  var deviceId: String
  /// The version of the terms that the user must accept first; absent if there is none.
  var termsRequired: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("accessToken", accessToken)
    writer.member("refreshToken", refreshToken)
    writer.member("expiresAt", expiresAt)
    writer.member("user", user)
    writer.member("deviceId", deviceId)
    writer.member("termsRequired", termsRequired)
  }
}

/// A login in the caller's list.
struct SessionSummaryBody: Hashable, Sendable, JSONObjectWritable {
  var id: String
  var deviceId: String
  /// The client's name at the login.
  var client: String?
  var createdAt: Timestamp
  var usedAt: Timestamp
  /// Whether it is the caller's own login.
  var current: Bool

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("deviceId", deviceId)
    writer.member("client", client)
    writer.member("createdAt", createdAt)
    writer.member("usedAt", usedAt)
    writer.member("current", current)
  }
}
