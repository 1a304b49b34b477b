import Addresses
import Testing
import XMLStream

@testable import XMPP

@Suite struct BindMachineTests {
  private func request(_ resource: String?) throws -> BindRequest {
    let inner = resource.map { "<resource>\($0)</resource>" } ?? ""
    let bind = try stanza(
      "<iq id='wy2xa82b4' type='set'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>\(inner)</bind></iq>")
    return try #require(try BindRequest(bind))
  }

  private func jid(_ resource: String) throws -> FullJID { try FullJID("juliet@im.example.com/\(resource)") }
  private static func user() throws -> BareJID { try BareJID("juliet@im.example.com") }

  private func decide(
    _ machine: inout BindMachine, _ resource: String?, connected: [String] = []
  ) throws -> BindDecision {
    machine.requested(
      try request(resource).resource, user: try Self.user(), connected: connected,
      generated: "4db06f06-1ea4-11dc-aca3-000bcd821bfb")
  }

  /// The examples of RFC 6120 7.6.1 and 7.7.1.
  @Test func success() throws {
    var machine = BindMachine()
    #expect(try decide(&machine, nil) == .bind(try jid("4db06f06-1ea4-11dc-aca3-000bcd821bfb"), replacing: false))
    #expect(try decide(&machine, "balcony") == .bind(try jid("balcony"), replacing: false))
    let result = written { writer in
      try? request("balcony").writeResult(jid("balcony"), into: &writer)
    }
    #expect(
      try element(result)
        == element(
          "<iq id='wy2xa82b4' type='result'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><jid>juliet@im.example.com/balcony</jid></bind></iq>"
        ))
  }

  /// RFC 6120 7.7.2.1: what cannot be processed is replaced; what can be prepared is (RFC 7622 3.4).
  @Test func resourcesArePrepared() throws {
    var machine = BindMachine()
    #expect(try decide(&machine, "") == .bind(try jid("4db06f06-1ea4-11dc-aca3-000bcd821bfb"), replacing: false))
    #expect(
      try decide(&machine, "a\u{AD}b\u{7F}") == .bind(try jid("4db06f06-1ea4-11dc-aca3-000bcd821bfb"), replacing: false)
    )
    #expect(
      try decide(&machine, String(repeating: "x", count: 1024))
        == .bind(try jid("4db06f06-1ea4-11dc-aca3-000bcd821bfb"), replacing: false))
    #expect(try decide(&machine, "E\u{301}") == .bind(try jid("\u{C9}"), replacing: false))
    #expect(try decide(&machine, "a/b@c") == .bind(try jid("a/b@c"), replacing: false))
  }

  /// RFC 6120 7.7.2.2.
  @Test func conflicts() throws {
    var replace = BindMachine()
    #expect(
      try decide(&replace, "balcony", connected: ["garden", "balcony"]) == .bind(try jid("balcony"), replacing: true))
    #expect(try decide(&replace, "E\u{301}", connected: ["\u{C9}"]) == .bind(try jid("\u{C9}"), replacing: true))
    var rename = BindMachine(policy: BindPolicy(conflict: .rename))
    #expect(
      try decide(&rename, "balcony", connected: ["balcony"])
        == .bind(try jid("4db06f06-1ea4-11dc-aca3-000bcd821bfb"), replacing: false))
    var refuse = BindMachine(policy: BindPolicy(conflict: .refuse))
    #expect(
      try decide(&refuse, "balcony", connected: ["balcony"])
        == .refuse(StanzaError(.conflict, "the resource is in use", type: .modify)))
  }

  /// RFC 6120 7.6.2.1: also a full account may replace one of its own.
  @Test func tooManySessions() throws {
    var machine = BindMachine(policy: BindPolicy(resourcesMax: 2))
    #expect(
      try decide(&machine, "c", connected: ["a", "b"])
        == .refuse(StanzaError(.resourceConstraint, "the account has too many sessions")))
    #expect(
      try decide(&machine, nil, connected: ["a", "b"])
        == .refuse(StanzaError(.resourceConstraint, "the account has too many sessions")))
    #expect(try decide(&machine, "b", connected: ["a", "b"]) == .bind(try jid("b"), replacing: true))
    #expect(try decide(&machine, "c", connected: ["a"]) == .bind(try jid("c"), replacing: false))
  }

  /// RFC 6120 7.7.3.
  @Test func attemptsAreBounded() throws {
    var machine = BindMachine(policy: BindPolicy(conflict: .refuse))
    for _ in 1..<XMPPLimits.bindAttemptsMax {
      #expect(
        try decide(&machine, "a", connected: ["a"])
          == .refuse(StanzaError(.conflict, "the resource is in use", type: .modify)))
    }
    #expect(
      try decide(&machine, "a", connected: ["a"])
        == .close(StreamError(.policyViolation, "too many attempts to bind a resource")))
  }

  @Test func otherStanzasAreNoRequests() throws {
    #expect(try BindRequest(stanza("<message/>")) == nil)
    #expect(
      try BindRequest(stanza("<iq type='result' id='1'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")) == nil)
    #expect(try BindRequest(stanza("<iq type='set' id='1'><bind/></iq>")) == nil)
    #expect(throws: StanzaError(.badRequest, "an iq request has exactly one child element")) {
      try BindRequest(stanza("<iq type='set' id='1'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/><a/></iq>"))
    }
  }
}
