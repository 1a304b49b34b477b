import JSON

/// A mail address or a telephone number: one of them.
struct ReachableInput: Decodable, Hashable, Sendable {
  var email: String?
  /// With a plus and the country's code.
  var phone: String?
}

/// A mail address, a telephone number or a challenge: one of them.
struct SendCodeInput: Decodable, Hashable, Sendable {
  var email: String?
  /// With a plus and the country's code.
  var phone: String?
  /// What `second-factor-required` brought.
  var challenge: String?
}

/// A mail address, a telephone number or the second factor: one of them.
struct SendMyCodeInput: Decodable, Hashable, Sendable {
  var email: String?
  /// With a plus and the country's code.
  var phone: String?
  /// The code is to be of the caller's second factor.
  var secondFactor: Bool?
}

struct ResetPasswordInput: Decodable, Hashable, Sendable {
  /// Of the link.
  var token: String
  var password: String
}

struct ChangePasswordInput: Decodable, Hashable, Sendable {
  /// Needed where the account has one.
  var current: String?
  var password: String
}

struct SetEmailInput: Decodable, Hashable, Sendable {
  var email: String
  /// That was sent there.
  var code: String
  /// The account's; needed where it has one.
  var password: String?
}

struct SetPhoneInput: Decodable, Hashable, Sendable {
  var phone: String
  /// That was sent there.
  var code: String
  /// The account's; needed where it has one.
  var password: String?
}

struct EnrolInput: Decodable, Hashable, Sendable {
  /// The account's; needed where it has one.
  var password: String?
  /// `totp` (the usual) or `sms`.
  var method: String?
}

struct ConfirmSecondFactorInput: Decodable, Hashable, Sendable {
  /// Of the authenticator program, or the one that was sent.
  var code: String
}

/// A proof of a second factor: one of them.
struct SecondFactorInput: Decodable, Hashable, Sendable {
  /// Of the authenticator program, or one that was sent.
  var code: String?
  var recoveryCode: String?
}

struct RegisterInput: Decodable, Hashable, Sendable {
  /// Absent, beside `email` or `phone`: one is made up.
  var username: String?
  var password: String
  var name: String?
  /// An address of theirs, with the `code` that was sent to it.
  var email: String?
  var phone: String?
  var code: String?
}

struct LogInInput: Decodable, Hashable, Sendable {
  /// One of `InfoBody.grants`.
  var grant: String
  /// Of the grant `password`, or in its place `email` or `phone`; may itself hold a mail address.
  var username: String?
  var password: String?
  var refreshToken: String?
  /// Of the app's own backend.
  var identityToken: String?
  /// One of `InfoBody.providers`, and its token.
  var provider: String?
  var idToken: String?
  /// A name for this installation, the same at every login; the server makes
  /// one up where it is absent.
  var deviceId: String?
  /// What the client calls itself, for the list of sessions.
  var client: String?
  var email: String?
  var phone: String?
  /// Of the grants `code` and `second-factor`; and of a provider without ID tokens, with the two below.
  var code: String?
  /// RFC 7636 4.1.
  var codeVerifier: String?
  /// Where the provider sent the code.
  var redirectUri: String?
  /// Of the grant `code`: what somebody new is called.
  var name: String?
  /// Of the grant `second-factor`: what `second-factor-required` brought.
  var challenge: String?
  /// In place of `code`.
  var recoveryCode: String?
}

struct SessionInput: Decodable, Hashable, Sendable {
  /// The session's id, or `current`.
  var sessionId: String
}

struct AppPasswordInput: Decodable, Hashable, Sendable {
  /// What the user calls it: for what, and where.
  var name: String
}

struct AppPasswordReference: Decodable, Hashable, Sendable {
  var appPasswordId: String
}

struct UpdateMeInput: Decodable, Hashable, Sendable {
  var name: Change<String> = .keep
  var status: Change<String> = .keep
  var metadata: Change<RawObject> = .keep
  var avatarUrl: Change<String> = .keep
  var contactsMetadata: Change<RawObject> = .keep
  var privateMetadata: Change<RawObject> = .keep
  /// `everybody`, `contacts` or `nobody`.
  var lastSeenVisibility: String?
  var searchable: Bool?
  var matchable: Bool?
  /// As `lastSeenVisibility`.
  var callsFrom: String?
}
