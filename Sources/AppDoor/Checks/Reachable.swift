import Accounts
import Basics
import Dialogs

extension Checks {
  /// Returns the only address in an input.
  static func reachable(email: String?, phone: String?) throws(Problem) -> Identity {
    guard let identity = try reachableIfAny(email: email, phone: phone) else {
      throw Problem(.malformed, "input-malformed", "email is missing, or phone.", field: "email")
    }
    return identity
  }

  static func reachableIfAny(email: String?, phone: String?) throws(Problem) -> Identity? {
    switch (email, phone) {
    case (nil, nil): return nil
    case (let email?, nil): return try .email(email)
    case (nil, let phone?): return try .phone(phone)
    case (.some, .some):
      throw Problem(.malformed, "input-malformed", "email and phone exclude each other.", field: "phone")
    }
  }

  static func secondFactorMethod(_ text: String) throws(Problem) -> SecondFactor.Method {
    guard let method = SecondFactor.Method(rawValue: text) else {
      throw Problem(.malformed, "method-unknown", "method is \"totp\" or \"sms\".", field: "method")
    }
    return method
  }

  /// Returns a proof of a second factor: one of two members.
  static func secondProof(code: String?, recoveryCode: String?) throws(Problem) -> Accounts.SecondProof {
    switch (code, recoveryCode) {
    case (let code?, nil): return .code(code)
    case (nil, let text?): return .recoveryCode(text)
    case (nil, nil), (.some, .some):
      throw Problem(.malformed, "input-malformed", "Either code or recoveryCode is needed.", field: "code")
    }
  }
}

extension RequestContext {
  /// Returns the caller's own view, read anew.
  func me() async throws(Problem) -> MeBody {
    let id = try user().user.id
    let found = try await parley.read { reader in
      try reader.user(id).map { ($0, try reader.userSettings(of: id), try Account(of: id, reader)) }
    }
    guard let (user, settings, account) = found else { throw GetUser.unknown }
    return rendering.me(user, settings, account, terms: door.settings.terms)
  }

  /// Returns the expiry of what is sent now.
  func sent(_ lifetime: Duration) -> SentBody { SentBody(expiresAt: parley.clock.now + lifetime) }
}
