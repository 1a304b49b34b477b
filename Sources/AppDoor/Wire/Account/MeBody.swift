import Basics
import JSON

/// The caller's own user: what others see, and what is theirs alone.
struct MeBody: Hashable, Sendable, JSONObjectWritable {
  var user: UserBody
  /// For the user and the app's server.
  var privateMetadata: RawObject
  /// `everybody`, `contacts` or `nobody`.
  var lastSeenVisibility: String
  var searchable: Bool
  var matchable: Bool
  /// As `lastSeenVisibility`: who may call.
  var callsFrom: String
  /// The terms that were accepted last.
  var terms: TermsBody?
  /// The version of the terms that the app wants accepted; absent: none, or it is.
  var termsRequired: String?
  var email: String?
  var phone: String?
  /// There is a password that somebody may know.
  var hasPassword: Bool
  /// A second factor is asked for.
  var secondFactor: Bool
  /// When they last signed in with an app.
  var lastLoginAt: Timestamp?

  /// Members of the user and of this stand side by side.

  func writeMembers(to writer: inout JSONWriter) {
    user.writeMembers(to: &writer)
    writer.member("privateMetadata", privateMetadata)
    writer.member("lastSeenVisibility", lastSeenVisibility)
    writer.member("searchable", searchable)
    writer.member("matchable", matchable)
    writer.member("callsFrom", callsFrom)
    writer.member("terms", terms)
    writer.member("termsRequired", termsRequired)
    writer.member("email", email)
    writer.member("phone", phone)
    writer.member("hasPassword", hasPassword)
    writer.member("secondFactor", secondFactor)
    writer.member("lastLoginAt", lastLoginAt)
  }
}

/// Which terms were accepted, and when.
struct TermsBody: Hashable, Sendable, JSONObjectWritable {
  var version: String
  var acceptedAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("version", version)
    writer.member("acceptedAt", acceptedAt)
  }
}
