/// A mail address or a telephone number: one of them.
public struct ReachableInput: Codable, Hashable, Sendable {
  public var email: String?
  /// With a plus and the country's code.
  public var phone: String?
  public init(email: String? = nil, phone: String? = nil) {
    self.email = email
    self.phone = phone
  }
}

/// A mail address, a telephone number or a challenge: one of them.
public struct SendCodeInput: Codable, Hashable, Sendable {
  public var email: String?
  /// With a plus and the country's code.
  public var phone: String?
  /// What `second-factor-required` brought.
  public var challenge: String?
  public init(email: String? = nil, phone: String? = nil, challenge: String? = nil) {
    self.email = email
    self.phone = phone
    self.challenge = challenge
  }
}

/// A mail address, a telephone number or the second factor: one of them.
public struct SendMyCodeInput: Codable, Hashable, Sendable {
  public var email: String?
  /// With a plus and the country's code.
  public var phone: String?
  /// The code is to be of the caller's second factor.
  public var secondFactor: Bool?
  public init(email: String? = nil, phone: String? = nil, secondFactor: Bool? = nil) {
    self.email = email
    self.phone = phone
    self.secondFactor = secondFactor
  }
}

public struct ResetPasswordInput: Codable, Hashable, Sendable {
  /// Of the link.
  public var token: String
  public var password: String
  public init(token: String, password: String) {
    self.token = token
    self.password = password
  }
}

public struct ChangePasswordInput: Codable, Hashable, Sendable {
  /// Needed where the account has one.
  public var current: String?
  public var password: String
  public init(current: String? = nil, password: String) {
    self.current = current
    self.password = password
  }
}

public struct SetEmailInput: Codable, Hashable, Sendable {
  public var email: String
  /// That was sent there.
  public var code: String
  /// The account's; needed where it has one.
  public var password: String?
  public init(email: String, code: String, password: String? = nil) {
    self.email = email
    self.code = code
    self.password = password
  }
}

public struct SetPhoneInput: Codable, Hashable, Sendable {
  public var phone: String
  /// That was sent there.
  public var code: String
  /// The account's; needed where it has one.
  public var password: String?
  public init(phone: String, code: String, password: String? = nil) {
    self.phone = phone
    self.code = code
    self.password = password
  }
}

public struct EnrolInput: Codable, Hashable, Sendable {
  /// The account's; needed where it has one.
  public var password: String?
  /// `totp` (the usual) or `sms`.
  public var method: String?
  public init(password: String? = nil, method: String? = nil) {
    self.password = password
    self.method = method
  }
}

public struct ConfirmSecondFactorInput: Codable, Hashable, Sendable {
  /// Of the authenticator program, or the one that was sent.
  public var code: String
  public init(code: String) { self.code = code }
}

/// A proof of a second factor: one of them.
public struct SecondFactorInput: Codable, Hashable, Sendable {
  /// Of the authenticator program, or one that was sent.
  public var code: String?
  public var recoveryCode: String?
  public init(code: String? = nil, recoveryCode: String? = nil) {
    self.code = code
    self.recoveryCode = recoveryCode
  }
}
