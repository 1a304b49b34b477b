import Addresses
import Dialogs
import NIOCore
import Peers
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Privileged entities (XEP-0356)")
struct PrivilegedEntityTests {
  private func stanza(_ text: String) throws -> Stanza { try #require(Stanza(try XMPPDoorTests.stanza(text))) }

  private func condition(_ body: () throws -> Void) -> StanzaError.Condition? {
    do {
      try body()
      return nil
    } catch { return (error as? StanzaError)?.condition }
  }

  private func forwarded(_ inner: String) throws -> PrivilegedEntity.ForwardedMessage {
    try PrivilegedEntity.ForwardedMessage(
      stanza(
        "<message from='pubsub.capulet.lit' to='capulet.lit' id='notif1'><privilege xmlns='urn:xmpp:privilege:2'>"
          + "<forwarded xmlns='urn:xmpp:forward:0'>\(inner)</forwarded></privilege></message>"), domain: "capulet.lit")
  }

  @Test("5.3") func messages() throws {
    let said = try forwarded(
      "<message xmlns='jabber:client' from='juliet@capulet.lit' id='foo' to='romeo@montague.lit/orchard'><body>a</body></message>"
    )
    #expect(said.user == (try bare("juliet@capulet.lit")))
    #expect(said.to.description == "romeo@montague.lit/orchard")
    #expect(said.stanza.body?.text == "a")
    // A stamp beside the message is no stanza.
    let other = try forwarded(
      "<delay xmlns='urn:xmpp:delay' stamp='2014-11-25T14:34:32Z'/>"
        + "<message xmlns='jabber:client' from='capulet.lit' to='romeo@montague.lit'><body>b</body></message>"
    )
    #expect(other.user.description == "capulet.lit")
    #expect(other.stanza.body?.text == "b")
    #expect(other.stanza.element.first(.body)?.namespace == "jabber:client")
    for from in ["juliet@capulet.lit/balcony", "romeo@montague.lit", "capulet.lit.evil"] {
      let inner = "<message xmlns='jabber:client' from='\(from)' to='a@b.lit'/>"
      #expect(condition { _ = try forwarded(inner) } == .forbidden, "\(from)")
    }
    for inner in [
      "", "<iq xmlns='jabber:client' from='juliet@capulet.lit' to='a@b.lit'/>", "<message xmlns='urn:x' to='a@b.lit'/>",
      "<message xmlns='jabber:client' from='juliet@capulet.lit'/>",
    ] { #expect(condition { _ = try forwarded(inner) } == .badRequest, "\(inner)") }
  }

  private func request(_ type: String, _ inner: String) throws -> PrivilegedEntity.EncapsulatedRequest {
    let outer = try stanza(
      "<iq from='pubsub.capulet.lit' to='juliet@capulet.lit' type='\(type)' id='o'>"
        + "<privileged_iq xmlns='urn:xmpp:privilege:2'>\(inner)</privileged_iq></iq>")
    return try PrivilegedEntity.EncapsulatedRequest(
      outer, try #require(outer.payload), of: bare("juliet@capulet.lit"))
  }

  @Test("6.3") func requests() throws {
    let subscribe =
      "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscribe node='n' jid='juliet@capulet.lit'/></pubsub>"
    let read = try request(
      "set", "<iq xmlns='jabber:client' type='set' to='romeo@montaigu.lit' id='sub_1'>\(subscribe)</iq>")
    #expect(read.isSet)
    #expect(read.namespace == "http://jabber.org/protocol/pubsub")
    #expect(read.to?.description == "romeo@montaigu.lit")
    _ = try request("get", "<iq xmlns='jabber:client' type='get' from='juliet@capulet.lit' id='s'>\(subscribe)</iq>")
    for (type, inner) in [
      ("get", "<iq xmlns='jabber:client' type='set' id='s'>\(subscribe)</iq>"),
      ("set", "<iq xmlns='jabber:client' type='set' id='s' from='romeo@capulet.lit'>\(subscribe)</iq>"),
      ("set", "<iq xmlns='jabber:client' type='set' id='s' from='juliet@capulet.lit/balcony'>\(subscribe)</iq>"),
      ("set", "<iq xmlns='jabber:client' type='result' id='s'>\(subscribe)</iq>"),
      ("set", "<message xmlns='jabber:client' type='set' id='s'>\(subscribe)</message>"),
      ("set", ""),
    ] { #expect(condition { _ = try request(type, inner) } == .forbidden, "\(inner)") }
    #expect(condition { _ = try request("set", "<iq xmlns='jabber:client' type='set' id='s'/>") } == .badRequest)
  }

  @Test("4.2, 5.2, 6.2, 7.2") func advertisement() throws {
    let home = Realm(id: RealmID(1), domain: "capulet.lit", rooms: "r", key: [], epoch: 1)
    func perms(_ now: Privileges, before: Privileges = .none) throws -> [[String]] {
      let message = try element {
        PrivilegedEntity.advertise(
          now, before: before, from: home, to: try! BareJID("pubsub.capulet.lit"), into: &$0)
      }
      #expect(message["from"] == "capulet.lit" && message["to"] == "pubsub.capulet.lit")
      return message.children.flatMap { $0.children.map { $0 } }.map { perm in
        perm.attributes.map { "\($0.local)=\($0.value)" }
          + perm.children.map { "\($0["ns"] ?? ""):\($0["type"] ?? "")" }
      }
    }
    let all = Privileges(roster: .both, speaks: true, requests: ["urn:b": .set, "urn:a": .get], presence: .contacts)
    #expect(
      try perms(all) == [
        ["access=roster", "type=both", "push=true"], ["access=message", "type=outgoing"],
        ["access=iq", "urn:a:get", "urn:b:set"], ["access=presence", "type=roster"],
      ])
    // Permissions that are withdrawn are announced as none.
    #expect(
      try perms(Privileges(requests: ["urn:a": .get]), before: all) == [
        ["access=roster", "type=none", "push=false"], ["access=message", "type=none"],
        ["access=iq", "urn:a:get", "urn:b:none"], ["access=presence", "type=none"],
      ])
  }
}

@Suite("Namespace delegation (XEP-0355)")
struct NamespaceDelegationTests {
  @Test("4.1") func managers() throws {
    let delegations = Delegations([
      "capulet.lit": [
        Delegation("urn:xmpp:mam:2", attributes: ["node", "ver"], to: "mam.capulet.lit"),
        Delegation("urn:x", to: "x.capulet.lit"), Delegation("urn:x", to: "y.capulet.lit"),
      ], "montague.lit": [],
    ])
    func manager(_ payload: String, in domain: String = "capulet.lit") throws -> String? {
      delegations.manager(of: try stanza(payload), in: domain)?.component
    }
    #expect(try manager("<query xmlns='urn:xmpp:mam:2' node='n' ver='1'/>") == "mam.capulet.lit")
    #expect(try manager("<query xmlns='urn:xmpp:mam:2' node='n'/>") == nil)
    #expect(try manager("<any xmlns='urn:x' other='1'/>") == "x.capulet.lit")
    #expect(try manager("<any xmlns='urn:x:y'/>") == nil)
    #expect(try manager("<any xmlns='urn:x'/>", in: "montague.lit") == nil)
    #expect(!Delegation.isPossible("urn:xmpp:delegation:2"))
    #expect(Delegations(["capulet.lit": []]).isEmpty)
  }

  private func content(
    _ inner: String, _ initial: NamespaceDelegation.Initial, type: String = "result"
  ) throws -> Element? {
    let answer = try #require(
      Stanza(
        try stanza(
          "<iq from='pubsub.capulet.lit' to='capulet.lit' id='d' type='\(type)'><delegation xmlns='urn:xmpp:delegation:2'>"
            + "<forwarded xmlns='urn:xmpp:forward:0'>\(inner)</forwarded></delegation></iq>")))
    return initial.content(of: answer)
  }

  @Test("4.3") func answers() throws {
    let from = try JID("juliet@capulet.lit/balcony")
    let account = NamespaceDelegation.Initial(id: "pep1", from: from, to: nil)
    let server = NamespaceDelegation.Initial(id: "pep1", from: from, to: try JID("capulet.lit"))
    let good =
      "<iq xmlns='jabber:client' to='juliet@capulet.lit/balcony' id='pep1' type='result'><a xmlns='urn:x'/></iq>"
    #expect(try content(good, account)?.children.map(\.namespace) == ["urn:x"])
    #expect(try content(good, server) != nil)
    let signed = good.replacing("id=", with: "from='juliet@capulet.lit' id=")
    #expect(try content(signed, account) != nil)
    #expect(try content(signed, server) == nil)
    #expect(try content(good.replacing("id=", with: "from='capulet.lit' id="), server) != nil)
    for bad in [
      good.replacing("balcony", with: "hall"), good.replacing("pep1", with: "pep2"),
      good.replacing("'result'", with: "'error'"), good.replacing("to='juliet@capulet.lit/balcony'", with: ""), "",
      good.replacing("iq", with: "message"), good.replacing("id=", with: "from='@' id="),
    ] { #expect(try content(bad, account) == nil, "\(bad)") }
    #expect(try content(good, account, type: "error") == nil)
  }

  @Test("7.2") func discovery() throws {
    let table = Features.table()
    let whole = table.capabilities(of: .account)
    let rest = table.capabilities(of: .account, without: ["\(NS.pubsub)"])
    #expect(whole.identities.contains { $0.type == "pep" } && !rest.identities.contains { $0.type == "pep" })
    #expect(!rest.features.contains { $0.hasPrefix("\(NS.pubsub)") && $0 != "\(NS.pubsub)#publish-options" })
    #expect(rest.features.contains("\(NS.mam)"))
    #expect(table.capabilities(of: .account, without: ["urn:x"]) == whole)

    let nested = NestedDiscovery()
    let (old, new) = (SessionID(1), SessionID(2))
    nested.begin("a.lit", old)
    nested.begin("a.lit", new)
    // An answer to the connection before arrives late.
    nested.add("a.lit", old) { $0.server.features.append("urn:old") }
    nested.add("a.lit", new) { $0.server.add(Capabilities(identities: [], features: ["urn:new", "urn:new2"])) }
    nested.add("a.lit", new) { $0.server.add(Capabilities(identities: [], features: ["urn:new", "urn:new3"])) }
    #expect(nested.information(by: "a.lit")?.server.features == ["urn:new", "urn:new2", "urn:new3"])
    nested.end("a.lit", old)
    #expect(nested.information(by: "a.lit") != nil)
    nested.end("a.lit", new)
    #expect(nested.information(by: "a.lit") == nil)
    // The answers are composed anew after each.
    #expect(nested.version == 7)
  }

  @Test func delegatedRequestsArePassedOnUnchanged() throws {
    let request = try #require(
      Stanza(try stanza("<iq id='pep1' type='set' to='capulet.lit' xml:lang='en'><a xmlns='urn:x' b='1'>t</a></iq>")))
    let passed = try element { NamespaceDelegation.write(request, from: "juliet@capulet.lit/balcony", into: &$0) }
    let inner = try #require(passed.first(.forwarded)?.first(.iq))
    #expect(passed.namespace == "urn:xmpp:delegation:2")
    #expect(inner["from"] == "juliet@capulet.lit/balcony" && inner["to"] == "capulet.lit")
    #expect(inner["id"] == "pep1" && inner["type"] == "set" && inner.language == "en")
    #expect(inner.children.map(\.text) == ["t"])
  }
}

@Suite("Requests of the server")
struct QuestionsTests {
  private func answer(_ id: String, _ type: String = "result") throws -> Stanza {
    try #require(Stanza(try stanza("<iq id='\(id)' type='\(type)' from='a.lit' to='b.lit'/>")))
  }

  @Test func answersAreOfWhoWasAsked() async throws {
    let questions = Questions()
    let (asked, other) = (try JID("a.lit"), try JID("x@a.lit"))
    let right = try answer("q")
    let found = await questions.wait(for: "q", from: asked) {
      #expect(!questions.answered(right, from: other))
      #expect(questions.answered(right, from: asked))
      // Once.
      #expect(!questions.answered(right, from: asked))
      return true
    }
    #expect(found == right)
    #expect(await questions.wait(for: "n", from: asked) { false } == nil)
    let gone = await questions.wait(for: "g", from: asked) {
      questions.gone("b.lit")
      questions.gone("a.lit")
      return true
    }
    #expect(gone == nil)
    #expect(!questions.answered(try answer("g"), from: asked))
  }

  @Test("XEP-0357 7.1") func theAnswersOfAService() throws {
    #expect(PushPublisher.outcome(of: try answer("q")) == .taken)
    func error(_ type: String, _ condition: String) throws -> PushOutcome {
      PushPublisher.outcome(
        of: try #require(
          Stanza(
            try stanza(
              "<iq id='q' type='error'><error type='\(type)'><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
                + "</error></iq>"))))
    }
    #expect(try error("cancel", "gone") == .refused)
    #expect(try error("cancel", "item-not-found") == .refused)
    #expect(try error("wait", "resource-constraint") == .failed)
    #expect(try error("cancel", "recipient-unavailable") == .failed)
    // Of the service, not of the node.
    #expect(try error("cancel", "service-unavailable") == .failed)
    #expect(try error("cancel", "internal-server-error") == .failed)
    #expect(try error("cancel", "feature-not-implemented") == .failed)
    #expect(try error("auth", "forbidden") == .refused)
  }
}
