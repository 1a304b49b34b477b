import Addresses
import Dialogs
import XMLStream
import XMPP

/// In-band registration before authentication (XEP-0077 3.1, XEP-0445), the server's side. Theory:
///
/// A client with a token may register (`<preauth/>`) for as long as the stream lasts, even if the token expires
/// meanwhile; a client without one needs a server with open registration, which may ask for a proof of work in a data
/// form (XEP-0158 4, `RegistrationChallengeForm`). A stream registers one account, and then authenticates as any other
/// client does. While an answer is awaited the stream is not read.
struct RegistrationMachine: Sendable, Equatable {
  enum Output: Sendable, Equatable {
    /// Send an empty result.
    case done
    /// Send the fields: both are needed; a name that is fixed by the invitation is filled in (3.1).
    case fields(name: String?)
    /// Send the way to prove work (`RegistrationChallengeForm`).
    case challenge
    case refuse(StanzaError)
    /// Look the invitation up and call `found`.
    case find(token: String)
    /// Register the account and call `registered`.
    case register(name: String, password: String, invite: Invite?, proof: String?)
  }

  /// Whether anyone may register.
  private let isOpen: Bool
  /// Whether those without an invitation prove work.
  private let needsProof: Bool
  private var invite: Invite?
  private var tries = 0
  private var hasRegistered = false

  private static let username = Name("username", NS.register)
  private static let password = Name("password", NS.register)
  private static let remove = Name("remove", NS.register)

  init(isOpen: Bool, needsProof: Bool) {
    self.isOpen = isOpen
    self.needsProof = needsProof
  }

  /// Whether an account may be registered now.
  var isLetIn: Bool { isOpen || invite != nil }

  /// Processes a stanza.
  ///
  /// - Parameter domain: the domain of the stream.
  mutating func received(_ stanza: Stanza, domain: String?) -> Output {
    do throws(StanzaError) {
      try stanza.validate()
      if let to = try stanza.to(), !to.isDomain || to.domain != domain { throw StanzaError(.serviceUnavailable) }
      guard let payload = stanza.payload else { throw StanzaError(.badRequest) }
      // 3.1.1: too many tries, or a second account.
      if hasRegistered { throw StanzaError(.notAcceptable, "this stream has made an account; log in") }
      if payload.is(.preauth) {
        guard stanza.iqType == .set else { throw StanzaError(.badRequest, "a token is set") }
        try count()
        return .find(token: try payload.requiredNonEmpty("token"))
      }
      guard isLetIn else { throw StanzaError(.serviceUnavailable, "new accounts are by invitation") }
      if stanza.iqType == .get {
        return needsProof && invite == nil ? .challenge : .fields(name: invite?.name)
      }
      // 3.2: an account cannot be removed before authentication.
      if payload.first(Self.remove) != nil { throw StanzaError(.unexpectedRequest, "log in first") }
      try count()
      // Missing or empty: 3.1, the sixth example.
      let answers = try Self.answers(payload)
      guard let name = answers.name, let password = answers.password, !name.isEmpty, !password.isEmpty else {
        throw StanzaError(.notAcceptable, "a username and a password are needed")
      }
      return .register(name: name, password: password, invite: invite, proof: answers.proof)
    } catch {
      return .refuse(error)
    }
  }

  /// Returns what a client has filled in: in the form, if there is one (XEP-0077 4), otherwise in the elements.
  private static func answers(
    _ query: Element
  ) throws(StanzaError) -> (name: String?, password: String?, proof: String?) {
    guard let form = try query.payload(DataForm.self) else {
      return (try query.only(username)?.text, try query.only(password)?.text, nil)
    }
    return (
      try form.single("username"), try form.single("password"), try form.single(RegistrationChallengeForm.proof)
    )
  }

  private mutating func count() throws(StanzaError) {
    guard tries < DoorLimits.registrationTriesMax else {
      throw StanzaError(.notAcceptable, "too many tries on this stream")
    }
    tries += 1
  }

  /// Takes the answer to `find`: the invitation, if it allows an account on this stream's domain.
  mutating func found(_ invite: Invite?) -> Output {
    guard let invite else {
      return .refuse(StanzaError(.itemNotFound, "The provided token is invalid or expired"))
    }
    self.invite = invite
    return .done
  }

  /// Takes the answer to `register`; `nil` if the account was created.
  mutating func registered(_ problem: Problem?) -> Output {
    guard let problem else {
      hasRegistered = true
      invite = nil
      return .done
    }
    // An invalid name or password is not acceptable (3.1).
    if problem.kind == .malformed { return .refuse(StanzaError(.notAcceptable, problem.text)) }
    return .refuse(StanzaError(problem))
  }
}
