import Addresses
import Basics
import Dialogs
import NIOCore
import Peers
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// A federation whose other server is the test: there are no sockets, streams take what is written.
struct ScriptedFederation {
  let network: ServerNetwork
  let listener: XMPPListener
  let federation: Federation
  var parley: Parley { network.door.parley }

  init(
    limits: LinkLimits = LinkLimits(), memory: SessionMemory = SessionMemory(), beforeSend: BeforeSendOptions? = nil
  ) async throws {
    network = try ServerNetwork(memory: memory, beforeSend: beforeSend)
    listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let side = ServerSide("localhost", network, place: try #require(listener.mounted.first))
    federation = Federation(
      listener, options: FederationOptions(),
      policy: DomainPolicy(FederationOptions(), clock: network.door.parley.clock), servers: side.streams,
      limits: limits)
    network.door.parley.hub.setFederation(federation)
  }

  func user(_ name: String) async throws -> Party {
    let (realm, time) = (parley.realms[0], parley.clock.now)
    let address = try #require(BareJID(parsing: "\(name)@\(realm.domain)"))
    let id = try await parley.work { try $0.insertUser(address, in: realm.id, profile: Profile(), createdAt: time).id }
    return Party(id: id, realm: realm.id, address: address)
  }

  func link(_ remote: String) throws -> FederationLink {
    try #require(federation.link(of: DomainPair(local: "localhost", remote: remote)))
  }

  func end() async throws {
    await listener.stopAccepting()
    try await network.end()
  }
}

/// A stream of a link that is written to.
final class ScriptedStream: FederationStream {
  /// What other threads may have of it.
  final class Peer: Sendable {
    let link: FederationLink
    let handle: FederationStreamHandle
    private let written: AsyncStream<String>

    fileprivate init(_ link: FederationLink, _ handle: FederationStreamHandle, _ written: AsyncStream<String>) {
      (self.link, self.handle, self.written) = (link, handle, written)
    }

    /// Returns the next stanza that was written and fits; "closed:" and the condition for the end.
    func next(_ fits: @Sendable (String) -> Bool = { _ in true }) async -> String? {
      var texts = written.makeAsyncIterator()
      while let text = await texts.next() { if fits(text) { return text } }
      return nil
    }

    /// Lets the other server send a stanza.
    func send(_ text: String) {
      let handle = handle
      link.run { driver in
        if let stanza = StanzaBytes.stanza({ $0.raw(Array(text.utf8)) }) { driver.received(stanza, on: handle) }
      }
    }

    func acknowledge(_ count: Int) {
      let handle = handle
      link.run { $0.acknowledged(count, on: handle) }
    }
  }

  private(set) lazy var handle = FederationStreamHandle(self, loop: loop)
  private let loop: any EventLoop
  private let continuation: AsyncStream<String>.Continuation
  private var unflushed = 0
  /// The highest number of stanzas that were written before a flush.
  private(set) var mostAtOnce = 0
  let acknowledges = true
  let isWritable = true
  let isClosing = false
  var status: FederationLinkStatus.Stream {
    .init(
      direction: .both, since: Timestamp(milliseconds: 0), address: "", tls: nil, verified: "test", acknowledges: true)
  }

  private init(_ loop: any EventLoop, _ continuation: AsyncStream<String>.Continuation) {
    (self.loop, self.continuation) = (loop, continuation)
  }

  /// Opens one.
  static func open(_ link: FederationLink) async -> Peer {
    let (written, continuation) = AsyncStream<String>.makeStream()
    let handle = await link.ask { driver in
      let stream = ScriptedStream(link.mounted.loop, continuation)
      driver.opened(stream.handle, mayWrite: true, isCertified: true)
      return stream.handle
    }
    return Peer(link, handle, written)
  }

  func write(_ body: (inout ElementWriter) -> Void) -> Bool {
    var writer = StreamFraming.writer()
    body(&writer)
    unflushed += 1
    continuation.yield(String(buffer: writer.buffer))
    return true
  }

  func flush() {
    mostAtOnce = max(mostAtOnce, unflushed)
    unflushed = 0
  }
  func handled() {}
  func setPaused(_ isPaused: Bool) {}
  func close(_ error: StreamError?) { continuation.yield("closed: \(error?.condition.text ?? "")") }
}
