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
