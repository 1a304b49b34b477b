import Addresses
import Basics
import Testing
import XMLStream
import XMPPFixtures

@testable import XMPP

/// XEP-0480: an account gets keys of another hash behind a login.
@Suite struct SCRAMUpgradeTests {
  private typealias Base = AuthenticationMachineTests
  private static let wish = """
    <upgrade xmlns='urn:xmpp:sasl:upgrade:0'>UPGR-SCRAM-SHA-256</upgrade>\
    <upgrade xmlns='urn:xmpp:sasl:upgrade:0'>UPGR-BLOOP</upgrade>\
    <upgrade xmlns='urn:xmpp:sasl:upgrade:0'>UPGR-SCRAM-SHA-512</upgrade>\
    <upgrade xmlns='urn:xmpp:sasl:upgrade:0'>UPGR-SCRAM-SHA-256</upgrade>
    """
  private static let to256 = SCRAMUpgrade(mechanism: .sha256, salt: bytes("salt"), iterations: 4096)
  private static let to512 = SCRAMUpgrade(mechanism: .sha512, salt: bytes("more"), iterations: 4096)

  /// Up to the right proof.
  private static func proved(
    _ wish: String = wish, isSecured: Bool = true
  ) throws -> (AuthenticationMachine, AuthenticationOutput) {
    let policy = AuthenticationPolicy(allowsUnsecured: true, decoy: Base.decoy)
    var machine = AuthenticationMachine(policy: policy, domain: "im.example.com", isSecured: isSecured)
    var client = SCRAMClient(mechanism: .sha1, username: "juliet", password: "pencil", nonce: "client")
    _ = machine.received(try ChannelBindingTests.request("SCRAM-SHA-1", text(client.first), wish))
    let answer = CredentialsAnswer.found(SCRAMTests.exchanges[0].credentials, .active)
    guard case .challenge(let challenge) = machine.answered(.credentials(answer, nonce: "server"), attempt: 1) else {
      throw NotAStanza(xml: "no challenge")
    }
    let output = machine.received(try ChannelBindingTests.response(try client.respond(to: challenge)))
    return (machine, output)
  }

  private static func next(_ task: String) throws -> Element {
    try element("<next xmlns='urn:xmpp:sasl:2' task='\(task)'/>")
  }
  private static func hash(_ bytes: [UInt8]) throws -> Element {
    try element(
      "<task-data xmlns='urn:xmpp:sasl:2'><hash xmlns='urn:xmpp:scram-upgrade:0'>\(Base64.string(bytes))</hash></task-data>"
    )
  }
  private func failure(
    _ condition: SASLFailure.Condition, _ text: String? = nil, _ fault: AuthenticationFault = .mechanism
  ) -> AuthenticationOutput {
    .failure(SASLFailure(condition, text), fault)
  }

  @Test func twoUpgrades() throws {
    var (machine, output) = try Self.proved()
    #expect(output == .needUpgrades([.sha256, .sha512], username: "juliet", attempt: 1))
    #expect(machine.isExclusive)
    output = machine.answered(.upgrades([Self.to256, Self.to512]), attempt: 1)
    guard case .upgrade(.sha256, let data?) = output else {
      Issue.record("\(output)")
      return
    }
    #expect(text(data).hasPrefix("v="))
    #expect(machine.received(try Self.next("UPGR-SCRAM-SHA-256")) == .taskData(Self.to256))
    let salted = [UInt8](repeating: 5, count: 32)
    #expect(
      machine.received(try Self.hash(salted))
        == .storeUpgrade(Self.to256, SaltedPassword(salted), username: "juliet", attempt: 1))
    // The mechanism's last word was said once.
    #expect(machine.answered(.upgrade(.stored), attempt: 1) == .upgrade(.sha512, nil))
    #expect(machine.received(try Self.next("UPGR-SCRAM-SHA-512")) == .taskData(Self.to512))
    let other = [UInt8](repeating: 6, count: 64)
    #expect(
      machine.received(try Self.hash(other))
        == .storeUpgrade(Self.to512, SaltedPassword(other), username: "juliet", attempt: 1))
    #expect(machine.answered(.upgrade(.stored), attempt: 1) == .success(try #require(Base.juliet), nil))
    #expect(String(reflecting: SaltedPassword([1])) == "SaltedPassword")
  }

  /// A user with all keys gets no task, and the usual success.
  @Test func nothingToDo() throws {
    var (machine, _) = try Self.proved()
    guard case .success(let user, let data?) = machine.answered(.upgrades([]), attempt: 1) else {
      Issue.record("no success")
      return
    }
    #expect(user == Base.juliet)
    #expect(text(data).hasPrefix("v="))
  }

  /// There is no upgrade without a request, without TLS, for unknown tasks only, or without a password that was proved
  /// by SCRAM.
  @Test func noUpgrade() throws {
    for (wish, isSecured) in [
      ("", true), (Self.wish, false), ("<upgrade xmlns='urn:xmpp:sasl:upgrade:0'>UPGR-X</upgrade>", true),
    ] {
      guard case .success(_, _?) = try Self.proved(wish, isSecured: isSecured).1 else {
        Issue.record("no success")
        return
      }
    }
    var machine = Base.machine()
    _ = machine.received(try ChannelBindingTests.request("PLAIN", "\0juliet\0x", Self.wish))
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .success(try #require(Base.juliet), nil))
  }

  @Test func unsuitableSteps() throws {
    var (machine, _) = try Self.proved()
    #expect(
      machine.received(try Self.next("UPGR-SCRAM-SHA-256")) == failure(.malformedRequest, "a task nobody asked for"))
    (machine, _) = try Self.proved()
    _ = machine.answered(.upgrades([Self.to256]), attempt: 1)
    #expect(
      machine.received(try Self.next("UPGR-SCRAM-SHA-512")) == failure(.malformedRequest, "a task nobody asked for"))
    (machine, _) = try Self.proved()
    _ = machine.answered(.upgrades([Self.to256]), attempt: 1)
    #expect(
      machine.received(try Self.hash([1])) == failure(.malformedRequest, "data of a task nobody asked for"))
    for (xml, output) in [
      ("<hash xmlns='urn:xmpp:scram-upgrade:0'>!</hash>", failure(.incorrectEncoding)),
      ("<hash xmlns='urn:xmpp:scram-upgrade:0'/>", failure(.malformedRequest, "the hash has the wrong length")),
      (
        "<hash xmlns='urn:xmpp:scram-upgrade:0'>AAAA</hash>",
        failure(.malformedRequest, "the hash has the wrong length")
      ),
      ("", failure(.malformedRequest, "data of a task nobody asked for")),
    ] {
      (machine, _) = try Self.proved()
      _ = machine.answered(.upgrades([Self.to256]), attempt: 1)
      _ = machine.received(try Self.next("UPGR-SCRAM-SHA-256"))
      #expect(machine.received(try element("<task-data xmlns='urn:xmpp:sasl:2'>\(xml)</task-data>")) == output)
      #expect(machine.answered(.upgrade(.stored), attempt: 1) == .nothing)
    }
  }

  /// XEP-0388 6: after `<continue/>` no authentication can begin anew, even if the task failed.
  @Test func nobodyBeginsAnew() throws {
    for isOver in [false, true] {
      var (machine, _) = try Self.proved()
      _ = machine.answered(.upgrades([Self.to256]), attempt: 1)
      if isOver {
        #expect(machine.received(try element("<abort xmlns='urn:xmpp:sasl:2'/>")) == failure(.aborted))
      }
      #expect(
        machine.received(try ChannelBindingTests.request("PLAIN", "\0juliet\0x"))
          == .close(StreamError(.notAuthorized, "the password is proved already")))
    }
  }

  @Test(arguments: [
    (UpgradeAnswer.outdated, SASLFailure(.notAuthorized, "the password was changed"), AuthenticationFault.mechanism),
    (.unavailable, SASLFailure(.temporaryAuthFailure), .server),
  ])
  func notStored(answer: UpgradeAnswer, failure: SASLFailure, fault: AuthenticationFault) throws {
    var (machine, _) = try Self.proved()
    _ = machine.answered(.upgrades([Self.to256]), attempt: 1)
    _ = machine.received(try Self.next("UPGR-SCRAM-SHA-256"))
    _ = machine.received(try Self.hash([UInt8](repeating: 5, count: 32)))
    #expect(machine.answered(.upgrade(.stored), attempt: 7) == .nothing)
    #expect(machine.answered(.upgrade(answer), attempt: 1) == .failure(failure, fault))
  }

  /// XEP-0480 3, as its example.
  @Test func asWritten() {
    #expect(
      written { SCRAMUpgrade.writeContinue(.sha256, data: bytes("v=x"), into: &$0) }
        == "<continue xmlns='urn:xmpp:sasl:2'><additional-data>dj14</additional-data>"
        + "<tasks><task>UPGR-SCRAM-SHA-256</task></tasks></continue>")
    #expect(
      written { SCRAMUpgrade.writeContinue(.sha512, data: nil, into: &$0) }
        == "<continue xmlns='urn:xmpp:sasl:2'><tasks><task>UPGR-SCRAM-SHA-512</task></tasks></continue>")
    #expect(
      written { Self.to256.write(into: &$0) }
        == "<task-data xmlns='urn:xmpp:sasl:2'><salt xmlns='urn:xmpp:scram-upgrade:0' iterations='4096'>c2FsdA==</salt>"
        + "</task-data>")
  }
}
