import DialogsFixtures
import Logging
import NIOCore
import NIOPosix
import Peers
import Testing

@testable import XMPP
@testable import XMPPDoor

/// The connection of a component on its event loop.
@Suite(.timeLimit(.minutes(1))) struct ComponentConnectionTests {
  /// A silent component is sent whitespace, which the kernel of its machine has to acknowledge.
  @Test func aSilentComponentIsSentASignOfLife() async throws {
    let stage = try Stage(remotes: ["irc.localhost"])
    let component = DoorContext.Options.Component(secret: "prospero", home: "localhost")
    let door = DoorContext(
      accounts: stage.accounts,
      options: DoorContext.Options(domains: ["localhost"], version: "1", components: ["irc.localhost": component]),
      logger: Logger(label: "component") { _ in SwiftLogNoOpLogHandler() })
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let listener = try await XMPPListener(door: door, group: group, tls: { _ in nil })
    let peer = try await RawServer(group, port: try await listener.listenForComponents(host: "127.0.0.1", port: 0))
    let header = try await peer.ask(
      "<stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' "
        + "to='irc.localhost'>", until: " id='")
    let rest = try #require(header.split(separator: " id='").last)
    let id = String(rest.prefix { $0 != "'" })
    let proof = String(decoding: ComponentMachine.proof(id: id, secret: "prospero"), as: UTF8.self)
    try await peer.ask("<handshake>\(proof)</handshake>", until: "<handshake/>")

    let place = try #require(listener.mounted.first)
    let timeout = try await place.loop.submit {
      let connections = place.loopContext.value.allComponents
      let now = NIODeadline.now()
      for after in [DoorLimits.componentKeepAlive + .seconds(1), .seconds(1)] {
        for connection in connections { connection.tick(now + after) }
      }
      return try connections.first?.context?.channel.syncOptions?.getOption(.userTimeout)
    }.get()
    #expect(await peer.read(to: " ") == " ")
    // A time-out of the kernel would also end the connection of a component that reads slowly.
    #expect(timeout == 0)
    try await peer.close()
    await listener.stopAccepting()
    try await group.shutdownGracefully()
  }
}
