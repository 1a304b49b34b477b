import Basics
import Crypto
import Testing
import XMLStream

@testable import XMPP

/// XEP-0484 with HT, RFC 7628: logins by tokens.
@Suite struct TokenTests {
  private typealias Base = AuthenticationMachineTests
  private static let agent = "<user-agent id='d4565fa7-4d72-4749-b3d3-740edbf87770'/>"

  private static func request(
    _ message: [UInt8]?, mechanism: String = "HT-SHA-256-NONE", fast: String = "<fast xmlns='urn:xmpp:fast:0'/>",
    agent: String = agent
  ) throws -> Element {
    let response = message.map { "<initial-response>\(Base64.string($0))</initial-response>" } ?? ""
    return try element(
      "<authenticate xmlns='urn:xmpp:sasl:2' mechanism='\(mechanism)'>\(response)\(agent)\(fast)</authenticate>")
  }

  private static func machine(_ bindings: [ChannelBinding] = [], isSecured: Bool = true) -> AuthenticationMachine {
    AuthenticationMachine(
      policy: Base.policy, domain: "im.example.com", isSecured: isSecured, channelBindings: bindings)
  }

  /// The draft's 3.1 and 3.3, with the library's HMAC written out.
  @Test func bothSidesProveTheToken() throws {
    var machine = Self.machine()
    let key = SymmetricKey(data: bytes("secret"))
    let hash = Array(HMAC<SHA256>.authenticationCode(for: bytes("Initiator"), using: key))
    let output = machine.received(
      try Self.request(bytes("juliet\0") + hash, fast: "<fast xmlns='urn:xmpp:fast:0' count='7' invalidate='1'/>"))
    guard case .verifyToken(let proof, attempt: 1) = output else {
      Issue.record("\(output)")
      return
    }
    #expect(proof.username == "juliet")
    #expect(proof.agent == "d4565fa7-4d72-4749-b3d3-740edbf87770")
    #expect(proof.use == TokenUse(count: 7, invalidates: true))
    #expect(proof.fits("secret"))
    #expect(!proof.fits("Secret"))
    let answer = Array(HMAC<SHA256>.authenticationCode(for: bytes("Responder"), using: key))
    #expect(proof.answer("secret") == answer)
    #expect(
      machine.answered(.token(.right(answer, .active)), attempt: 1) == .success(try #require(Base.juliet), answer))
  }

  /// The channel binding data is in both messages, and only if the mechanism says so.
  @Test func aBoundTokenIsGoodOnItsConnectionOnly() throws {
    let here = ChannelBinding.tlsExporter([1, 2, 3])
    for (bytes, fits) in [([1, 2, 3], true), ([1, 2, 4], false), ([], false)] as [([UInt8], Bool)] {
      var machine = Self.machine([here])
      let message = TokenProof.message(username: "juliet", token: "t", binding: bytes)
      guard case .verifyToken(let proof, _) = machine.received(try Self.request(message, mechanism: "HT-SHA-256-EXPR"))
      else {
        Issue.record("not asked for")
        return
      }
      #expect(proof.fits("t") == fits)
    }
    var without = Self.machine()
    let message = TokenProof.message(username: "juliet", token: "t", binding: [1, 2, 3])
    #expect(
      without.received(try Self.request(message, mechanism: "HT-SHA-256-EXPR"))
        == .failure(SASLFailure(.invalidMechanism), .mechanism))
  }

  @Test func invalidUsesOfAToken() throws {
    let good = TokenProof.message(username: "juliet", token: "t")
    let malformed: [Element] = [
      try Self.request(good, fast: ""),
      try Self.request(good, agent: ""),
      try Self.request(good, agent: "<user-agent><software>S</software></user-agent>"),
      try Self.request(nil),
      try Self.request(bytes("juliet") + good.suffix(32)),
      try Self.request(Array(good.dropLast())),
      try Self.request(Array(good.dropFirst(6))),
      try Self.request(good, fast: "<fast xmlns='urn:xmpp:fast:0' count='one'/>"),
      try Self.request(good, fast: "<fast xmlns='urn:xmpp:fast:0' count='-1'/>"),
      try Self.request(good, fast: "<fast xmlns='urn:xmpp:fast:0' invalidate='perhaps'/>"),
    ]
    for request in malformed {
      var machine = Self.machine()
      guard case .failure(let failure, .mechanism) = machine.received(request) else {
        Issue.record("taken: \(request)")
        continue
      }
      #expect(failure.condition == .malformedRequest)
    }
    // The profile of RFC 6120 has no such mechanism.
    var machine = Self.machine()
    let auth = try element(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='HT-SHA-256-NONE'>\(Base64.string(good))</auth>")
    #expect(machine.received(auth) == .failure(SASLFailure(.invalidMechanism), .mechanism))
    // XEP-0484 6.
    var open = Self.machine(isSecured: false)
    #expect(open.received(try Self.request(good)) == .failure(SASLFailure(.encryptionRequired), .mechanism))
  }

  @Test(arguments: [
    (TokenAnswer.wrong, SASLFailure.Condition.notAuthorized, AuthenticationFault.mechanism),
    (.expired, .credentialsExpired, .mechanism),
    (.right([], .disabled), .accountDisabled, .account(username: "juliet")),
    (.unavailable, .temporaryAuthFailure, .server),
  ])
  func refusals(answer: TokenAnswer, condition: SASLFailure.Condition, fault: AuthenticationFault) throws {
    var machine = Self.machine()
    _ = machine.received(try Self.request(TokenProof.message(username: "juliet", token: "t")))
    #expect(machine.isExclusive)
    #expect(machine.answered(.token(answer), attempt: 2) == .nothing)
    #expect(machine.answered(.token(answer), attempt: 1) == .failure(SASLFailure(condition), fault))
    #expect(!machine.isExclusive)
  }

  /// XEP-0484 3.1: each stream is offered what it can use.
  @Test func theOffer() {
    let policy = Base.policy
    let offers = StreamFeature.offeringTokens(StreamFeature.authentication(policy, inline: []), policy)
    func mechanisms(_ conditions: StreamConditions) -> [String] {
      let authentication = offers.offered(in: conditions).map(\.element)
      #expect(authentication.count == (conditions.contains(.secured) ? 1 : 0))
      return authentication.flatMap { element in
        element.first(Name("inline", NS.sasl2))?.first(Name("fast", NS.fast))?.children.map(\.text) ?? []
      }
    }
    #expect(mechanisms([]) == [])
    #expect(mechanisms([.secured]) == ["HT-SHA-256-NONE"])
    let (exporting, certified): (StreamConditions, StreamConditions) = (
      [.secured, .bindable, .exporting], [.secured, .bindable, .certified]
    )
    #expect(mechanisms(exporting) == ["HT-SHA-256-EXPR", "HT-SHA-256-NONE"])
    #expect(mechanisms(certified) == ["HT-SHA-256-ENDP", "HT-SHA-256-NONE"])
    #expect(mechanisms(exporting.union(certified)) == ["HT-SHA-256-EXPR", "HT-SHA-256-ENDP", "HT-SHA-256-NONE"])
    #expect(policy.token(for: "HT-SHA-256-EXPR", in: certified) == nil)
    #expect(policy.token(for: "HT-SHA-256-ENDP", in: certified) == "HT-SHA-256-ENDP")
    #expect(policy.token(for: "HT-SHA-256-ENDP", in: exporting) == nil)
    #expect(policy.token(for: "HT-SHA-256-NONE", in: .secured) == "HT-SHA-256-NONE")
    #expect(policy.token(for: "PLAIN", in: exporting.union(certified)) == nil)
  }

  // MARK: OAUTHBEARER

  private static func bearer(_ message: String) throws -> Element {
    try element(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='OAUTHBEARER'>\(Base64.string(bytes(message)))</auth>")
  }

  /// RFC 7628 4.1, to another host.
  @Test func anAccessToken() throws {
    var machine = Self.machine()
    let message =
      "n,a=juliet@im.example.com,\u{1}host=im.example.com\u{1}port=5222\u{1}auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\u{1}\u{1}"
    #expect(
      machine.received(try Self.bearer(message))
        == .verifyBearer(Password("vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="), attempt: 1))
    #expect(
      machine.answered(.bearer(.right(username: "juliet", .active)), attempt: 1)
        == .success(try #require(Base.juliet), nil))
  }

  @Test func aTokenOfSomebodyElse() throws {
    var machine = Self.machine()
    _ = machine.received(try Self.bearer("n,a=juliet@im.example.com,\u{1}auth=bearer t\u{1}\u{1}"))
    #expect(
      machine.answered(.bearer(.right(username: "romeo", .active)), attempt: 1)
        == .failure(SASLFailure(.invalidAuthzid), .account(username: "romeo")))
  }

  /// RFC 7628 4.3, 3.2.3: why it failed is a challenge, and the failure follows the client's word.
  @Test(arguments: [
    "n,a=juliet@im.example.com,\u{1}auth=\u{1}\u{1}", "n,,\u{1}auth=Basic x\u{1}\u{1}",
    "n,,\u{1}auth=Bearer t\u{1}\u{1}",
  ])
  func aFailedExchange(message: String) throws {
    var machine = Self.machine()
    var output = machine.received(try Self.bearer(message))
    if output == .verifyBearer(Password("t"), attempt: 1) { output = machine.answered(.bearer(.wrong), attempt: 1) }
    #expect(output == .challenge(bytes(#"{"status":"invalid_token"}"#)))
    #expect(machine.received(Base.response("\u{1}")) == .failure(SASLFailure(.notAuthorized), .mechanism))
    #expect(
      machine.received(Base.response("\u{1}"))
        == .failure(SASLFailure(.malformedRequest, "a response nobody asked for"), .mechanism))
  }

  @Test func theClientMayAbortInstead() throws {
    var machine = Self.machine()
    _ = machine.received(try Self.bearer("n,,\u{1}auth=\u{1}\u{1}"))
    #expect(
      machine.received(try element("<abort xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>"))
        == .failure(SASLFailure(.aborted), .mechanism))
  }

  @Test(arguments: [
    "\u{1}", "", "n,,\u{1}\u{1}", "n,,\u{1}auth=Bearer t\u{1}", "n,,auth=Bearer t\u{1}\u{1}",
    "p=tls-exporter,,\u{1}auth=Bearer t\u{1}\u{1}",
    "n,juliet,\u{1}auth=Bearer t\u{1}\u{1}", "n,,\u{1}=x\u{1}auth=Bearer t\u{1}\u{1}", "n,,\u{1}auth\u{1}\u{1}",
  ])
  func invalidMessages(message: String) {
    #expect(BearerMessage(bytes(message)) == nil)
  }

  @Test func unknownPairsAreIgnored() {
    let message = BearerMessage(bytes("y,,\u{1}x=1\u{1}auth=Bearer  t\u{1}qs=a=b\u{1}\u{1}"))
    #expect(message?.token == "t")
    #expect(message?.authzid == nil)
  }
}
