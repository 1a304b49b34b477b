/// A server for calls, in the form that WebRTC's `RTCPeerConnection` takes.
public struct IceServerBody: Codable, Hashable, Sendable, JSONWritable {
  /// `stun:` and `turn:` URIs (RFC 7064, RFC 7065).
  public var urls: [String]
  public var username: String?
  public var credential: String?
  /// When username and credential end.
  public var expiresAt: WireTime?

  public init(urls: [String], username: String? = nil, credential: String? = nil, expiresAt: WireTime? = nil) {
    self.urls = urls
    self.username = username
    self.credential = credential
    self.expiresAt = expiresAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("urls", urls)
    writer.member("username", username)
    writer.member("credential", credential)
    writer.member("expiresAt", expiresAt)
    writer.endObject()
  }
}
