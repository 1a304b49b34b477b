import Basics
import Crypto
import JSON
import Testing

@testable import ACME

/// One attempt, told as what the authority answers and what is done next.
@Suite struct IssuanceTests {
  private static let root = "https://authority.example"
  private static let directory =
    #"{"newNonce":"\#(root)/nonce","newAccount":"\#(root)/account","newOrder":"\#(root)/order"}"#

  private static func plan(_ names: [String], held: Set<String> = [], orders: Int = 3) -> IssuancePlan {
    IssuancePlan(
      directory: "\(root)/dir", contacts: ["admin@example.org"], names: names, held: held, challenge: .http,
      thumbprint: "print", ordersMax: orders)
  }

  private static func answer(
    _ body: String, status: Int = 200, nonce: String? = "n", location: String? = nil, retryAfter: Int? = nil
  ) -> Answer {
    Answer(status: status, nonce: nonce, location: location, retryAfter: retryAfter, body: Array(body.utf8))
  }

  private static func order(_ status: String, _ names: [String], rest: String = "") -> String {
    let authorizations = names.map { "\"\(root)/authorization/\($0)\"" }.joined(separator: ",")
    return #"{"status":"\#(status)","authorizations":[\#(authorizations)],"finalize":"\#(root)/finalize"\#(rest)}"#
  }

  private static func authorization(_ status: String, _ name: String, error: String = "") -> String {
    """
    {"status":"\(status)","identifier":{"type":"dns","value":"\(name)"},"challenges":[
      {"type":"dns-01","url":"\(root)/dns","token":"t"},
      {"type":"http-01","url":"\(root)/challenge/\(name)","token":"token-\(name.prefix(1))"\(error)}]}
    """
  }

  private static func problem(_ type: String, _ detail: String, rest: String = "") -> String {
    #"{"type":"urn:ietf:params:acme:error:\#(type)","detail":"\#(detail)"\#(rest)}"#
  }

  private static func fetch(_ path: String, nonce: String = "n") -> Issuance.Command {
    .post(
      SignedRequest(url: root + path, account: "\(root)/account/1", nonce: nonce, payload: .none, isOrder: false))
  }

  private static func newOrder(_ names: [String], isOrder: Bool = true) -> Issuance.Command {
    let identifiers = names.map { JSONValue.object([.init("type", .string("dns")), .init("value", .string($0))]) }
    return .post(
      SignedRequest(
        url: "\(root)/order", account: "\(root)/account/1", nonce: "n",
        payload: .json(.object([.init("identifiers", .array(identifiers))])), isOrder: isOrder))
  }

  private static func tell(_ name: String) -> Issuance.Command {
    .post(
      SignedRequest(
        url: "\(root)/challenge/\(name)", account: "\(root)/account/1", nonce: "n", payload: .json(.object([])),
        isOrder: false))
  }

  private static func finalize(_ names: [String]) -> Issuance.Command {
    .post(
      SignedRequest(
        url: "\(root)/finalize", account: "\(root)/account/1", nonce: "n", payload: .request(names: names),
        isOrder: false))
  }

  /// Returns an attempt whose order is the next to be answered.
  private static func ordering(_ plan: IssuancePlan) -> Issuance {
    var issuance = Issuance(plan)
    #expect(issuance.begin() == .get("\(root)/dir"))
    #expect(issuance.received(answer(directory, nonce: nil)) == .head("\(root)/nonce"))
    let account = JSONValue.object([
      .init("termsOfServiceAgreed", .bool(true)),
      .init("contact", .array([.string("mailto:admin@example.org")])),
    ])
    #expect(
      issuance.received(answer(""))
        == .post(
          SignedRequest(url: "\(root)/account", account: nil, nonce: "n", payload: .json(account), isOrder: false)))
    #expect(
      issuance.received(answer(#"{"status":"valid"}"#, status: 201, location: "\(root)/account/1"))
        == newOrder(plan.names))
    return issuance
  }

  /// RFC 8555 7.3.4.
  @Test func anAccountIsBoundToOneWithTheOperator() throws {
    let key = AccountKey()
    var plan = Self.plan(["a.example"])
    var attempt = Issuance(plan)
    _ = attempt.begin()
    let wants = Self.directory.dropLast() + #","meta":{"externalAccountRequired":true}}"#
    guard case .finish(.failed(let failure)) = attempt.received(Self.answer(String(wants))) else {
      Issue.record("it went on without a binding")
      return
    }
    #expect(failure.text.contains("tls.acme.eab_key_id"))
    #expect(ExternalAccount(keyID: "kid-1", key: "no base64!", binding: key) == nil)
    plan.external = ExternalAccount(keyID: "kid-1", key: "AAECAw==", binding: key)
    attempt = Issuance(plan)
    _ = attempt.begin()
    #expect(attempt.received(Self.answer(String(wants), nonce: nil)) == .head("\(Self.root)/nonce"))
    guard case .post(let request) = attempt.received(Self.answer("")), case .json(let account) = request.payload else {
      Issue.record("no account was asked for")
      return
    }
    let binding = try #require(account["externalAccountBinding"])
    let parts = try ["protected", "payload", "signature"].map { try #require(binding[$0]?.string) }
    let bytes = try parts.map { try #require(Base64URL.decode($0.utf8)) }
    let header = String(decoding: bytes[0], as: UTF8.self)
    #expect(header == #"{"alg":"HS256","kid":"kid-1","url":"https://authority.example/account"}"#)
    #expect(String(decoding: bytes[1], as: UTF8.self) == key.webKey.text)
    let (signed, signature) = ("\(parts[0]).\(parts[1])", bytes[2])
    #expect(
      HMAC<SHA256>.isValidAuthenticationCode(
        signature, authenticating: Array(signed.utf8), using: SymmetricKey(data: [0, 1, 2, 3])))
  }

  /// RFC 9773 5.
  @Test func anOrderNamesWhatItReplaces() throws {
    var plan = Self.plan(["a.example"])
    plan.replaces = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"
    func ordered(_ directory: String) -> (Issuance, JSONValue?) {
      var attempt = Issuance(plan)
      _ = attempt.begin()
      _ = attempt.received(Self.answer(directory, nonce: nil))
      _ = attempt.received(Self.answer(""))
      let command = attempt.received(Self.answer("{}", status: 201, location: "\(Self.root)/account/1"))
      guard case .post(let request) = command, case .json(let order) = request.payload else { return (attempt, nil) }
      return (attempt, order)
    }
    let plain = try #require(ordered(Self.directory).1)
    #expect(plain["replaces"] == nil)
    let tells = String(Self.directory.dropLast()) + #","renewalInfo":"https://authority.example/info"}"#
    var (attempt, order) = ordered(tells)
    #expect(order?["replaces"]?.string == plan.replaces)
    let again = attempt.received(Self.answer(Self.problem("alreadyReplaced", "by another"), status: 409))
    #expect(again == Self.newOrder(["a.example"]))
  }

  @Test func aCertificateIsOrderedProvedAndFetched() {
    var attempt = Self.ordering(Self.plan(["a.example", "b.example"]))
    let placed = Self.order("pending", ["a.example", "b.example"])
    #expect(
      attempt.received(Self.answer(placed, status: 201, location: "\(Self.root)/order/1"))
        == Self.fetch("/authorization/a.example"))
    #expect(
      attempt.received(Self.answer(Self.authorization("pending", "a.example")))
        == Self.fetch("/authorization/b.example"))
    // One that was proved earlier needs nothing.
    #expect(
      attempt.received(Self.answer(Self.authorization("valid", "b.example")))
        == .publish([
          ChallengeResponse(
            name: "a.example", .init(kind: .http, url: "", token: "token-a"), thumbprint: "print")
        ]))
    #expect(attempt.proceed() == Self.tell("a.example"))
    #expect(attempt.received(Self.answer("{}")) == .wait(seconds: 1))
    #expect(attempt.proceed() == Self.fetch("/authorization/a.example"))
    let undecided = Self.answer(Self.authorization("pending", "a.example"), retryAfter: 7)
    #expect(attempt.received(undecided) == .wait(seconds: 7))
    #expect(attempt.proceed() == Self.fetch("/authorization/a.example"))
    #expect(
      attempt.received(Self.answer(Self.authorization("valid", "a.example")))
        == Self.finalize(["a.example", "b.example"]))
    #expect(attempt.received(Self.answer(Self.order("processing", []), retryAfter: 3)) == .wait(seconds: 3))
    #expect(attempt.proceed() == Self.fetch("/order/1"))
    let issued = Self.order("valid", [], rest: #","certificate":"\#(Self.root)/certificate""#)
    #expect(attempt.received(Self.answer(issued)) == Self.fetch("/certificate"))
    let chain = "-----BEGIN CERTIFICATE-----\n"
    #expect(
      attempt.received(Self.answer(chain))
        == .finish(.issued(chain: chain, names: ["a.example", "b.example"], missing: [])))
  }

  @Test func aRefusedNonceIsReplacedAndTheOrderCountsOnce() {
    var attempt = Self.ordering(Self.plan(["a.example"]))
    let refused = Self.problem("badNonce", "used")
    #expect(
      attempt.received(Self.answer(refused, status: 400)) == Self.newOrder(["a.example"], isOrder: false))
    // Without a nonce in the error one is fetched.
    #expect(attempt.received(Self.answer(refused, status: 400, nonce: nil)) == .head("\(Self.root)/nonce"))
    #expect(attempt.received(Self.answer("")) == Self.newOrder(["a.example"], isOrder: false))
    for _ in 2..<ACMELimits.nonceRetriesMax {
      #expect(
        attempt.received(Self.answer(refused, status: 400)) == Self.newOrder(["a.example"], isOrder: false))
    }
    #expect(
      attempt.received(Self.answer(refused, status: 400))
        == .finish(.failed(ACMEFailure("the authority refuses the order: used (badNonce)"))))
  }

  @Test func aNameThatCannotBeProvedIsLeftOut() {
    var attempt = Self.ordering(Self.plan(["a.example", "b.example"]))
    let placed = Self.answer(
      Self.order("pending", ["a.example", "b.example"]), status: 201, location: "\(Self.root)/order/1")
    _ = attempt.received(placed)
    _ = attempt.received(Self.answer(Self.authorization("valid", "a.example")))
    _ = attempt.received(Self.answer(Self.authorization("pending", "b.example")))
    #expect(attempt.proceed() == Self.tell("b.example"))
    _ = attempt.received(Self.answer("{}"))
    _ = attempt.proceed()
    let error = #","error":\#(Self.problem("connection", "no route to b.example"))"#
    let invalid = Self.answer(Self.authorization("invalid", "b.example", error: error))
    #expect(attempt.received(invalid) == Self.newOrder(["a.example"]))
    let ready = Self.answer(Self.order("ready", ["a.example"]), status: 201, location: "\(Self.root)/order/2")
    #expect(attempt.received(ready) == Self.finalize(["a.example"]))
    let issued = Self.order("valid", [], rest: #","certificate":"\#(Self.root)/certificate""#)
    _ = attempt.received(Self.answer(issued))
    let chain = "-----BEGIN CERTIFICATE-----\n"
    #expect(
      attempt.received(Self.answer(chain))
        == .finish(
          .issued(
            chain: chain, names: ["a.example"],
            missing: [NameFailure(name: "b.example", text: "no route to b.example (connection)")])))
  }

  @Test func whatIsHeldAlreadyIsNotOrderedAgain() {
    var attempt = Self.ordering(Self.plan(["a.example", "b.example"], held: ["a.example"]))
    let identifier = #"{"type":"dns","value":"b.example"}"#
    let part = #"{"type":"x","detail":"no such domain","identifier":\#(identifier)}"#
    let refused = Self.problem("rejectedIdentifier", "some are wrong", rest: #","subproblems":[\#(part)]"#)
    #expect(
      attempt.received(Self.answer(refused, status: 403))
        == .finish(.failed(ACMEFailure("b.example: no such domain (x)"))))
  }

  @Test func aRefusalThatNamesTheDomainInItsTextLeavesItOut() {
    var attempt = Self.ordering(Self.plan(["a.example", "b.example"]))
    let refused = Self.problem("rejectedIdentifier", #"will not issue for \"b.example\""#)
    #expect(attempt.received(Self.answer(refused, status: 403)) == Self.newOrder(["a.example"]))
  }

  @Test func aRateLimitEndsTheAttemptWithTheTimeToWait() {
    var attempt = Self.ordering(Self.plan(["a.example", "b.example"]))
    let refused = Self.answer(Self.problem("rateLimited", "too many"), status: 429, retryAfter: 3_600)
    #expect(
      attempt.received(refused)
        == .finish(
          .failed(ACMEFailure("the authority refuses the order: too many (rateLimited)", retryAfter: 3_600))))
  }

  @Test func anAuthorityThatNeverDecidesEndsTheAttempt() {
    var attempt = Self.ordering(Self.plan(["a.example"]))
    let placed = Self.order("ready", ["a.example"])
    _ = attempt.received(Self.answer(placed, status: 201, location: "\(Self.root)/order/1"))
    var (command, rounds) = (attempt.received(Self.answer(Self.order("processing", []))), 0)
    while case .wait = command, rounds < 1_000 {
      #expect(attempt.proceed() == Self.fetch("/order/1"))
      command = attempt.received(Self.answer(Self.order("processing", [])))
      rounds += 1
    }
    #expect(command == .finish(.failed(ACMEFailure("the authority has not decided within 300 seconds"))))
  }

  @Test func noOrderIsMadeBeyondTheBound() {
    var attempt = Issuance(Self.plan(["a.example"], orders: 0))
    _ = attempt.begin()
    _ = attempt.received(Self.answer(Self.directory))
    #expect(
      attempt.received(Self.answer("{}", status: 201, location: "\(Self.root)/account/1"))
        == .finish(.failed(ACMEFailure("no order may be made now"))))
  }

  @Test(arguments: ["", "[]", "{", #"{"newNonce":1}"#, #"{"newNonce":"n","newAccount":"a"}"#])
  func whatIsNoDirectoryIsAFailure(_ body: String) {
    var attempt = Issuance(Self.plan(["a.example"]))
    guard case .finish(.failed) = attempt.received(Self.answer(body)) else {
      Issue.record("it goes on with \(body)")
      return
    }
  }

  @Test func requestsAreSignedWithTheAccountsKey() throws {
    let key = AccountKey()
    let request = SignedRequest(
      url: "https://a.example/x", account: nil, nonce: "abc", payload: .request(names: ["a.example"]), isOrder: false)
    let body = try JSONValue(parsing: key.sign(request) { names in Array(names.joined().utf8) })
    let (header, payload, signature) = try (
      #require(body["protected"]?.string), #require(body["payload"]?.string), #require(body["signature"]?.string)
    )
    #expect(
      try JSONValue(parsing: #require(Base64URL.decode(header.utf8)))
        == .object([
          .init("alg", .string("ES256")), .init("jwk", key.webKey), .init("nonce", .string("abc")),
          .init("url", .string("https://a.example/x")),
        ]))
    #expect(
      try JSONValue(parsing: #require(Base64URL.decode(payload.utf8)))
        == .object([.init("csr", .string(Base64URL.string("a.example".utf8)))]))
    let raw = try P256.Signing.ECDSASignature(rawRepresentation: #require(Base64URL.decode(signature.utf8)))
    #expect(key.key.publicKey.isValidSignature(raw, for: Array("\(header).\(payload)".utf8)))
  }

  /// The public key of RFC 7515 A.3. Its fingerprint was computed with OpenSSL from the text that RFC 7638 3 defines.
  @Test func theFingerprintIsThatOfTheCanonicalKey() throws {
    let secret = try #require(Base64URL.decode("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI".utf8))
    let key = AccountKey(try P256.Signing.PrivateKey(rawRepresentation: secret))
    #expect(
      key.webKey.text
        == #"{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
    )
    #expect(key.thumbprint == "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U")
  }
}
