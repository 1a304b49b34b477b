import Addresses
import Dialogs
import XMLStream
import XMPP

/// In-band registration before authentication (XEP-0077 3.1, XEP-0445), the server's side. Its theory:
///
/// Who comes with a token is let in by it (`<preauth/>`) for as long as the stream lasts, whatever time it is then; who comes
/// without needs a server where strangers may register. One account comes of a stream, and it is authenticated as of any other
/// client. While an answer is awaited the stream is not read.
struct RegistrationMachine: Sendable, Equatable {
  enum Output: Sendable, Equatable {
    /// Send an empty result.
    case done
    /// Send the fields: both are needed; a name that is fixed already is filled in (3.1).
    case fields(name: String?)
    case refuse(StanzaError)
    /// Look for the invitation and say `found`.
    case find(token: String)
    /// Make the account and say `registered`.
    case register(name: String, password: String, invite: Invite?)
  }

  /// Whether strangers may make accounts.
  private let isOpen: Bool
  private var invite: Invite?
  private var tries = 0
  private var hasRegistered = false

  private static let username = Name("username", NS.register)
  private static let password = Name("password", NS.register)
  private static let remove = Name("remove", NS.register)

  init(isOpen: Bool) { self.isOpen = isOpen }

  /// Whether an account may be made now.
  var isLetIn: Bool { isOpen || invite != nil }

  /// - Parameter domain: of the stream.
  mutating func received(_ stanza: Stanza, domain: String?) -> Output {
    do throws(StanzaError) {
      try stanza.validate()
      if let to = try stanza.to(), !to.isDomain || to.domain != domain { throw StanzaError(.serviceUnavailable) }
      guard let payload = stanza.payload else { throw StanzaError(.badRequest) }
      // 3.1.1: too many tries, or a second identity.
      if hasRegistered { throw StanzaError(.notAcceptable, "this stream has made an account; log in") }
      if payload.is(.preauth) {
        guard stanza.iqType == .set else { throw StanzaError(.badRequest, "a token is set") }
        try count()
        return .find(token: try payload.requiredNonEmpty("token"))
      }
      guard isLetIn else { throw StanzaError(.serviceUnavailable, "new accounts are by invitation") }
      if stanza.iqType == .get { return .fields(name: invite?.name) }
      // 3.2: nobody to be removed is known here.
      if payload.first(Self.remove) != nil { throw StanzaError(.unexpectedRequest, "log in first") }
      try count()
      // Missing or empty: 3.1, the sixth example.
      guard let name = payload.first(Self.username)?.text, let password = payload.first(Self.password)?.text,
        !name.isEmpty, !password.isEmpty
      else { throw StanzaError(.notAcceptable, "a username and a password are needed") }
      return .register(name: name, password: password, invite: invite)
    } catch {
      return .refuse(error)
    }
  }

  private mutating func count() throws(StanzaError) {
    guard tries < DoorLimits.registrationTriesMax else {
      throw StanzaError(.notAcceptable, "too many tries on this stream")
    }
    tries += 1
  }

  /// The answer to `find`: what lets accounts be made on this stream's domain; nil: nothing does.
  mutating func found(_ invite: Invite?) -> Output {
    guard let invite else {
      return .refuse(StanzaError(.itemNotFound, "The provided token is invalid or expired"))
    }
    self.invite = invite
    return .done
  }

  /// The answer to `register`; nil: it is made.
  mutating func registered(_ problem: Problem?) -> Output {
    guard let problem else {
      hasRegistered = true
      invite = nil
      return .done
    }
    // What cannot be a name or a password is not acceptable (3.1).
    if problem.kind == .malformed { return .refuse(StanzaError(.notAcceptable, problem.text)) }
    return .refuse(StanzaError(problem))
  }
}
