import Basics
import JSON

/// A server for calls, in the form of WebRTC's `RTCPeerConnection`.
struct IceServerBody: Hashable, Sendable, JSONObjectWritable {
  /// The `stun:` and `turn:` URIs (RFC 7064, RFC 7065).
  var urls: [String]
  var username: String?
  var credential: String?
  /// The time when username and credential expire.
  var expiresAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("urls", urls)
    writer.member("username", username)
    writer.member("credential", credential)
    writer.member("expiresAt", expiresAt)
  }
}
