import Addresses
import Basics
import Testing
import XMLStream
import XMPPFixtures

@testable import XMPP

/// SCRAM bound to TLS (RFC 5802 6), the hash of the offer (XEP-0474), the types that are offered (XEP-0440).
@Suite struct ChannelBindingTests {
  private typealias Base = AuthenticationMachineTests
  private static let binding = ChannelBinding.tlsExporter(Array(repeating: 7, count: 32))

  private static func machine(_ bindings: [ChannelBinding] = [binding]) -> AuthenticationMachine {
    AuthenticationMachine(
      policy: Base.policy, domain: "im.example.com", isSecured: true, channelBindings: bindings)
  }

  static func request(_ mechanism: String, _ message: String, _ inner: String = "") throws -> Element {
    try element(
      "<authenticate xmlns='urn:xmpp:sasl:2' mechanism='\(mechanism)'>"
        + "<initial-response>\(Base64.string(bytes(message)))</initial-response>\(inner)</authenticate>")
  }

  static func response(_ message: [UInt8]) throws -> Element {
    try element("<response xmlns='urn:xmpp:sasl:2'>\(Base64.string(message))</response>")
  }

  private func failure(_ condition: SASLFailure.Condition, _ text: String? = nil) -> AuthenticationOutput {
    .failure(SASLFailure(condition, text), .mechanism)
  }
  private static let mismatch = "channel binding is not supported or does not match"

  /// The example of XEP-0474 5: lists, binding, challenge, proof and verifier.
  @Test func theExampleOfDowngradeProtection() throws {
    let offer = SASLOffer(
      mechanisms: ["SCRAM-SHA-1-PLUS", "SCRAM-SHA-1"], channelBindings: ["tls-server-end-point", "tls-exporter"])
    #expect(Base64.string(offer.digest(.sha1)) == "G6k/rBLDqgOhRRaCuuatSDFkJ08=")
    let first = try SCRAMClientFirst(bytes("p=tls-exporter,,n=user,r=12C4CD5C-E38E-4A98-8F6D-15C38F51CCC6"))
    #expect(first.bindingFlag == .used(type: "tls-exporter"))
    let server = SCRAMExchange(
      mechanism: .sha1, first: first, nonce: "a09117a6-ac50-4f2f-93f1-93799c2bddf6",
      credentials: SCRAMTests.exchanges[0].credentials,
      channelBinding: ChannelBinding(type: "tls-exporter", data: bytes("THIS IS FAKE CB DATA")), offer: offer)
    let nonce = "12C4CD5C-E38E-4A98-8F6D-15C38F51CCC6a09117a6-ac50-4f2f-93f1-93799c2bddf6"
    #expect(text(server.challenge) == "r=\(nonce),s=QSXCR+Q6sek8bf92,i=4096,h=G6k/rBLDqgOhRRaCuuatSDFkJ08=")
    let final =
      "c=cD10bHMtZXhwb3J0ZXIsLFRISVMgSVMgRkFLRSBDQiBEQVRB,r=\(nonce),x=19C6532F-1CF4-4A27-A18D-DC9CEA41BBB3,"
      + "p=M/SIDjT+dfcxUh89jZEypRvFxB4="
    #expect(text(try server.finish(bytes(final))) == "v=MQrMPvv7yv4x4Cq4W4Ih25EqS2c=")
  }

  /// The lists are sorted by octets, in any order of the offer; without types there is no second part.
  @Test func theHashIsOfSortedLists() {
    for mechanism in SCRAMMechanism.allCases {
      let one = SASLOffer(mechanisms: ["PLAIN", "SCRAM-SHA-1", "Z", "a"], channelBindings: [])
      #expect(one.digest(mechanism) == mechanism.hash(bytes("PLAIN\u{1E}SCRAM-SHA-1\u{1E}Z\u{1E}a")))
      let other = SASLOffer(mechanisms: ["a", "Z", "SCRAM-SHA-1", "PLAIN"], channelBindings: ["b", "B"])
      #expect(other.digest(mechanism) == mechanism.hash(bytes("PLAIN\u{1E}SCRAM-SHA-1\u{1E}Z\u{1E}a\u{1F}B\u{1E}b")))
    }
  }

  /// Both ends, and what the server says of the offer.
  @Test(arguments: SCRAMMechanism.allCases) func bound(mechanism: SCRAMMechanism) throws {
    let exchange = try #require(SCRAMTests.exchanges.first { $0.mechanism == mechanism })
    var machine = Self.machine()
    var client = SCRAMClient(
      mechanism: mechanism, username: "juliet", password: "pencil", nonce: "client", channelBinding: Self.binding)
    #expect(
      machine.received(try Self.request("\(mechanism.boundName)", text(client.first)))
        == .needCredentials(username: "juliet", mechanism: mechanism, attempt: 1))
    let output = machine.answered(.credentials(.found(exchange.credentials, .active), nonce: "server"), attempt: 1)
    let names = [
      "OAUTHBEARER", "PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-1-PLUS", "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS", "SCRAM-SHA-512",
      "SCRAM-SHA-512-PLUS",
    ]
    let hash = mechanism.hash(bytes(names.joined(separator: "\u{1E}") + "\u{1F}tls-exporter"))
    #expect(
      output == .challenge(bytes("r=clientserver,s=\(exchange.salt),i=4096,h=\(Base64.string(hash))")))
    guard case .challenge(let challenge) = output else { return }
    guard case .success(_, let data?) = machine.received(try Self.response(try client.respond(to: challenge))) else {
      Issue.record("no success")
      return
    }
    #expect(throws: Never.self) { try client.verify(data) }
  }

  /// The client names one of several bindings, and each is valid only as itself.
  @Test func eachBindingIsValidOnlyAsItself() throws {
    let endPoint = ChannelBinding.tlsServerEndPoint(Array(repeating: 9, count: 32))
    let answer = CredentialsAnswer.found(Base.pencil.credentials, .active)
    for (said, isRight) in [
      (Self.binding, true), (endPoint, true), (.tlsServerEndPoint(Self.binding.data), false),
      (.tlsExporter(endPoint.data), false),
    ] {
      var machine = Self.machine([Self.binding, endPoint])
      var client = SCRAMClient(
        mechanism: .sha256, username: "juliet", password: "pencil", nonce: "client", channelBinding: said)
      _ = machine.received(try Self.request("SCRAM-SHA-256-PLUS", text(client.first)))
      guard case .challenge(let challenge) = machine.answered(.credentials(answer, nonce: "server"), attempt: 1) else {
        Issue.record("no challenge")
        return
      }
      let output = machine.received(try Self.response(try client.respond(to: challenge)))
      if case .success = output {
        #expect(isRight, "\(said)")
      } else {
        #expect(!isRight && output == failure(.notAuthorized, Self.mismatch))
      }
    }
  }

  /// An attacker between the two has another connection to each: the login is refused, and no password is counted as
  /// wrong.
  @Test func anotherConnection() throws {
    var machine = Self.machine()
    var client = SCRAMClient(
      mechanism: .sha256, username: "juliet", password: "pencil", nonce: "client",
      channelBinding: .tlsExporter(Array(repeating: 8, count: 32)))
    _ = machine.received(try Self.request("SCRAM-SHA-256-PLUS", text(client.first)))
    let answer = CredentialsAnswer.found(Base.pencil.credentials, .active)
    guard case .challenge(let challenge) = machine.answered(.credentials(answer, nonce: "server"), attempt: 1) else {
      Issue.record("no challenge")
      return
    }
    #expect(
      machine.received(try Self.response(try client.respond(to: challenge))) == failure(.notAuthorized, Self.mismatch))
  }

  /// RFC 5802 6: what the flag says must be what the mechanism does, and what was offered.
  @Test(arguments: [
    ("SCRAM-SHA-1-PLUS", "n"), ("SCRAM-SHA-1-PLUS", "y"), ("SCRAM-SHA-1-PLUS", "p=tls-unique"),
    ("SCRAM-SHA-1-PLUS", "p=tls-server-end-point"), ("SCRAM-SHA-1", "p=tls-exporter"),
  ])
  func flagsThatDoNotFit(mechanism: String, flag: String) throws {
    var machine = Self.machine()
    #expect(
      machine.received(try Self.request(mechanism, "\(flag),,n=juliet,r=abc")) == failure(.notAuthorized, Self.mismatch)
    )
  }

  /// A client that sees none where it was offered has an attacker in between.
  @Test func downgraded() throws {
    var machine = Self.machine()
    #expect(
      machine.received(try Self.request("SCRAM-SHA-1", "y,,n=juliet,r=abc"))
        == failure(.notAuthorized, "channel binding was offered: somebody changed the offer on its way"))
    let asked = AuthenticationOutput.needCredentials(username: "juliet", mechanism: .sha1, attempt: 2)
    // One that has none itself may log in; and in the core's profile none is offered.
    #expect(machine.received(try Self.request("SCRAM-SHA-1", "n,,n=juliet,r=abc")) == asked)
    machine = Self.machine()
    _ = machine.received(Base.auth("CRAM-MD5"))
    #expect(machine.received(Base.auth("SCRAM-SHA-1", "y,,n=juliet,r=abc")) == asked)
    // TLS gave nothing to bind to.
    machine = Self.machine([])
    _ = machine.received(Base.auth("CRAM-MD5"))
    #expect(machine.received(try Self.request("SCRAM-SHA-1", "y,,n=juliet,r=abc")) == asked)
  }

  @Test func serversWithoutChannelBinding() throws {
    var machine = Self.machine()
    #expect(machine.received(Base.auth("SCRAM-SHA-1-PLUS", "p=tls-exporter,,n=a,r=b")) == failure(.invalidMechanism))
    machine = Self.machine([])
    #expect(
      machine.received(try Self.request("SCRAM-SHA-1-PLUS", "p=tls-exporter,,n=a,r=b")) == failure(.invalidMechanism))
    let open = AuthenticationPolicy(allowsUnsecured: true, decoy: Base.decoy)
    machine = AuthenticationMachine(
      policy: open, domain: "im.example.com", isSecured: false, channelBindings: [Self.binding])
    #expect(
      machine.received(try Self.request("SCRAM-SHA-1-PLUS", "p=tls-exporter,,n=a,r=b")) == failure(.invalidMechanism))
  }

  /// The types are in the features, also for a client of the core's profile.
  @Test func theTypesAreHashedInBothProfiles() throws {
    var machine = Self.machine()
    _ = machine.received(Base.auth("SCRAM-SHA-1", "n,,n=juliet,r=abc"))
    let salt = SCRAMTests.exchanges[0].salt
    let hash = SCRAMMechanism.sha1.hash(
      bytes(
        "PLAIN\u{1E}SCRAM-SHA-1\u{1E}SCRAM-SHA-256\u{1E}SCRAM-SHA-512\u{1F}tls-exporter"))
    #expect(
      machine.answered(.credentials(.found(SCRAMTests.exchanges[0].credentials, .active), nonce: "X"), attempt: 1)
        == .challenge(bytes("r=abcX,s=\(salt),i=4096,h=\(Base64.string(hash))")))
  }

  // MARK: The stream

  private static func policy() -> StreamPolicy {
    StreamPolicy(
      domains: ["im.example.com"], authentication: Base.policy,
      features: StreamFeature.authentication(Base.policy, inline: []))
  }

  /// The features as written: `SCRAM-SHA-1-PLUS` and the types, or neither.
  private static func offer(_ machine: StreamMachine) -> [String] {
    let names = ["sasl-channel-binding", "SCRAM-SHA-1-PLUS", "UPGR-SCRAM-SHA-256"]
    let xml = written { StreamFraming.document.writeFeatures(machine.offered, into: &$0) }
    return names.filter { xml.contains($0) }
  }

  @Test func offeredWithDirectTLS() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: true)
    machine.secured(channelBindings: [Self.binding])
    guard case .open(_, let features) = machine.opened(try clientHeader(), id: "s1") else {
      Issue.record("not opened")
      return
    }
    #expect(
      features.last?.element
        == (try element(
          "<sasl-channel-binding xmlns='urn:xmpp:sasl-cb:0'><channel-binding type='tls-exporter'/></sasl-channel-binding>"
        )))
    #expect(Self.offer(machine) == ["sasl-channel-binding", "SCRAM-SHA-1-PLUS", "UPGR-SCRAM-SHA-256"])
  }

  /// TLS 1.2.
  @Test func notOfferedWithoutABinding() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: true)
    machine.secured()
    _ = machine.opened(try clientHeader(), id: "s1")
    #expect(Self.offer(machine) == ["UPGR-SCRAM-SHA-256"])
  }

  @Test func offeredBehindSTARTTLS() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: false)
    // Before TLS there is nothing to be bound to.
    machine.secured(channelBindings: [Self.binding])
    _ = machine.opened(try clientHeader(), id: "s1")
    #expect(Self.offer(machine) == [])
    #expect(machine.received(Element(.startTLS)) == .startTLS)
    machine.secured(channelBindings: [Self.binding])
    _ = machine.opened(try clientHeader(), id: "s2")
    #expect(Self.offer(machine).count == 3)
  }

  /// A server without a mechanism that could use channel bindings announces none (XEP-0440 4).
  @Test func noTypesWithoutMechanisms() throws {
    let plain = AuthenticationPolicy(mechanisms: [.scram(.sha1), .plain], decoy: Base.decoy)
    var machine = StreamMachine(
      policy: StreamPolicy(
        domains: ["im.example.com"], authentication: plain, features: StreamFeature.authentication(plain, inline: [])),
      isSecured: true)
    machine.secured(channelBindings: [Self.binding])
    _ = machine.opened(try clientHeader(), id: "s1")
    #expect(Self.offer(machine) == ["UPGR-SCRAM-SHA-256"])
  }
}
