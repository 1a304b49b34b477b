import Basics
import JSON

/// A login: what `POST /v1/sessions` answers. The tokens are shown this once.
struct SessionBody: Hashable, Sendable, JSONObjectWritable {
  /// Opaque; goes into `Authorization: Bearer` and the WebSocket's `hello`.
  var accessToken: String
  /// Opaque; good for one refresh, which answers the next one.
  var refreshToken: String
  /// When the access token ends.
  var expiresAt: Timestamp
  var user: UserBody
  var deviceId: String
  /// The version of the terms that the user is to accept first; absent: none.
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

/// A login in the list of one's own: where, since when, last used.
struct SessionSummaryBody: Hashable, Sendable, JSONObjectWritable {
  var id: String
  var deviceId: String
  /// What the client called itself when it logged in.
  var client: String?
  var createdAt: Timestamp
  var usedAt: Timestamp
  /// The one that asks.
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
