public import Addresses
import Basics
public import Dialogs

/// Mail addresses and telephone numbers, normalised: two spellings of one are one identity.
extension Identity {
  /// The issuers whose subjects can be sent messages.
  public static let reachable: [Issuer] = [.email, .phone]

  /// Returns a normalised mail address: the part before the @ in lower case (no provider distinguishes users by case,
  /// RFC 5321 2.4 notwithstanding), of the atoms that need no quoting (RFC 5322 3.2.3); the domain as in a JID (RFC
  /// 7622 3.2: IDNA, lower case).
  ///
  /// - Throws: `.malformed` `email-malformed`.
  public static func email(_ text: String, field: String = "email") throws(Problem) -> Identity {
    let bad = Problem(.malformed, "email-malformed", "This is no mail address.", field: field)
    guard text.utf8.count <= AccountLimits.emailBytesMax, let at = text.lastIndex(of: "@") else { throw bad }
    let (local, domain) = (text[..<at].lowercased(), text[text.index(after: at)...])
    guard (1...AccountLimits.emailLocalBytesMax).contains(local.utf8.count),
      local.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }),
      local.utf8.allSatisfy({ isAtom($0) }), !domain.isEmpty,
      domain.unicodeScalars.allSatisfy({ !"@/[]:".unicodeScalars.contains($0) }),
      let normal = BareJID(parsing: String(domain)), normal.local == nil, !normal.domain.utf8.contains(0x3a)
    else { throw bad }
    return Identity(.email, "\(local)@\(normal.domain)")
  }

  /// Returns a normalised telephone number with a plus and its country code (E.164: at most 15 digits); spaces,
  /// hyphens, dots and brackets are removed.
  ///
  /// - Throws: `.malformed` `phone-malformed`.
  public static func phone(_ text: String, field: String = "phone") throws(Problem) -> Identity {
    let plain = text.unicodeScalars.filter { !" -.()".unicodeScalars.contains($0) }
    let digits = plain.dropFirst()
    guard text.utf8.count <= 40, plain.first == "+", (7...15).contains(digits.count), digits.first != "0",
      digits.allSatisfy({ (0x30...0x39).contains($0.value) })
    else {
      throw Problem(
        .malformed, "phone-malformed", "A telephone number has a plus, the country's code and up to 15 digits in all.",
        field: field)
    }
    return Identity(.phone, String(String.UnicodeScalarView(plain)))
  }

  /// Returns whether a byte is part of an atom (RFC 5322 3.2.3), or the dot between atoms.
  private static func isAtom(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x61...0x7a, 0x2e: true
    default: "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }
  }
}

extension Accounts {
  /// Returns the account's address for a login by mail address or number and password. An unknown identity gets a
  /// made-up one, which answers, counts and costs like an account with another password.
  public func address(for identity: Identity, in realm: RealmID) async throws(Problem) -> BareJID {
    guard let domain = parley.realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let found = try await parley.read { reader in
      // An unknown user is looked up too, so that both take as long.
      try reader.party(try reader.user(of: identity, in: realm) ?? UserID(0))
    }
    if let found { return found.address }
    let hash = Hex.string(options.accountSecret.hash([identity.subject], .code).prefix(16))
    guard let stand = try? BareJID(local: "nobody-" + hash, domain: domain) else { throw Problem.unreachable }
    return stand
  }

  /// Removes a mail address, a number or a provider's identity from a user.
  ///
  /// - Throws: `.missing` `identity-unknown`; `.conflict` `last-sign-in` if it is the user's last way to sign in.
  public func unbind(_ issuer: Identity.Issuer, from user: Party) async throws(Problem) {
    try await remove(from: user, where: { $0.issuer == issuer }, none: "There is none.")
  }
}
