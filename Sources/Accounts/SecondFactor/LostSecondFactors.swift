public import Dialogs

extension Accounts {
  /// Returns a sentence about second factors that a key does not open, so that their users cannot log in; nil if there are
  /// none. Nothing that is stored says with which key it was sealed, so the key is tried.
  ///
  /// - Parameters:
  ///   - secret: The key; nil if there is none.
  ///   - cause: A clause that says why the key does not open them; nil if only that is known.
  public static func lostSecondFactors(
    _ secret: TokenSecret?, because cause: String?, _ reader: any StoreReader
  ) throws -> String? {
    try lostSecondFactors(secret, because: cause, among: reader.secondFactors(limit: AccountLimits.secondFactorsTried))
  }

  /// Returns the sentence about second factors that the key of this process does not open. The file may have another one by now.
  public func lostSecondFactors(because cause: String? = nil) async throws(Problem) -> String? {
    let factors = try await parley.read { try $0.secondFactors(limit: AccountLimits.secondFactorsTried) }
    let cause =
      cause
      ?? "the key that the server has read from accounts.key in the data folder at its start is not the one with which "
      + "they were set up, and it does not read a copy that has been put there since"
    // They are opened after the read, which would hold up the reads of users meanwhile.
    return Self.lostSecondFactors(options.accountSecret, because: cause, among: factors)
  }

  private static func lostSecondFactors(
    _ secret: TokenSecret?, because cause: String?, among factors: [SecondFactor]
  ) -> String? {
    let count = factors.count { factor in
      // Codes that are sent to a telephone need no key.
      guard factor.method == .totp else { return false }
      return secret?.open(factor.sealedSecret, .secondFactor, context: "\(factor.user.number)") == nil
    }
    guard count > 0 else { return nil }
    let number = count == AccountLimits.secondFactorsTried ? "\(count) users or more" : "\(count) users"
    let subject = count == 1 ? "The second factor of 1 user does" : "The second factors of \(number) do"
    return "\(subject) not work, and logins end with wrong-code: "
      + "\(cause ?? "accounts.key in the data folder is not the key with which they were set up"). Put the copy of "
      + "accounts.key there and start the server again, or turn these factors off (parley user second-factor off NAME)."
  }
}
