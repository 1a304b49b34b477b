public import Basics
public import Dialogs
import Synchronization

/// A one-time code or reset link, to be sent to a mail address or a telephone.
public struct OutgoingCode: Sendable {
  public enum Content: Hashable, Sendable {
    /// A code to sign in with, or to prove the address.
    case code(String)
    /// The token for the link of a password reset.
    case passwordReset(token: String)
  }
  public let to: Identity
  public let content: Content
  /// The domain that sends it.
  public let domain: String
  /// The name of the user with this address; `nil` if there is none.
  public let user: String?
  /// The time when the content expires, after which it need not be sent.
  public let expires: Timestamp

  public init(to: Identity, _ content: Content, domain: String, user: String?, expires: Timestamp) {
    self.to = to
    self.content = content
    self.domain = domain
    self.user = user
    self.expires = expires
  }
}

/// Sends codes: by mail, or by a hook of the app's backend. Codes are short-lived, so they are not stored: pending ones
/// are lost when the process ends, and the user requests another.
public protocol CodeSender: Sendable {
  /// The kinds of address that it can send to.
  var reaches: Set<Identity.Issuer> { get }
  /// Takes a code and returns at once. If it has too many it drops the code and logs this: the requester must not learn
  /// from the answer whether there was a code.
  func take(_ outgoing: OutgoingCode)
}

/// A sender that sends nothing.
public struct NoCodeSender: CodeSender {
  public init() {}
  public var reaches: Set<Identity.Issuer> { [] }
  public func take(_ outgoing: OutgoingCode) {}
}

/// The sender of codes, and the identities that may get them.
struct CodeQueue: Sendable {
  var codeSender: any CodeSender = NoCodeSender()
  /// The issuers by whose identities unknown users may get an account.
  var newcomers: Set<Identity.Issuer> = []
  /// Whether unknown users may create accounts with a password and an address proved by a code.
  var takesRegistrations = false
}

extension Accounts {
  /// Sets the sender of codes.
  ///
  /// - Parameters:
  ///   - newcomers: the issuers by which unknown users get an account (`grant` `code`).
  ///   - registration: whether unknown users create accounts with a password and an address proved by a code.
  public func employ(_ codeSender: any CodeSender, newcomers: Set<Identity.Issuer>, registration: Bool) {
    codeQueue.withLock {
      $0 = CodeQueue(codeSender: codeSender, newcomers: newcomers, takesRegistrations: registration)
    }
  }

  /// Returns whether codes are sent to addresses of unknown users.
  func writesToStrangers(by issuer: Identity.Issuer) -> Bool {
    codeQueue.withLock { $0.takesRegistrations || $0.newcomers.contains(issuer) }
  }

  /// The kinds of address that codes can be sent to.
  public var reaches: Set<Identity.Issuer> { codeQueue.withLock { $0.codeSender.reaches } }
  public var newcomers: Set<Identity.Issuer> { codeQueue.withLock { $0.newcomers } }

  func send(_ outgoing: OutgoingCode) { codeQueue.withLock { $0.codeSender }.take(outgoing) }

  /// Checks the rates before a code is sent: no one may be flooded with them, or learn by them who has an account, or use
  /// up those of somebody else. Nobody spends what a network has from which the user has logged in before.
  func paceLetter(
    to identity: Identity, as kind: CodeBudget.Kind, in realm: RealmID, from network: String
  ) async throws(Problem) {
    try checkReaches(identity)
    let isKnown = try await isKnown(network, to: identity, in: realm)
    let networks: [String?] = isKnown ? [network] : [network, nil]
    let budgets = networks.map { CodeBudget.address(kind, realm, identity, network: $0) }
    try pace(.outgoing(network: network))
    try pace(all: budgets.flatMap { [PacedAct.codeOfHour($0), PacedAct.codeOfDay($0)] })
  }

  /// Checks the rates of codes of a second factor.
  func paceSecondFactor(of user: UserID, to identity: Identity, from network: String) throws(Problem) {
    try checkReaches(identity)
    try pace(.outgoing(network: network))
    try pace(all: [.codeOfHour(.secondFactor(user)), .codeOfDay(.secondFactor(user))])
  }

  private func checkReaches(_ identity: Identity) throws(Problem) {
    guard reaches.contains(identity.issuer) else {
      throw Problem(
        .unsupported, "delivery-off", "This server sends no \(identity.issuer == .email ? "mail" : "messages").")
    }
  }

  /// Returns whether the user of an address has logged in from a network, since the start.
  func isKnown(_ network: String, to identity: Identity, in realm: RealmID) async throws(Problem) -> Bool {
    let address = try await address(for: identity, in: realm)
    return loginFailures.knows(LoginAttempt(of: address, from: network, device: nil))
  }
}
