import Testing
import XMLStream

@testable import XMPP

/// XEP-0114 from the server's side.
@Suite struct ComponentMachineTests {
  /// Returns the outputs of the machine for these bytes, as one stream.
  private func run(_ machine: inout ComponentMachine, _ text: String) -> [ComponentMachine.Output] {
    var reader = ElementReader(limits: .authenticated, contentNamespace: NS.component)
    var outputs: [ComponentMachine.Output] = []
    _ = Array(text.utf8).withUnsafeBytes { bytes in
      reader.feed(bytes) { event in
        switch event {
        case .opened(let header): outputs.append(machine.opened(header, id: "3BF96D32"))
        case .element(let element): outputs.append(machine.received(element))
        case .closed: outputs.append(machine.closed())
        case .whitespace: break
        case .violation(let violation): outputs.append(machine.violated(violation, id: "3BF96D32"))
        }
        return .proceed
      }
    }
    return outputs
  }

  private func machine() -> ComponentMachine { ComponentMachine(secrets: ["plays.shakespeare.lit": "prospero"]) }

  private func header(_ to: String = "plays.shakespeare.lit", _ content: String = "jabber:component:accept") -> String {
    "<stream:stream xmlns='\(content)' xmlns:stream='http://etherx.jabber.org/streams' to='\(to)'>"
  }

  private func response(_ from: String = "plays.shakespeare.lit") -> StreamResponse {
    StreamResponse(
      from: from, to: nil, id: "3BF96D32", language: "en", isVersioned: false, content: NS.component)
  }

  /// Made with `printf 3BF96D32prospero | sha1sum`.
  private let handshake = "<handshake>b8479486b593ae8c7ba8cd709615debc32fd4e08</handshake>"

  @Test func aRightHandshakeAttaches() throws {
    var machine = machine()
    #expect(run(&machine, header() + handshake) == [.open(response()), .attach(domain: "plays.shakespeare.lit")])
    #expect(machine.domain == "plays.shakespeare.lit")
    machine.accepted()
    #expect(machine.phase == .accepted)
    #expect(machine.closed() == .finish)
    #expect(machine.closed() == .nothing)
  }

  /// Handshakes without a secret, with another one, and in upper case.
  @Test(arguments: ["", "aaee83c26aeeafcbabeabfcbcd50df997e0a2a1e", "B8479486B593AE8C7BA8CD709615DEBC32FD4E08"])
  func aWrongOneEndsTheStream(_ proof: String) {
    var machine = machine()
    #expect(
      run(&machine, header() + "<handshake>\(proof)</handshake>")
        == [.open(response()), .refuse(nil, StreamError(.notAuthorized, "the handshake is wrong"))])
    #expect(machine.phase == .closed)
  }

  @Test func stanzasBeforeItEndTheStream() {
    var machine = machine()
    #expect(
      run(&machine, header() + "<message from='a@plays.shakespeare.lit' to='b@localhost'/>")
        == [.open(response()), .refuse(nil, StreamError(.notAuthorized, "a handshake comes first"))])
  }

  @Test func anUnknownNameIsToldSoBehindAHeader() {
    var machine = machine()
    #expect(
      run(&machine, header("other.shakespeare.lit")) == [
        .refuse(
          response(""), StreamError(.hostUnknown, "there is no component of this name in the configuration"))
      ])
  }

  @Test func anotherContentNamespaceIsRefused() {
    var machine = machine()
    #expect(
      run(&machine, header("plays.shakespeare.lit", "jabber:client")) == [
        .refuse(
          response(""),
          StreamError(.invalidNamespace, "the content namespace is not jabber:component:accept"))
      ])
  }

  @Test func stanzasAreReadAsThoseOfClients() throws {
    var machine = machine()
    _ = run(&machine, header() + handshake)
    machine.accepted()
    let text =
      "<message from='bot@plays.shakespeare.lit' to='romeo@localhost'>"
      + "<body>hi</body><x xmlns='urn:x'><body xmlns='jabber:component:accept'/></x></message>"
    let read = try stanza(
      "<message from='bot@plays.shakespeare.lit' to='romeo@localhost'>"
        + "<body>hi</body><x xmlns='urn:x'><body xmlns='jabber:client'/></x></message>")
    var reader = ElementReader(limits: .authenticated, contentNamespace: NS.component)
    var outputs: [ComponentMachine.Output] = []
    _ = Array((header() + text).utf8).withUnsafeBytes { bytes in
      reader.feed(bytes) { event in
        if case .element(let element) = event { outputs.append(machine.received(element)) }
        return .proceed
      }
    }
    #expect(outputs == [.stanza(read)])
  }

  @Test(arguments: [
    "<message to='romeo@localhost'/>", "<message from='bot@plays.shakespeare.lit'/>",
    "<message from='bot@@' to='romeo@localhost'/>",
  ])
  func aStanzaWithoutAddressesIsNoReasonToEndTheStream(_ text: String) throws {
    var machine = machine()
    _ = run(&machine, header() + handshake)
    machine.accepted()
    guard case .unaddressed = machine.received(try element(text)) else {
      Issue.record("it was taken")
      return
    }
    #expect(machine.phase == .accepted)
  }

  @Test(arguments: [
    ("<message from='romeo@localhost' to='romeo@localhost'/>", StreamError.Condition.invalidFrom),
    ("<message from='bot@sub.plays.shakespeare.lit' to='romeo@localhost'/>", .invalidFrom),
    ("<foo from='bot@plays.shakespeare.lit' to='romeo@localhost'/>", .unsupportedStanzaType),
  ])
  func aComponentThatSpeaksForOthersIsClosed(_ text: String, _ condition: StreamError.Condition) throws {
    var machine = machine()
    _ = run(&machine, header() + handshake)
    machine.accepted()
    guard case .refuse(nil, let error) = machine.received(try element(text)) else {
      Issue.record("it was taken")
      return
    }
    #expect(error.condition == condition)
    #expect(machine.phase == .closed)
  }
}
