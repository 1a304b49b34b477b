import Basics
import JSON

struct InvitationInput: Decodable, Hashable, Sendable {
  /// The token of the link.
  var token: String
}

/// An invitation to an account, as the holder of its link sees it.
struct InvitationBody: Hashable, Sendable, JSONObjectWritable {
  /// The name that the account will have; absent if the guest chooses.
  var username: String?
  /// The user who becomes the guest's first contact; absent if an operator invites.
  var inviterId: String?
  /// The name of that user, if they have one.
  var inviterName: String?
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("username", username)
    writer.member("inviterId", inviterId)
    writer.member("inviterName", inviterName)
    writer.member("expiresAt", expiresAt)
  }
}

/// A new invitation. Its token is told once.
struct NewInvitationBody: Hashable, Sendable, JSONObjectWritable {
  /// The page for the guest.
  var url: String
  /// The URI for an XMPP client of the guest's (XEP-0401).
  var xmppUri: String
  var token: String
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("url", url)
    writer.member("xmppUri", xmppUri)
    writer.member("token", token)
    writer.member("expiresAt", expiresAt)
  }
}
