import Basics
import JSON

/// A server for calls, in the form that WebRTC's `RTCPeerConnection` takes.
struct IceServerBody: Hashable, Sendable, JSONObjectWritable {
  /// `stun:` and `turn:` URIs (RFC 7064, RFC 7065).
  var urls: [String]
  var username: String?
  var credential: String?
  /// When username and credential end.
  var expiresAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("urls", urls)
    writer.member("username", username)
    writer.member("credential", credential)
    writer.member("expiresAt", expiresAt)
  }
}
