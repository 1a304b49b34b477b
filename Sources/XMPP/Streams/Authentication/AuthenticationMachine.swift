// SASL on a client-to-server stream, the server's side (RFC 6120 6).
//
// Theory. A client tries mechanisms one after the other until one succeeds; each `<auth/>` is an attempt and replaces
// the one before it (6.4.2). An attempt is a short dialogue, which the state names:
//
//   idle              no attempt under way
//   initial           <auth/> came without an initial response; an empty challenge was sent
//   credentials       the user's SCRAM keys were asked for
//   proof             the SCRAM challenge was sent; the client's proof is awaited
//   password          a plain password is being verified
//   upgrades          the proof fits; the caller was asked which of the requested upgrades the user needs
//   task              the client was asked to begin an upgrade (XEP-0480)
//   salted            it was sent the salt; the salted password is awaited
//   storing           that is being stored
//   token             a client's token is being verified (XEP-0484)
//   bearer            an access token is being verified (RFC 7628)
//   guest             a guest was asked for (RFC 4505)
//   refused           the access token was invalid, and the reason was sent; the client's empty response is awaited
//   finished          success: nothing is accepted any more
//
// Everything that takes time (fetching keys, hashing a password) is a question to the caller: an output now, an event
// later. A question carries the number of its attempt; an answer with another number belongs to an attempt that was
// replaced or aborted and is dropped. Failures end the attempt, not the stream (6.4.5), until there were too many.
//
// A failed mechanism is not a failed password: a malformed message, an abort or a mechanism for which the user has no
// keys must not count against the account. Every failure says which it was (`AuthenticationFault`), for the caller's
// rate limits.
//
// Nothing here reveals whether an account exists: unknown users get made-up salts (`SCRAMDecoy`) and the same failure,
// and a disabled account is reported only after the right password.

import Addresses
import Basics
public import XMLStream

public struct AuthenticationMachine: Sendable {
  private let policy: AuthenticationPolicy
  private let domain: String
  private let isSecured: Bool
  private let takesGuests: Bool
  /// The user that the client claims to be in its stream header.
  private let claimed: String?
  /// The channel bindings of the connection, to which the client may bind a login.
  private let channelBindings: [ChannelBinding]
  /// Whether a proof was found to fit: then the client may not begin anew (XEP-0388 6).
  private var isProved = false
  private var state = State.idle
  /// The number of `<auth/>` and `<authenticate/>` seen.
  public private(set) var attempt = 0
  /// The request in the extensible profile; `nil` in the core's.
  public private(set) var request: AuthenticateRequest?
  /// The index of the proved password among those in the answer `credentials` (`SCRAMExchange.verify`).
  public private(set) var password = 0
  /// The profile in which the current attempt is made, and answered.
  public private(set) var profile = SASLProfile.core

  /// Whether a dialogue of the extensible profile is under way: only its own elements may come then; a client that
  /// sends another one is to be disconnected (XEP-0388 2.5).
  public var isExclusive: Bool {
    switch state {
    case .idle, .finished: false
    case .initial, .credentials, .proof, .password, .upgrades, .task, .salted, .storing, .token, .bearer, .guest,
      .refused:
      profile == .extensible
    }
  }

  private enum State: Sendable {
    case idle
    case initial(SASLMechanism)
    case credentials(SCRAMMechanism, SCRAMClientFirst, ChannelBinding?, username: String)
    case proof(SCRAMExchange, username: String, authzid: String?, Outcome)
    case password(username: String, authzid: String?)
    case upgrades(Proved)
    case task(Proved)
    case salted(Proved)
    case storing(Proved)
    case token(username: String)
    case bearer(authzid: String?)
    case guest
    case refused
    case finished
  }

  /// A user whose proof fits, and the upgrades that come before the success: the first is under way.
  private struct Proved: Sendable {
    let user: BareJID
    let username: String
    /// The mechanism's final data, until it has been sent.
    var data: [UInt8]?
    var upgrades: [SCRAMUpgrade]
  }

  /// The meaning of a fitting proof; a decoy's never fits.
  private enum Outcome: Sendable {
    case real(AccountState)
    /// There is no such user.
    case decoy
    /// The user has no keys for the mechanism.
    case unusable
  }

  ///
  /// - Parameters:
  ///   - domain: the realm's domain: the authenticated address is `username@domain`.
  ///   - isSecured: whether the stream runs over TLS.
  ///   - takesGuests: whether guests may log in.
  ///   - claimed: the `from` of the stream header, as it was sent.
  ///   - channelBindings: the bindings that TLS offers for a login.
  public init(
    policy: AuthenticationPolicy, domain: String, isSecured: Bool, takesGuests: Bool = false, claimed: String? = nil,
    channelBindings: [ChannelBinding] = []
  ) {
    self.takesGuests = takesGuests
    self.policy = policy
    self.domain = domain
    self.isSecured = isSecured
    self.claimed = claimed
    self.channelBindings = policy.offer(bindings: channelBindings)
  }

  /// Processes an element of the SASL namespace of either profile.
  public mutating func received(_ element: Element) -> AuthenticationOutput {
    if case .finished = state { return .close(StreamError(.notAuthorized, "the stream is authenticated")) }
    if isProved, element.is(.auth) || element.is(.authenticate) {
      return .close(StreamError(.notAuthorized, "the password is proved already"))
    }
    if element.is(.auth) {
      (profile, request) = (.core, nil)
      return begin(element["mechanism"] ?? "", initial(element))
    }
    if element.is(.authenticate) {
      (profile, request) = (.extensible, nil)
      do throws(SASLFailure) {
        let request = try AuthenticateRequest(element)
        self.request = request
        return begin(request.mechanism, .some(request.initialResponse))
      } catch {
        return refuse(error)
      }
    }
    // XEP-0388 2.5: the dialogue continues in the profile in which it began.
    if element.is(Name("response", profile.namespace)) { return respond(element) }
    if element.is(Name("abort", profile.namespace)) { return fail(.aborted) }
    if element.is(Name("next", NS.sasl2)) { return next(element) }
    if element.is(Name("task-data", NS.sasl2)) { return taskData(element) }
    return fail(.malformedRequest, "no element of SASL a client sends")
  }

  /// Returns the initial response of `<auth/>`: `.some(nil)` if there is none, `nil` if it is no Base64. No character
  /// data at all is no response, `=` alone an empty one (RFC 6120 6.4.2).
  private func initial(_ element: Element) -> [UInt8]?? {
    guard element.hasText else { return .some(nil) }
    return decode(element).map { .some($0) }
  }

  /// Takes the answer to the question that is open. An answer to another question, or of an earlier attempt, changes
  /// nothing.
  public mutating func answered(_ answer: AuthenticationAnswer, attempt: Int) -> AuthenticationOutput {
    guard attempt == self.attempt else { return .nothing }
    switch (answer, state) {
    case (.credentials(let answer, let nonce), .credentials(let mechanism, let first, let binding, let username)):
      return credentialsFound(answer, nonce: nonce, mechanism, first, binding, username: username)
    case (.password(let answer), .password(let username, let authzid)):
      switch answer {
      case .right(let account): return succeed(username, authzid: authzid, account: account, data: nil)
      case .wrong: return fail(.notAuthorized, fault: .password(username: username))
      case .unavailable: return fail(.temporaryAuthFailure, fault: .server)
      }
    case (.token(let answer), .token(let username)):
      switch answer {
      case .right(let data, let account): return succeed(username, authzid: nil, account: account, data: data)
      // 256 random bits cannot be guessed: no password was tried.
      case .wrong: return fail(.notAuthorized)
      case .expired: return fail(.credentialsExpired)
      case .unavailable: return fail(.temporaryAuthFailure, fault: .server)
      }
    case (.bearer(let answer), .bearer(let authzid)):
      switch answer {
      case .right(let username, let account):
        return succeed(username, authzid: authzid, account: account, data: nil)
      case .wrong:
        // RFC 7628 3.2.2: the reason is in a challenge, and the failure follows the client's answer to it.
        state = .refused
        return .challenge(BearerMessage.invalidToken)
      case .unavailable: return fail(.temporaryAuthFailure, fault: .server)
      }
    case (.guest(let answer), .guest):
      switch answer {
      case .made(let username): return succeed(username, authzid: nil, account: .active, data: nil)
      case .refused(let text): return fail(.temporaryAuthFailure, text, fault: .server)
      }
    case (.upgrades(let upgrades), .upgrades(var proved)):
      proved.upgrades = upgrades
      return proceed(proved)
    case (.upgrade(let answer), .storing(var proved)):
      switch answer {
      case .stored:
        proved.upgrades.removeFirst()
        return proceed(proved)
      case .outdated: return fail(.notAuthorized, "the password was changed")
      // A success would mean that the keys are stored.
      case .unavailable: return fail(.temporaryAuthFailure, fault: .server)
      }
    case (.credentials, _), (.password, _), (.token, _), (.bearer, _), (.guest, _), (.upgrades, _), (.upgrade, _):
      return .nothing
    }
  }

  private mutating func credentialsFound(
    _ answer: CredentialsAnswer, nonce: String, _ mechanism: SCRAMMechanism, _ first: SCRAMClientFirst,
    _ binding: ChannelBinding?, username: String
  ) -> AuthenticationOutput {
    // The decoy is made in any case, so that the time taken reveals nothing.
    let decoy = policy.decoy.credentials(for: username, mechanism: mechanism)
    let credentials: SCRAMCredentials
    let outcome: Outcome
    switch answer {
    case .found(let found, let account):
      credentials = found
      outcome = .real(account)
    case .unknown:
      credentials = decoy
      outcome = .decoy
    case .unusable:
      credentials = decoy
      outcome = .unusable
    case .unavailable:
      return fail(.temporaryAuthFailure, fault: .server)
    }
    let offer = SASLOffer(
      mechanisms: offered.map { String(describing: $0.name) }, channelBindings: channelBindings.map(\.type))
    let exchange = SCRAMExchange(
      mechanism: mechanism, first: first, nonce: nonce, credentials: credentials, channelBinding: binding, offer: offer)
    state = .proof(exchange, username: username, authzid: first.authzid, outcome)
    return .challenge(exchange.challenge)
  }

  /// Whether the next element is checked as the proof of a password.
  public var isProofDue: Bool { if case .proof = state { true } else { false } }

  /// Ends the attempt without checking the proof, after too many wrong ones.
  public mutating func proofRefused() -> AuthenticationOutput {
    guard isProofDue else { return .nothing }
    return fail(.temporaryAuthFailure, fault: .server)
  }

  // MARK: The dialogue

  /// The mechanisms of the current attempt's profile.
  private var offered: [SASLMechanism] { policy.offer(profile, in: conditions) }

  private var conditions: StreamConditions {
    (isSecured ? StreamConditions(bindings: channelBindings) : []).union(takesGuests ? .guests : [])
  }

  private mutating func begin(_ name: String, _ initial: [UInt8]??) -> AuthenticationOutput {
    guard count() else { return Self.tooMany }
    if let request, let mechanism = policy.tokenMechanisms.first(where: { String(describing: $0.name) == name }) {
      return begin(mechanism, request)
    }
    guard let mechanism = policy.mechanisms.first(where: { String(describing: $0.name) == name }) else {
      return fail(.invalidMechanism)
    }
    guard policy.accepts(mechanism, profile, in: conditions) else {
      return fail(isSecured || mechanism.isBound ? .invalidMechanism : .encryptionRequired)
    }
    guard let initial else { return fail(.incorrectEncoding) }
    guard let message = initial else {
      // XEP-0175 2: no trace data is better than some, so none is requested.
      if mechanism == .anonymous { return advance(mechanism, []) }
      state = .initial(mechanism)
      return .challenge([])
    }
    return advance(mechanism, message)
  }

  /// Begins a token login (XEP-0484 3.4), whose one message is in the request.
  private mutating func begin(_ mechanism: HashedTokenMechanism, _ request: AuthenticateRequest) -> AuthenticationOutput
  {
    let binding = channelBindings.first { $0.type == mechanism.bindingType }
    guard policy.tokenOffer(in: conditions).contains(mechanism) else {
      return fail(isSecured ? .invalidMechanism : .encryptionRequired)
    }
    guard let use = request.fast else { return fail(.malformedRequest, "a token is used with <fast/>") }
    guard let agent = request.agent?.id else {
      return fail(.malformedRequest, "a token is used with the id of a <user-agent/>")
    }
    guard let message = request.initialResponse.flatMap(HashedTokenMessage.init) else {
      return fail(.malformedRequest, "no message of a hashed token")
    }
    guard let username = username(message.authcid) else { return fail(.notAuthorized) }
    state = .token(username: username)
    let wanted = policy.token(for: request.wantedToken, in: conditions)
    let proof = TokenProof(
      username: username, agent: agent, mechanism: mechanism, use: use, wanted: wanted, hash: message.hash,
      binding: binding?.data ?? [])
    return .verifyToken(proof, attempt: attempt)
  }

  /// Refuses an invalid request to authenticate, which counts as an attempt like others.
  private mutating func refuse(_ failure: SASLFailure) -> AuthenticationOutput {
    guard count() else { return Self.tooMany }
    return fail(failure.condition, failure.text)
  }

  /// Counts an attempt. Returns whether it may be made (RFC 6120 6.4.5).
  private mutating func count() -> Bool {
    state = .idle
    password = 0
    attempt += 1
    return attempt <= policy.attemptsMax
  }

  private static let tooMany = AuthenticationOutput.close(
    StreamError(.policyViolation, "too many authentication attempts"))

  private mutating func respond(_ element: Element) -> AuthenticationOutput {
    guard let message = decode(element) else { return fail(.incorrectEncoding) }
    switch state {
    case .initial(let mechanism): return advance(mechanism, message)
    case .proof(let exchange, let username, let authzid, let outcome):
      return finish(exchange, message, username: username, authzid: authzid, outcome: outcome)
    // The content makes no difference (RFC 7628 3.2.3).
    case .refused: return fail(.notAuthorized)
    case .idle, .credentials, .password, .upgrades, .task, .salted, .storing, .token, .bearer, .guest, .finished:
      return fail(.malformedRequest, "a response nobody asked for")
    }
  }

  /// Processes the client's first message of a mechanism.
  private mutating func advance(_ mechanism: SASLMechanism, _ message: [UInt8]) -> AuthenticationOutput {
    guard message.count <= XMPPLimits.saslMessageBytesMax else {
      return fail(.malformedRequest, "the message is too long")
    }
    switch mechanism {
    case .scram(let scram), .boundSCRAM(let scram):
      let first: SCRAMClientFirst
      let binding: ChannelBinding?
      do {
        first = try SCRAMClientFirst(message)
        binding = try self.binding(first.bindingFlag, mechanism)
      } catch {
        return fail(error, username: nil)
      }
      guard let username = username(first.username) else { return fail(.notAuthorized) }
      state = .credentials(scram, first, binding, username: username)
      return .needCredentials(username: username, mechanism: scram, attempt: attempt)
    case .plain:
      guard let plain = PlainMessage(message) else { return fail(.malformedRequest, "no message of PLAIN") }
      guard let username = username(plain.authcid), let password = Self.prepared(plain.password) else {
        return fail(.notAuthorized)
      }
      state = .password(username: username, authzid: plain.authzid)
      return .verifyPassword(username: username, password: Password(password), attempt: attempt)
    case .oauthBearer:
      guard let bearer = BearerMessage(message) else {
        return fail(.malformedRequest, "no message of OAUTHBEARER")
      }
      guard let token = bearer.token else {
        state = .refused
        return .challenge(BearerMessage.invalidToken)
      }
      state = .bearer(authzid: bearer.authzid)
      return .verifyBearer(Password(token), attempt: attempt)
    case .anonymous:
      // RFC 4505 2: an address or a token of up to 255 characters, which is not used here.
      guard let trace = String(validating: message, as: UTF8.self), trace.unicodeScalars.count <= 255 else {
        return fail(.malformedRequest, "no trace information of ANONYMOUS")
      }
      state = .guest
      return .needGuest(attempt: attempt)
    }
  }

  /// Returns the channel binding of the login (RFC 5802 6).
  private func binding(
    _ flag: SCRAMClientFirst.BindingFlag, _ mechanism: SASLMechanism
  ) throws(SCRAMFault) -> ChannelBinding? {
    switch (mechanism.isBound, flag) {
    case (true, .used(let type)):
      guard let binding = channelBindings.first(where: { $0.type == type }) else { throw .channelBinding }
      return binding
    case (true, .unsupported), (true, .unoffered), (false, .used): throw .channelBinding
    case (false, .unsupported): return nil
    case (false, .unoffered):
      guard !offered.contains(where: \.isBound) else { throw .downgraded }
      return nil
    }
  }

  private mutating func finish(
    _ exchange: SCRAMExchange, _ message: [UInt8], username: String, authzid: String?, outcome: Outcome
  ) -> AuthenticationOutput {
    let data: [UInt8]
    do {
      (data, password) = try exchange.verify(message)
    } catch {
      switch outcome {
      case .real, .decoy: return fail(error, username: username)
      case .unusable: return fail(error, username: nil)
      }
    }
    switch outcome {
    case .real(let account): return succeed(username, authzid: authzid, account: account, data: data)
    // A proof that fits made-up keys was guessed against all odds; it opens nothing.
    case .decoy: return fail(.notAuthorized, fault: .password(username: username))
    case .unusable: return fail(.notAuthorized)
    }
  }

  private mutating func succeed(
    _ username: String, authzid: String?, account: AccountState, data: [UInt8]?
  ) -> AuthenticationOutput {
    switch account {
    case .active: break
    case .disabled: return fail(.accountDisabled, fault: .account(username: username))
    case .expired: return fail(.credentialsExpired, fault: .account(username: username))
    }
    guard let user = address(of: username) else { return fail(.notAuthorized) }
    // No user may act for another (6.3.8); an empty authzid is an absent one (6.6).
    if let authzid, !authzid.isEmpty, BareJID(parsing: authzid) != user {
      return fail(.invalidAuthzid, fault: .account(username: username))
    }
    // XEP-0388 2.4: the header and the authzid must not differ.
    if profile == .extensible, let authzid, !authzid.isEmpty, let claimed, JID(parsing: claimed)?.bare != user {
      return fail(.invalidAuthzid, fault: .account(username: username))
    }
    // Only after a SCRAM proof of the password, when the server has no keys yet that could be weaker than the new ones.
    // Never without TLS, since the salted password is as good as the password; never behind another password than the
    // account's own.
    if case .proof = state, isSecured, password == 0, let request, !request.upgrades.isEmpty {
      isProved = true
      state = .upgrades(Proved(user: user, username: username, data: data, upgrades: []))
      return .needUpgrades(request.upgrades, username: username, attempt: attempt)
    }
    state = .finished
    return .success(user, data)
  }

  // MARK: Tasks

  /// Begins the next upgrade, or succeeds.
  private mutating func proceed(_ proved: Proved) -> AuthenticationOutput {
    var proved = proved
    guard let upgrade = proved.upgrades.first else {
      state = .finished
      return .success(proved.user, proved.data)
    }
    let data = proved.data.take()
    state = .task(proved)
    return .upgrade(upgrade.mechanism, data)
  }

  /// Processes `<next/>` (XEP-0388 2.6.3): the client begins the task.
  private mutating func next(_ element: Element) -> AuthenticationOutput {
    guard case .task(let proved) = state, let upgrade = proved.upgrades.first,
      element["task"] == SCRAMUpgrade.task(upgrade.mechanism)
    else { return fail(.malformedRequest, "a task nobody asked for") }
    state = .salted(proved)
    return .taskData(upgrade)
  }

  /// Processes `<hash/>` in `<task-data/>` (XEP-0480 3).
  private mutating func taskData(_ element: Element) -> AuthenticationOutput {
    guard case .salted(let proved) = state, let upgrade = proved.upgrades.first,
      let hash = element.first(Name("hash", NS.scramUpgrade))
    else { return fail(.malformedRequest, "data of a task nobody asked for") }
    guard let bytes = hash.withText({ Base64.decode($0) }) else { return fail(.incorrectEncoding) }
    guard bytes.count == upgrade.mechanism.byteCount else {
      return fail(.malformedRequest, "the hash has the wrong length")
    }
    state = .storing(proved)
    return .storeUpgrade(upgrade, SaltedPassword(bytes), username: proved.username, attempt: attempt)
  }

  // MARK: Failures

  private mutating func fail(
    _ condition: SASLFailure.Condition, _ text: String? = nil, fault: AuthenticationFault = .mechanism
  ) -> AuthenticationOutput {
    state = .idle
    return .failure(SASLFailure(condition, text), fault)
  }

  /// Fails an attempt by SCRAM. A wrong proof counts against `username`, if there is one.
  private mutating func fail(_ fault: SCRAMFault, username: String?) -> AuthenticationOutput {
    switch fault {
    case .malformed: fail(.malformedRequest)
    case .extensionRequired: fail(.malformedRequest, "extensions are not supported")
    case .channelBinding: fail(.notAuthorized, "channel binding is not supported or does not match")
    case .downgraded: fail(.notAuthorized, "channel binding was offered: somebody changed the offer on its way")
    case .nonce: fail(.notAuthorized)
    case .proof: fail(.notAuthorized, fault: username.map { .password(username: $0) } ?? .mechanism)
    }
  }

  // MARK: Pieces

  /// Returns the decoded character data of `<auth/>` or `<response/>`; `nil` if it is not proper Base64 (6.5.5).
  private func decode(_ element: Element) -> [UInt8]? {
    element.withText { text in
      if profile == .core, text.spells("=") { return [] }
      return Base64.decode(text)
    }
  }

  /// Returns the prepared localpart of a simple user name (6.3.7); `nil` if the name is invalid.
  private func username(_ name: String) -> String? {
    guard name.utf8.count <= XMPPLimits.saslFieldBytesMax else { return nil }
    do { return try BareJID(local: name, domain: domain).local } catch { return nil }
  }

  private func address(of username: String) -> BareJID? {
    do { return try BareJID(local: username, domain: domain) } catch { return nil }
  }

  private static func prepared(_ password: String) -> String? {
    do { return try Precis.opaqueString(password) } catch { return nil }
  }
}

/// The message of PLAIN: `[authzid] NUL authcid NUL passwd` (RFC 4616 2).
struct PlainMessage: Sendable, Equatable {
  let authzid: String?
  let authcid: String
  let password: String

  init?(_ message: [UInt8]) {
    let parts = message.split(separator: 0, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[1].isEmpty, !parts[2].isEmpty,
      parts.allSatisfy({ $0.count <= XMPPLimits.saslFieldBytesMax }),
      let authzid = String(validating: parts[0], as: UTF8.self),
      let authcid = String(validating: parts[1], as: UTF8.self),
      let password = String(validating: parts[2], as: UTF8.self)
    else { return nil }
    self.authzid = authzid.isEmpty ? nil : authzid
    self.authcid = authcid
    self.password = password
  }
}
