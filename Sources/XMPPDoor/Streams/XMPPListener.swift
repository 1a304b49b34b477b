public import Basics
public import Dialogs
public import HTTPPort
public import NIOCore
import NIOPosix
import NIOSSL
import ServerMetrics
import Synchronization
import XMPP

/// Accepts XMPP connections: STARTTLS on one port, direct TLS (XEP-0368) on another. All listeners of the door share
/// one loopContext per event loop.
///
///     let identities = try certificates.identities(protocols: ["xmpp-client"], keyLog: exporters.log)
///     let listener = try await XMPPListener(door: context, group: group, tls: identities, exporters: exporters)
///     try await listener.listen(host: "::", port: 5222, directTLS: false)
///     let suspended = await listener.shutDown()
public final class XMPPListener: Sendable {
  let door: DoorContext
  let group: any EventLoopGroup
  private let tls: TLSProvider
  private let exporters: TLSExporters?
  /// The door's event loops.
  let mounted: [MountedLoop]
  private let loopContexts: [ObjectIdentifier: MountedLoop]
  private let channels = Locked<[any Channel]>([])
  /// The streams that are not authenticated yet.
  let unauthenticated: ConnectionBound
  let all: OpenConnections
  let handshakes: TLSHandshakes?
  /// Whether there are bounds by network.
  let boundsByNetwork: Bool

  ///
  /// - Parameters:
  ///   - tls: the current certificates, asked for each new connection; they should offer ALPN `xmpp-client`.
  ///   - exporters: the key log of the TLS contexts; without one, logins cannot be bound by `tls-exporter`.
  ///   - boundsByNetwork: whether the network with the most streams before login gives way; otherwise the oldest of all
  ///     streams does.
  ///   - unauthenticatedMax: the streams before login, by default as many as the door ever has.
  ///   - all: the open connections of all ports. When they are at their bound, a newcomer needs the place of a stream
  ///     before login.
  ///   - handshakes: the pace of TLS handshakes; `nil` for none.
  public init(
    door: DoorContext, group: any EventLoopGroup, tls: @escaping TLSProvider, exporters: TLSExporters? = nil,
    boundsByNetwork: Bool = true, unauthenticatedMax: Int? = nil, all: OpenConnections = OpenConnections(),
    handshakes: TLSHandshakes? = nil
  ) async throws {
    self.all = all
    self.handshakes = handshakes
    self.door = door
    self.group = group
    self.tls = tls
    self.exporters = exporters
    self.boundsByNetwork = boundsByNetwork
    unauthenticated = ConnectionBound(
      max: min(unauthenticatedMax ?? .max, DoorLimits.unauthenticatedMax), isByNetwork: boundsByNetwork
    ) { door.lost($0, "streams-before-login") }
    var mounted: [MountedLoop] = []
    for loop in group.makeIterator() { mounted.append(try await MountedLoop.mount(loop, door.parley.metrics)) }
    self.mounted = mounted
    loopContexts = Dictionary(uniqueKeysWithValues: mounted.map { (ObjectIdentifier($0.loop), $0) })
  }

  /// Binds and serves. Returns the port that was bound (for port 0).
  @discardableResult
  public func listen(host: String, port: Int, directTLS: Bool) async throws -> Int {
    let channel = try await ServerBootstrap(group: group)
      .serverChannelInitializer(AcceptPause.initializer(door.parley.metrics, door.logger))
      .serverChannelOption(.backlog, value: 4_096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.unsentBytes, value: UnsentBytes.most)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.recvAllocator, value: ReadBuffers())
      .childChannelOption(.allocator, value: TLSBuffers.allocator)
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 32 * 1_024, high: 256 * 1_024))
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture { try accept(channel, directTLS: directTLS) }
      }
      .bind(host: host, port: port).get()
    channels.withLock { $0.append(channel) }
    return channel.localAddress?.port ?? port
  }

  /// Binds and serves components (XEP-0114). Returns the port that was bound.
  @discardableResult
  public func listenForComponents(host: String, port: Int) async throws -> Int {
    let count = Counter()
    let channel = try await ServerBootstrap(group: group)
      .serverChannelInitializer(AcceptPause.initializer(door.parley.metrics, door.logger))
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_keepalive), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.unsentBytes, value: UnsentBytes.most)
      // The next bytes are read when the last ones have been processed.
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 32 * 1_024, high: 256 * 1_024))
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture {
          guard let loopContext = loopContexts[ObjectIdentifier(channel.eventLoop)]?.loopContext.value,
            count.value.wrappingAdd(1, ordering: .relaxed).newValue <= DoorLimits.componentConnectionsMax
          else {
            count.value.wrappingSubtract(1, ordering: .relaxed)
            throw ChannelError.ioOnClosedChannel
          }
          channel.closeFuture.whenComplete { _ in count.value.wrappingSubtract(1, ordering: .relaxed) }
          try channel.pipeline.syncOperations.addHandler(
            ComponentConnection(
              door: door, loopContext: loopContext, peer: channel.remoteAddress?.ipAddress ?? "unknown"))
        }
      }
      .bind(host: host, port: port).get()
    channels.withLock { $0.append(channel) }
    return channel.localAddress?.port ?? port
  }

  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
  }

  private func accept(_ channel: any Channel, directTLS: Bool) throws {
    let connection = try connect(
      on: channel.eventLoop, framing: .document, isSecured: directTLS,
      peer: Self.network(channel.remoteAddress), isFull: all.isFull)
    all.opened(channel)
    let transport = TCPTransport(connection, tls: tls, exporters: exporters, handshakes: handshakes)
    do {
      if directTLS {
        guard tls(nil) != nil else { throw ChannelError.operationUnsupported }
        try transport.secure(channel)
      }
      try channel.pipeline.syncOperations.addHandler(transport)
    } catch {
      connection.lost()
      throw error
    }
  }

  /// Returns a new stream, which its transport opens. Called on its loop.
  ///
  /// - Parameters:
  ///   - peer: the network that wrong passwords count against.
  ///   - isFull: whether there is room only in the place of another stream.
  ///   - onLogin: called on the loop when the client has logged in.
  func connect(
    on loop: any EventLoop, framing: StreamFraming, isSecured: Bool, peer: String, isFull: Bool = false,
    onLogin: @escaping @Sendable () -> Void = {}
  ) throws -> XMPPConnection {
    guard let loopContext = loopContexts[ObjectIdentifier(loop)]?.loopContext.value else {
      throw ChannelError.operationUnsupported
    }
    let opened = NIOLoopBoundBox<XMPPConnection?>(nil, eventLoop: loop)
    // The stream exists when this runs, since it is executed behind the work that is under way on the loop.
    let giveWay: @Sendable () -> Void = { loop.execute { opened.value?.giveWay() } }
    guard let place = unauthenticated.admit(peer, isFull: isFull, close: giveWay) else {
      throw ChannelError.ioOnClosedChannel
    }
    let connection = XMPPConnection(
      door: door, loopContext: loopContext, framing: framing, isSecured: isSecured, peer: peer
    ) { [unauthenticated] isLoggedIn in
      unauthenticated.release(place)
      if isLoggedIn { onLogin() }
    }
    opened.value = connection
    return connection
  }

  /// Returns the network that per-address limits count.
  private static func network(_ address: SocketAddress?) -> String {
    address.map { ClientAddress.network($0) } ?? "unknown"
  }

  /// Tells the connected components that their privileges have changed.
  public func privilegesChanged() {
    for mounted in loopContexts.values {
      let loopContext = mounted.loopContext
      mounted.loop.execute { loopContext.value.privilegesChanged() }
    }
  }

  /// Stops accepting; existing connections go on.
  public func stopAccepting() async {
    let open = channels.withLock { channels in
      defer { channels = [] }
      return channels
    }
    for channel in open { try? await channel.close().get() }
  }

  /// Ends all streams with `system-shutdown`. Returns the resumable sessions as values for the next start.
  public func shutDown() async -> [SuspendedSession] {
    var kept: [SuspendedSession] = []
    for mounted in loopContexts.values {
      let loopContext = mounted.loopContext
      let sessions = try? await mounted.loop.submit { loopContext.value.shutDown() }.get()
      kept += sessions ?? []
    }
    return kept
  }

  /// Restores sessions from before a restart; expired ones end.
  public func restore(_ sessions: [SuspendedSession]) async {
    guard let mounted = loopContexts.values.first else { return }
    let door = door
    let loopContext = mounted.loopContext
    try? await mounted.loop.submit {
      for session in sessions { SessionArchive.restore(session, door: door, loopContext: loopContext.value) }
    }.get()
  }
}
