import JSON

/// A mail address or a telephone number: one of them.
struct ReachableInput: Decodable, Hashable, Sendable {
  var email: String?
  /// The telephone number with a plus and its country code.
  var phone: String?
}

/// A mail address, a telephone number or a challenge: one of them.
struct SendCodeInput: Decodable, Hashable, Sendable {
  var email: String?
  /// The telephone number with a plus and its country code.
  var phone: String?
  /// The challenge of `second-factor-required`.
  var challenge: String?
}

/// A mail address, a telephone number or the second factor: one of them.
struct SendMyCodeInput: Decodable, Hashable, Sendable {
  var email: String?
  /// The telephone number with a plus and its country code.
  var phone: String?
  /// Whether the code is for the caller's second factor.
  var secondFactor: Bool?
}

struct ResetPasswordInput: Decodable, Hashable, Sendable {
  /// The token of the link.
  var token: String
  var password: String
}

struct ChangePasswordInput: Decodable, Hashable, Sendable {
  /// The current password, required if the account has one.
  var current: String?
  var password: String
}

struct SetEmailInput: Decodable, Hashable, Sendable {
  var email: String
  /// The code that was sent there.
  var code: String
  /// The account's password, required if it has one.
  var password: String?
}

struct SetPhoneInput: Decodable, Hashable, Sendable {
  var phone: String
  /// The code that was sent there.
  var code: String
  /// The account's password, required if it has one.
  var password: String?
}

struct EnrolInput: Decodable, Hashable, Sendable {
  /// The account's password, required if it has one.
  var password: String?
  /// `totp` (the default) or `sms`.
  var method: String?
}

struct ConfirmSecondFactorInput: Decodable, Hashable, Sendable {
  /// The code of the authenticator app, or the one that was sent.
  var code: String
}

/// A proof of a second factor: one of them.
struct SecondFactorInput: Decodable, Hashable, Sendable {
  /// The code of the authenticator app, or one that was sent.
  var code: String?
  var recoveryCode: String?
}

struct RegisterInput: Decodable, Hashable, Sendable {
  /// The name; if absent, which requires `email` or `phone`, a random one is used.
  var username: String?
  var password: String
  var name: String?
  /// An address of the user, with the `code` that was sent to it.
  var email: String?
  var phone: String?
  var code: String?
  /// The token of an invitation, by which an account may be created even if registration is off.
  var invitation: String?
  /// The proof of work for the challenge of `registration-proof-required`.
  var proof: String?
}

struct LogInInput: Decodable, Hashable, Sendable {
  /// One of `InfoBody.grants`.
  var grant: String
  /// The name for the grant `password`, which may be a mail address; or use `email` or `phone` instead.
  var username: String?
  var password: String?
  var refreshToken: String?
  /// The token of the app's own backend.
  var identityToken: String?
  /// One of `InfoBody.providers`, and its token.
  var provider: String?
  var idToken: String?
  /// The id of this installation, the same at every login; if absent, the server creates one.
  var deviceId: String?
  /// The client's name, for the list of sessions.
  var client: String?
  var email: String?
  var phone: String?
  /// The code of the grants `code` and `second-factor`; and of a provider without ID tokens, with the two members
  /// below.
  var code: String?
  /// The verifier (RFC 7636 4.1).
  var codeVerifier: String?
  /// The URI to which the provider sent the code.
  var redirectUri: String?
  /// The display name of a new user, for the grant `code`.
  var name: String?
  /// The challenge of `second-factor-required`, for the grant `second-factor`.
  var challenge: String?
  /// A recovery code in place of `code`.
  var recoveryCode: String?
}

struct SessionInput: Decodable, Hashable, Sendable {
  /// The session's id, or `current`.
  var sessionId: String
}

struct AppPasswordInput: Decodable, Hashable, Sendable {
  /// The user's label of the password: its purpose and place.
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
  /// The same values as `lastSeenVisibility`.
  var callsFrom: String?
  /// `everybody` or `contacts`.
  var messagesFrom: String?
}
