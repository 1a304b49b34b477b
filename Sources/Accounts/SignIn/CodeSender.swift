public import Basics
public import Dialogs
import Synchronization

/// Something to be brought to somebody who is not here: to a mail address or a telephone.
public struct OutgoingCode: Sendable {
  public enum Content: Hashable, Sendable {
    /// To sign in with, or to prove the address by.
    case code(String)
    /// For the link of a password reset.
    case passwordReset(token: String)
  }
  public let to: Identity
  public let content: Content
  /// The domain in whose name it is sent.
  public let domain: String
  /// Who is known by the address, by name; nil: nobody yet.
  public let user: String?
  /// What it holds is worth nothing from then on, and it need not be brought any more.
  public let expires: Timestamp

  public init(to: Identity, _ content: Content, domain: String, user: String?, expires: Timestamp) {
    self.to = to
    self.content = content
    self.domain = domain
    self.user = user
    self.expires = expires
  }
}

/// Brings outgoingCodes: by mail, by a hook of the app's backend. Letters are short-lived, so they are not stored: what is under way
/// when the process ends is lost, and whoever waits asks again.
public protocol CodeSender: Sendable {
  /// What it can bring codes to.
  var reaches: Set<Identity.Issuer> { get }
  /// Takes a code and returns at once. Where it has too many it drops the code and says so in its log: whoever asked must
  /// not learn from the answer whether there was a code.
  func take(_ outgoing: OutgoingCode)
}

/// Brings nothing.
public struct NoCodeSender: CodeSender {
  public init() {}
  public var reaches: Set<Identity.Issuer> { [] }
  public func take(_ outgoing: OutgoingCode) {}
}

/// Who brings codes, and to whom they may be sent.
struct CodeQueue: Sendable {
  var codeSender: any CodeSender = NoCodeSender()
  /// Of what somebody may become a user who is not known by it.
  var newcomers: Set<Identity.Issuer> = []
  /// Whether strangers make accounts with a password, and an address that a code proves.
  var takesRegistrations = false
}

extension Accounts {
  /// From now on codes are brought by this sender.
  ///
  /// - Parameters:
  ///   - newcomers: who is nobody's user yet may become one by proving these (`grant` `code`).
  ///   - registration: strangers make accounts with a password, and an address that a code proves.
  public func employ(_ codeSender: any CodeSender, newcomers: Set<Identity.Issuer>, registration: Bool) {
    outgoingCodes.withLock {
      $0 = CodeQueue(codeSender: codeSender, newcomers: newcomers, takesRegistrations: registration)
    }
  }

  /// Whether a code is written to who is nobody's user yet.
  func writesToStrangers(by issuer: Identity.Issuer) -> Bool {
    outgoingCodes.withLock { $0.takesRegistrations || $0.newcomers.contains(issuer) }
  }

  /// What codes can be sent to.
  public var reaches: Set<Identity.Issuer> { outgoingCodes.withLock { $0.codeSender.reaches } }
  public var newcomers: Set<Identity.Issuer> { outgoingCodes.withLock { $0.newcomers } }

  func send(_ outgoing: OutgoingCode) { outgoingCodes.withLock { $0.codeSender }.take(outgoing) }

  /// Before a code is written: nobody is to be buried in them, nor to learn by them who has an account here.
  func paceLetter(to identity: Identity, in realm: RealmID, from network: String) throws(Problem) {
    guard reaches.contains(identity.issuer) else {
      throw Problem(
        .unsupported, "delivery-off", "This server sends no \(identity.issuer == .email ? "mail" : "messages").")
    }
    try pace(.outgoing(network: network))
    try pace(.letterOfHour(realm, identity))
    try pace(.letterOfDay(realm, identity))
  }
}
