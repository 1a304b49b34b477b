/// A login: what `POST /v1/sessions` answers. The tokens are shown this once.
public struct SessionBody: Codable, Hashable, Sendable, JSONWritable {
  /// Opaque; goes into `Authorization: Bearer` and the WebSocket's `hello`.
  public var accessToken: String
  /// Opaque; good for one refresh, which answers the next one.
  public var refreshToken: String
  /// When the access token ends.
  public var expiresAt: WireTime
  public var user: UserBody
  public var deviceId: String
  /// The version of the terms that the user is to accept first; absent: none.
  public var termsRequired: String?

  public init(
    accessToken: String, refreshToken: String, expiresAt: WireTime, user: UserBody, deviceId: String,
    termsRequired: String? = nil
  ) {
    self.termsRequired = termsRequired
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.expiresAt = expiresAt
    self.user = user
    self.deviceId = deviceId
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("accessToken", accessToken)
    writer.member("refreshToken", refreshToken)
    writer.member("expiresAt", expiresAt)
    writer.member("user", user)
    writer.member("deviceId", deviceId)
    writer.member("termsRequired", termsRequired)
    writer.endObject()
  }
}

/// A login in the list of one's own: where, since when, last used.
public struct SessionSummaryBody: Codable, Hashable, Sendable, JSONWritable {
  public var id: String
  public var deviceId: String
  /// What the client called itself when it logged in.
  public var client: String?
  public var createdAt: WireTime
  public var usedAt: WireTime
  /// The one that asks.
  public var current: Bool

  public init(
    id: String, deviceId: String, client: String?, createdAt: WireTime, usedAt: WireTime, current: Bool
  ) {
    self.id = id
    self.deviceId = deviceId
    self.client = client
    self.createdAt = createdAt
    self.usedAt = usedAt
    self.current = current
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("deviceId", deviceId)
    writer.member("client", client)
    writer.member("createdAt", createdAt)
    writer.member("usedAt", usedAt)
    writer.member("current", current)
    writer.endObject()
  }
}
