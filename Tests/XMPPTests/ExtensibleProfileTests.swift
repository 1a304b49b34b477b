import Addresses
import Basics
import Testing
import XMLStream

@testable import XMPP

/// XEP-0388: the extensible profile.
@Suite struct ExtensibleProfileTests {
  private typealias Base = AuthenticationMachineTests

  private static func request(_ inner: String, mechanism: String = "PLAIN") throws -> Element {
    try element("<authenticate xmlns='urn:xmpp:sasl:2' mechanism='\(mechanism)'>\(inner)</authenticate>")
  }
  /// \0juliet\0r0m30myr0m30
  private static let plain = "<initial-response>AGp1bGlldAByMG0zMG15cjBtMzA=</initial-response>"

  @Test func theRequestIsKept() throws {
    var machine = Base.machine()
    let output = machine.received(
      try Self.request(
        Self.plain
          + "<user-agent id='D4565FA7-4d72-4749-b3d3-740edbf87770'><software>S</software><device>D</device></user-agent>"
          + "<resume xmlns='urn:xmpp:sm:3' previd='x' h='7'/>"
          + "<bind xmlns='urn:xmpp:bind:0'><tag>T</tag><enable xmlns='urn:xmpp:carbons:2'/></bind>"))
    #expect(output == .verifyPassword(username: "juliet", password: Password("r0m30myr0m30"), attempt: 1))
    let request = try #require(machine.request)
    #expect(machine.profile == .extensible)
    #expect(request.agent == .init(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "S", device: "D"))
    #expect(request.resume == .resume(previous: "x", handled: 7))
    #expect(request.bind?.resource("made") == "T/made")
    #expect(request.bind?.features.map(\.local) == ["enable"])
  }

  @Test(arguments: [
    ("<initial-response>=</initial-response>", SASLFailure(.incorrectEncoding)),
    ("<user-agent id='no-uuid'/>", SASLFailure(.malformedRequest, "the id of <user-agent/> is no UUID")),
    ("<resume xmlns='urn:xmpp:sm:3' h='7'/>", SASLFailure(.malformedRequest, "<resume/> lacks the attribute 'previd'")),
  ])
  func requestsThatCannotBeUnderstood(inner: String, failure: SASLFailure) throws {
    var machine = Base.machine()
    #expect(machine.received(try Self.request(inner)) == .failure(failure, .mechanism))
    #expect(machine.attempt == 1)
  }

  /// These failures count like others: the stream ends after seven.
  @Test func attemptsAreCounted() throws {
    var machine = Base.machine()
    for _ in 0..<7 { _ = machine.received(try Self.request("<user-agent id=''/>")) }
    #expect(
      machine.received(try Self.request("<user-agent id=''/>"))
        == .close(StreamError(.policyViolation, "too many authentication attempts")))
  }

  /// 2.5: what is begun in one profile does not go on in the other.
  @Test func profilesDoNotMix() throws {
    var machine = Base.machine()
    #expect(machine.received(try Self.request("")) == .challenge([]))
    #expect(
      machine.received(Base.response("\0juliet\0x"))
        == .failure(SASLFailure(.malformedRequest, "no element of SASL a client sends"), .mechanism))
  }

  /// 2.4: a client that names itself in the header stands by it.
  @Test(arguments: [("juliet@im.example.com/balcony", true), ("romeo@im.example.com", false), ("@", false)])
  func theHeaderBinds(claimed: String, fits: Bool) throws {
    var machine = AuthenticationMachine(
      policy: Base.policy, domain: "im.example.com", isSecured: true, claimed: claimed)
    let message = Base64.string(bytes("juliet@im.example.com\0juliet\0x"))
    _ = machine.received(try Self.request("<initial-response>\(message)</initial-response>"))
    let output = machine.answered(.password(.right(.active)), attempt: 1)
    #expect(
      output
        == (fits
          ? .success(try #require(Base.juliet), nil)
          : .failure(SASLFailure(.invalidAuthzid), .account(username: "juliet"))))
  }

  /// 2.5: only while a dialogue is under way is there nothing else, and only in this profile.
  @Test func nothingElseMayComeMeanwhile() throws {
    var machine = Base.machine()
    #expect(!machine.isExclusive)
    _ = machine.received(try Self.request(""))
    #expect(machine.isExclusive)
    _ = machine.received(try element("<abort xmlns='urn:xmpp:sasl:2'/>"))
    #expect(!machine.isExclusive)
  }

  /// 2.6.2: the profile's own element, the core's conditions.
  @Test func failuresAsWritten() {
    #expect(
      written { SASLFailure(.aborted, "no").write(.extensible, into: &$0) }
        == "<failure xmlns='urn:xmpp:sasl:2'><aborted xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>"
        + "<text xml:lang='en'>no</text></failure>")
  }

  @Test func theStreamGoesOn() throws {
    var machine = StreamMachine(policy: StreamMachineTests.policy(), isSecured: true)
    _ = machine.opened(try clientHeader(), id: "s1")
    _ = machine.received(try Self.request(Self.plain))
    let output = machine.answered(.password(.right(.active)), attempt: 1)
    guard case .admitted(let user, nil, let request) = output else {
      Issue.record("\(output)")
      return
    }
    #expect(user == (try StreamMachineTests.user()))
    #expect(request.bind == nil)
    #expect(machine.phase == .authenticated)
    #expect(machine.offered.map { $0.element.local }.contains("bind"))
    // 2.6.1: another request is the end.
    guard case .refuse = machine.received(try Self.request(Self.plain)) else {
      Issue.record("a second request was taken")
      return
    }
  }
}
