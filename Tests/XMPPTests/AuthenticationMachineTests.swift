import Addresses
import Basics
import Testing
import XMLStream
import XMPPFixtures

@testable import XMPP

@Suite struct AuthenticationMachineTests {
  static let decoy = SCRAMDecoy(secret: [UInt8](repeating: 9, count: 32))
  static let policy = AuthenticationPolicy(decoy: decoy)

  static func machine(_ policy: AuthenticationPolicy = policy, isSecured: Bool = true) -> AuthenticationMachine {
    AuthenticationMachine(policy: policy, domain: "im.example.com", isSecured: isSecured)
  }

  static func auth(_ mechanism: String?, _ message: String? = nil) -> Element {
    Element(.auth, ["mechanism": mechanism], text: message.map { Base64.string(bytes($0)) })
  }

  static func response(_ message: String) -> Element { Element(.response, text: Base64.string(bytes(message))) }
  /// Returns the hash of the offer that a challenge has for a client of the core's profile (XEP-0474).
  static func offered(_ mechanism: SCRAMMechanism) -> String {
    let names = ["SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN"]
    return Base64.string(SASLOffer(mechanisms: names, channelBindings: []).digest(mechanism))
  }
  static let juliet = try? BareJID("juliet@im.example.com")
  static let pencil = SCRAMTests.exchanges[1]

  private func failure(
    _ condition: SASLFailure.Condition, _ text: String? = nil, _ fault: AuthenticationFault = .mechanism
  ) -> AuthenticationOutput {
    .failure(SASLFailure(condition, text), fault)
  }

  // MARK: ANONYMOUS

  /// RFC 4505 2, XEP-0175 3: with trace data or, as clients should, without.
  @Test(arguments: [nil, "", "sirhc", String(repeating: "\u{e9}", count: 255)]) func anonymous(trace: String?) throws {
    for profile in [SASLProfile.core, .extensible] {
      var machine = AuthenticationMachine(
        policy: Self.policy, domain: "im.example.com", isSecured: true, takesGuests: true)
      let text = trace.map { $0.isEmpty && profile == .core ? "=" : Base64.string(bytes($0)) }
      let request =
        profile == .core
        ? Element(.auth, ["mechanism": "ANONYMOUS"], text: text)
        : try element(
          "<authenticate xmlns='urn:xmpp:sasl:2' mechanism='ANONYMOUS'>"
            + (text.map { "<initial-response>\($0)</initial-response>" } ?? "") + "</authenticate>")
      #expect(machine.received(request) == .needGuest(attempt: 1))
      #expect(machine.answered(.guest(.made(username: "juliet")), attempt: 2) == .nothing)
      #expect(
        machine.answered(.guest(.made(username: "juliet")), attempt: 1) == .success(try #require(Self.juliet), nil))
    }
  }

  @Test func anonymousIsRefused() {
    // ANONYMOUS is no mechanism of a server without guests.
    var machine = Self.machine()
    #expect(machine.received(Self.auth("ANONYMOUS")) == failure(.invalidMechanism))
    machine = AuthenticationMachine(policy: Self.policy, domain: "im.example.com", isSecured: true, takesGuests: true)
    #expect(
      machine.received(Self.auth("ANONYMOUS", String(repeating: "x", count: 256)))
        == failure(.malformedRequest, "no trace information of ANONYMOUS"))
    #expect(machine.received(Self.auth("ANONYMOUS")) == .needGuest(attempt: 2))
    #expect(machine.answered(.guest(.refused("full")), attempt: 2) == failure(.temporaryAuthFailure, "full", .server))
    // An answer behind an abort makes nobody.
    #expect(machine.received(Self.auth("ANONYMOUS")) == .needGuest(attempt: 3))
    #expect(machine.received(Element(Name("abort", NS.sasl))) == failure(.aborted))
    #expect(machine.answered(.guest(.made(username: "juliet")), attempt: 3) == .nothing)
  }

  /// Offered to streams of domains that take guests, and there beside all else.
  @Test func anonymousIsOfferedToGuestsAlone() {
    let features = StreamFeature.mechanisms(Self.policy)
    func offer(_ conditions: StreamConditions) -> [String] {
      features.offered(in: conditions).flatMap { $0.element.children.map(\.text) }
    }
    #expect(offer(.secured) == ["SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN"])
    #expect(
      offer([.secured, .bindable, .guests])
        == ["SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN", "ANONYMOUS"])
    #expect(offer([.guests]) == [])
  }

  // MARK: PLAIN

  /// The example of RFC 6120 6.4.2: juliet, r0m30myr0m30.
  @Test func plain() throws {
    var machine = Self.machine()
    let auth = try element(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>AGp1bGlldAByMG0zMG15cjBtMzA=</auth>")
    #expect(
      machine.received(auth) == .verifyPassword(username: "juliet", password: Password("r0m30myr0m30"), attempt: 1))
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .success(try #require(Self.juliet), nil))
    #expect(machine.received(auth) == .close(StreamError(.notAuthorized, "the stream is authenticated")))
  }

  /// RFC 6120 6.4.2: without an initial response.
  @Test func plainWithoutInitialResponse() throws {
    var machine = Self.machine()
    #expect(machine.received(Self.auth("PLAIN")) == .challenge([]))
    #expect(
      machine.received(Self.response("\0Juliet\0x"))
        == .verifyPassword(username: "juliet", password: Password("x"), attempt: 1))
    #expect(
      machine.answered(.password(.wrong), attempt: 1) == failure(.notAuthorized, nil, .password(username: "juliet")))
  }

  @Test(arguments: [
    "", "juliet", "\0juliet", "\0\0password", "\0juliet\0", "a\0b\0c\0d", "\0juliet\0pass\0word",
    "\0" + String(repeating: "j", count: 1024) + "\0x", "\0juliet\0" + String(repeating: "x", count: 1024),
  ])
  func plainMalformed(message: String) {
    var machine = Self.machine()
    let auth = message.isEmpty ? Element(.auth, ["mechanism": "PLAIN"], text: "=") : Self.auth("PLAIN", message)
    #expect(machine.received(auth) == failure(.malformedRequest, "no message of PLAIN"))
  }

  @Test func plainTooLong() {
    var machine = Self.machine()
    #expect(
      machine.received(Self.auth("PLAIN", String(repeating: "x", count: 4097)))
        == failure(.malformedRequest, "the message is too long"))
  }

  @Test func plainOfBadUTF8() {
    var machine = Self.machine()
    let auth = Element(.auth, ["mechanism": "PLAIN"], text: Base64.string([0, 0x6A, 0xFF, 0, 0x78]))
    #expect(machine.received(auth) == failure(.malformedRequest, "no message of PLAIN"))
  }

  /// Names that no localpart can be (RFC 7622 3.3) have no account.
  @Test(arguments: ["a b", "a@b", "a/b", "\u{7}"]) func plainOfImpossibleNames(name: String) {
    var machine = Self.machine()
    #expect(machine.received(Self.auth("PLAIN", "\0\(name)\0x")) == failure(.notAuthorized))
  }

  /// RFC 8265 4.2: OpaqueString composes and maps spaces, and keeps case.
  @Test func passwordsArePrepared() {
    var machine = Self.machine()
    #expect(
      machine.received(Self.auth("PLAIN", "\0juliet\0E\u{301}\u{A0}x"))
        == .verifyPassword(username: "juliet", password: Password("\u{C9} x"), attempt: 1))
    #expect(String(describing: Password("secret")) == "Password")
    #expect(String(reflecting: Password("secret")) == "Password")
  }

  /// RFC 6120 6.3.8, 6.5.6.
  @Test(arguments: [
    ("juliet@im.example.com", true), ("JULIET@IM.EXAMPLE.COM", true), ("romeo@im.example.com", false),
    ("juliet@example.net", false), ("juliet", false), ("juliet@im.example.com/balcony", false), ("@", false),
  ])
  func authorizationIdentity(authzid: String, isOwn: Bool) throws {
    var machine = Self.machine()
    #expect(
      machine.received(Self.auth("PLAIN", "\(authzid)\0juliet\0x"))
        == .verifyPassword(username: "juliet", password: Password("x"), attempt: 1))
    let output = machine.answered(.password(.right(.active)), attempt: 1)
    #expect(
      output
        == (isOwn
          ? .success(try #require(Self.juliet), nil) : failure(.invalidAuthzid, nil, .account(username: "juliet"))))
  }

  @Test func anInactiveAccountAndAnUnavailableStoreFail() {
    var machine = Self.machine()
    _ = machine.received(Self.auth("PLAIN", "\0juliet\0x"))
    #expect(
      machine.answered(.password(.right(.disabled)), attempt: 1)
        == failure(.accountDisabled, nil, .account(username: "juliet")))
    _ = machine.received(Self.auth("PLAIN", "\0juliet\0x"))
    #expect(
      machine.answered(.password(.right(.expired)), attempt: 2)
        == failure(.credentialsExpired, nil, .account(username: "juliet")))
    _ = machine.received(Self.auth("PLAIN", "\0juliet\0x"))
    #expect(machine.answered(.password(.unavailable), attempt: 3) == failure(.temporaryAuthFailure, nil, .server))
  }

  // MARK: SCRAM

  @Test(arguments: SCRAMMechanism.allCases) func scram(mechanism: SCRAMMechanism) throws {
    let exchange = try #require(SCRAMTests.exchanges.first { $0.mechanism == mechanism })
    var machine = Self.machine()
    var client = SCRAMClient(
      mechanism: mechanism, username: "Juliet", password: "pencil", nonce: "client", authzid: "juliet@im.example.com")
    let name = String(describing: mechanism.name)
    #expect(
      machine.received(Self.auth(name, text(client.first)))
        == .needCredentials(username: "juliet", mechanism: mechanism, attempt: 1))
    let challenge = machine.answered(.credentials(.found(exchange.credentials, .active), nonce: "server"), attempt: 1)
    #expect(
      challenge
        == .challenge(
          bytes("r=clientserver,s=\(exchange.salt),i=4096,h=\(Self.offered(mechanism))")))
    guard case .challenge(let message) = challenge else { return }
    let final = try client.respond(to: message)
    guard case .success(let user, let data?) = machine.received(Self.response(text(final))) else {
      Issue.record("no success")
      return
    }
    #expect(user == Self.juliet)
    #expect(throws: Never.self) { try client.verify(data) }
  }

  private func proof(
    _ machine: inout AuthenticationMachine, password: String, answer: CredentialsAnswer, authzid: String? = nil
  ) throws -> AuthenticationOutput {
    var client = SCRAMClient(
      mechanism: .sha256, username: "juliet", password: password, nonce: "client", authzid: authzid)
    guard case .needCredentials(_, _, let attempt) = machine.received(Self.auth("SCRAM-SHA-256", text(client.first))),
      case .challenge(let message) = machine.answered(.credentials(answer, nonce: "server"), attempt: attempt)
    else {
      Issue.record("no challenge")
      return .nothing
    }
    return machine.received(Self.response(text(try client.respond(to: message))))
  }

  @Test func scramOutcomes() throws {
    var machine = Self.machine()
    let keys = Self.pencil.credentials
    #expect(
      try proof(&machine, password: "pen", answer: .found(keys, .active))
        == failure(.notAuthorized, nil, .password(username: "juliet")))
    #expect(
      try proof(&machine, password: "pen", answer: .found(keys, .disabled))
        == failure(.notAuthorized, nil, .password(username: "juliet")))
    #expect(
      try proof(&machine, password: "pencil", answer: .found(keys, .disabled))
        == failure(.accountDisabled, nil, .account(username: "juliet")))
    #expect(
      try proof(&machine, password: "pencil", answer: .found(keys, .active), authzid: "romeo@im.example.com")
        == failure(.invalidAuthzid, nil, .account(username: "juliet")))
    #expect(
      try proof(&machine, password: "pencil", answer: .unknown)
        == failure(.notAuthorized, nil, .password(username: "juliet")))
    #expect(try proof(&machine, password: "pencil", answer: .unusable) == failure(.notAuthorized))
  }

  /// RFC 6120 6.5.10: unknown users, and users without keys for a mechanism, are asked like others, always with one
  /// salt.
  @Test(arguments: [CredentialsAnswer.unknown, .unusable]) func unknownUsersAreAskedLikeOthers(
    answer: CredentialsAnswer
  ) {
    var machine = Self.machine()
    let salt = Base64.string(Self.decoy.credentials(for: "nobody", mechanism: .sha1).salt)
    for attempt in 1...2 {
      _ = machine.received(Self.auth("SCRAM-SHA-1", "n,,n=nobody,r=abc"))
      #expect(
        machine.answered(.credentials(answer, nonce: "X"), attempt: attempt)
          == .challenge(bytes("r=abcX,s=\(salt),i=4096,h=\(Self.offered(.sha1))")))
    }
  }

  @Test func scramTrouble() {
    var machine = Self.machine()
    _ = machine.received(Self.auth("SCRAM-SHA-1", "n,,n=juliet,r=abc"))
    #expect(
      machine.answered(.credentials(.unavailable, nonce: "X"), attempt: 1)
        == failure(.temporaryAuthFailure, nil, .server))
    #expect(
      machine.received(Self.auth("SCRAM-SHA-1", "p=tls-unique,,n=juliet,r=abc"))
        == failure(.notAuthorized, "channel binding is not supported or does not match"))
    #expect(
      machine.received(Self.auth("SCRAM-SHA-1", "n,,m=1,n=juliet,r=abc"))
        == failure(.malformedRequest, "extensions are not supported"))
    #expect(machine.received(Self.auth("SCRAM-SHA-1", "rubbish")) == failure(.malformedRequest))
    #expect(machine.received(Self.auth("SCRAM-SHA-1", "n,,n=a b,r=abc")) == failure(.notAuthorized))
  }

  // MARK: The dialogue

  /// RFC 6120 6.5.7, 6.5.4, 6.5.5, 6.5.8, 6.5.1.
  @Test func failures() {
    var machine = Self.machine(AuthenticationPolicy(attemptsMax: 100, decoy: Self.decoy))
    #expect(machine.received(Self.auth(nil)) == failure(.invalidMechanism))
    #expect(machine.received(Self.auth("CRAM-MD5")) == failure(.invalidMechanism))
    #expect(machine.received(Self.auth("SCRAM-SHA-256-PLUS")) == failure(.invalidMechanism))
    #expect(machine.received(Self.auth("plain")) == failure(.invalidMechanism))
    #expect(machine.received(Element(.auth, ["mechanism": "PLAIN"], text: "A=GVrdA")) == failure(.incorrectEncoding))
    #expect(machine.received(Element(.auth, ["mechanism": "PLAIN"], text: "AGp1\n")) == failure(.incorrectEncoding))
    #expect(machine.received(Self.response("x")) == failure(.malformedRequest, "a response nobody asked for"))
    #expect(machine.received(Element(.abort)) == failure(.aborted))
    #expect(machine.received(Element(.success)) == failure(.malformedRequest, "no element of SASL a client sends"))
    #expect(machine.received(Self.auth("PLAIN")) == .challenge([]))
    #expect(machine.received(Element(.response, text: "!")) == failure(.incorrectEncoding))
    #expect(machine.received(Self.auth("PLAIN")) == .challenge([]))
    #expect(machine.received(Element(.abort)) == failure(.aborted))
    #expect(machine.received(Self.response("\0juliet\0x")) == failure(.malformedRequest, "a response nobody asked for"))
  }

  /// RFC 6120 6.4.2: a new attempt discards the old one; what was asked for it is not heard any more.
  @Test func lateAnswersAreDropped() {
    var machine = Self.machine()
    _ = machine.received(Self.auth("SCRAM-SHA-256", "n,,n=juliet,r=abc"))
    #expect(
      machine.received(Self.auth("PLAIN", "\0romeo\0x"))
        == .verifyPassword(username: "romeo", password: Password("x"), attempt: 2))
    #expect(
      machine.answered(.credentials(.found(Self.pencil.credentials, .active), nonce: "X"), attempt: 1) == .nothing)
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .nothing)
    #expect(machine.received(Element(.abort)) == failure(.aborted))
    #expect(machine.answered(.password(.right(.active)), attempt: 2) == .nothing)
  }

  /// RFC 6120 6.4.5.
  @Test func attemptsAreBounded() {
    var machine = Self.machine()
    for _ in 1...XMPPLimits.authenticationAttemptsMax {
      #expect(machine.received(Self.auth("CRAM-MD5")) == failure(.invalidMechanism))
    }
    #expect(
      machine.received(Self.auth("PLAIN", "\0juliet\0x"))
        == .close(StreamError(.policyViolation, "too many authentication attempts")))
  }

  @Test func offers() {
    #expect(
      Self.policy.offer(.core, in: [.secured, .bindable]).map { String(describing: $0.name) } == [
        "SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN",
      ])
    #expect(Self.policy.offer(.core, in: []) == [])
    let open = AuthenticationPolicy(allowsUnsecured: true, decoy: Self.decoy)
    #expect(open.offer(.extensible, in: []) == [.scram(.sha512), .scram(.sha256), .scram(.sha1)])
    let loopback = AuthenticationPolicy(allowsUnsecured: true, allowsUnsecuredPlain: true, decoy: Self.decoy)
    let own: [SASLMechanism] = [.oauthBearer, .anonymous]
    #expect(loopback.offer(.core, in: []) == SASLMechanism.all.filter { !$0.isBound && !own.contains($0) })
    var machine = Self.machine(isSecured: false)
    #expect(machine.received(Self.auth("SCRAM-SHA-1", "n,,n=juliet,r=abc")) == failure(.encryptionRequired))
    machine = Self.machine(open, isSecured: false)
    #expect(machine.received(Self.auth("PLAIN", "\0juliet\0x")) == failure(.encryptionRequired))
    #expect(
      machine.received(Self.auth("SCRAM-SHA-1", "n,,n=juliet,r=abc"))
        == .needCredentials(username: "juliet", mechanism: .sha1, attempt: 2))
    machine = Self.machine(loopback, isSecured: false)
    #expect(
      machine.received(Self.auth("PLAIN", "\0juliet\0x"))
        == .verifyPassword(username: "juliet", password: Password("x"), attempt: 1))
  }
}
