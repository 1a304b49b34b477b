import Basics
import JSON

/// The caller's own user, with its private members.
struct MeBody: Hashable, Sendable, JSONObjectWritable {
  var user: UserBody
  /// The metadata for the user and the app's backend.
  var privateMetadata: RawObject
  /// `everybody`, `contacts` or `nobody`.
  var lastSeenVisibility: String
  var searchable: Bool
  var matchable: Bool
  /// The users who may call; the same values as `lastSeenVisibility`.
  var callsFrom: String
  /// The users who may write: `everybody` or `contacts`.
  var messagesFrom: String
  /// The terms that were accepted last.
  var terms: TermsBody?
  /// The version of the terms that must be accepted; absent if there is none, or it is accepted.
  var termsRequired: String?
  var email: String?
  var phone: String?
  /// Whether the account has a password.
  var hasPassword: Bool
  /// Whether a second factor is on.
  var secondFactor: Bool
  /// The time of the last login with an app.
  var lastLoginAt: Timestamp?

  /// Decodes the members of the user's body and of this one from the same object.

  func writeMembers(to writer: inout JSONWriter) {
    user.writeMembers(to: &writer)
    writer.member("privateMetadata", privateMetadata)
    writer.member("lastSeenVisibility", lastSeenVisibility)
    writer.member("searchable", searchable)
    writer.member("matchable", matchable)
    writer.member("callsFrom", callsFrom)
    writer.member("messagesFrom", messagesFrom)
    writer.member("terms", terms)
    writer.member("termsRequired", termsRequired)
    writer.member("email", email)
    writer.member("phone", phone)
    writer.member("hasPassword", hasPassword)
    writer.member("secondFactor", secondFactor)
    writer.member("lastLoginAt", lastLoginAt)
  }
}

/// The version of the terms that a user accepted, and when.
struct TermsBody: Hashable, Sendable, JSONObjectWritable {
  var version: String
  var acceptedAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("version", version)
    writer.member("acceptedAt", acceptedAt)
  }
}
