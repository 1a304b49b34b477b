public import Basics
public import Dialogs
public import HTTPPort
import Logging
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
  /// The lanes of the event loops, which sessions of other doors on the same loops share: a loop has one slice at a time of
  /// all that goes to many.
  public var lanes: [ObjectIdentifier: Lane] { loopContexts.mapValues(\.lane) }
  private let channels = Locked<[any Channel]>([])
  /// The streams that are not authenticated yet.
  let unauthenticated: ConnectionBound
  /// The memory of what is not logged in.
  let memory: MemoryBound
  let all: OpenConnections
  private let loggedIn: LoggedInConnections?
  let connections: PacedConnections?
  let handshakes: PacedConnections?
  /// The proxies whose connections begin with a header; `nil` for none.
  let proxies: ProxyProtocol?
  /// The memory that all pending requests to components and push services take at most.
  public static let questionBytesMost = DoorLimits.questionsWaitingMax * DoorLimits.questionBytes

  /// Whether there are bounds by network.
  let boundsByNetwork: Bool

  ///
  /// - Parameters:
  ///   - tls: the current certificates, asked for each new connection; they should offer ALPN `xmpp-client`.
  ///   - exporters: the key log of the TLS contexts; without one, logins cannot be bound by `tls-exporter`.
  ///   - boundsByNetwork: whether the network with the most streams before login gives way; otherwise the oldest of all
  ///     streams does.
  ///   - unauthenticatedMax: the streams before login, by default as many as the door ever has.
  ///   - memory: the memory of the streams before login, and of those of servers that are not verified.
  ///   - all: the open connections of all ports. When they are at their bound, a newcomer needs the place of a stream
  ///     before login.
  ///   - loggedIn: the connections of logged-in users at all ports; `nil` where they have no bound.
  ///   - connections: the pace of connections that begin in the clear; `nil` for none.
  ///   - handshakes: the pace of TLS handshakes; `nil` for none.
  ///   - proxies: the proxies whose connections begin with a header; `nil` for none.
  public init(
    door: DoorContext, group: any EventLoopGroup, tls: @escaping TLSProvider, exporters: TLSExporters? = nil,
    boundsByNetwork: Bool = true, unauthenticatedMax: Int? = nil, memory: MemoryBound = MemoryBound(),
    all: OpenConnections = OpenConnections(), loggedIn: LoggedInConnections? = nil,
    connections: PacedConnections? = nil, handshakes: PacedConnections? = nil, proxies: ProxyProtocol? = nil
  ) async throws {
    self.memory = memory
    self.all = all
    self.loggedIn = loggedIn
    self.connections = connections
    self.handshakes = handshakes
    self.proxies = proxies
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
    let isFull = all.isFull
    all.opened(channel)
    guard let proxies else { return try open(channel, directTLS: directTLS, of: channel.remoteAddress, isFull: isFull) }
    try proxies.accept(channel) { [self] client in
      try open(channel, directTLS: directTLS, of: client, isFull: isFull)
    }
  }

  private func open(_ channel: any Channel, directTLS: Bool, of client: SocketAddress?, isFull: Bool) throws {
    let network = Self.network(client)
    let connection = try connect(
      on: channel.eventLoop, framing: .document, isSecured: directTLS, peer: network, isFull: isFull
    ) { [loggedIn] _ in loggedIn?.admit(channel, of: network) ?? true }
    let transport = TCPTransport(
      connection, of: client, tls: tls, exporters: exporters, handshakes: handshakes)
    do {
      if directTLS {
        guard tls(nil) != nil else { throw ChannelError.operationUnsupported }
        try transport.secure(channel)
      } else {
        try connections?.pace(channel, of: client)
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
  ///   - onLogin: called on the loop with the user's address when the client has logged in. Returns `false` if the client's network has
  ///     as many connections as it may have.
  func connect(
    on loop: any EventLoop, framing: StreamFraming, isSecured: Bool, peer: String, isFull: Bool = false,
    onLogin: @escaping @Sendable (_ user: String) -> Bool = { _ in true }
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
      door: door, loopContext: loopContext, framing: framing, isSecured: isSecured, peer: peer,
      memory: memory.enter(peer) { loop.execute { opened.value?.giveMemoryUp() } }
    ) { [unauthenticated] user in
      if let user, !onLogin(user) { return false }
      unauthenticated.release(place)
      return true
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

  /// Ends all streams with `system-shutdown`. Returns the resumable sessions as values for the next start, as far as they
  /// are within the bounds of what a stop stores.
  public func shutDown() async -> [SuspendedSession] {
    var sizes: [Int] = []
    // All loops deliver at the same time what waits in their lanes: of a flood that takes each of them seconds.
    let asked = loopContexts.values.map { mounted in
      let loopContext = mounted.loopContext
      return mounted.loop.submit { loopContext.value.archivedSizes() }
    }
    for ofLoop in asked { sizes += (try? await ofLoop.get()) ?? [] }
    var kept: [SuspendedSession] = []
    var share = ArchiveShare(sizes: sizes, bytesMax: SessionArchive.bytesMax(memory: AllowedMemory.bytes))
    for mounted in loopContexts.values {
      let loopContext = mounted.loopContext
      let stopped = try? await mounted.loop.submit { [share] in loopContext.value.shutDown(share) }.get()
      guard let stopped else { continue }
      kept += stopped.kept
      share = stopped.share
    }
    report(kept.count, share)
    return kept
  }

  /// Counts and logs what a stop stores, in a line or two.
  private func report(_ kept: Int, _ share: ArchiveShare) {
    let archived = door.parley.metrics.sessionsArchived
    archived.add(.stored, kept)
    archived.add(.tooLarge, share.tooLarge)
    archived.add(.noRoom, share.withoutRoom)
    if kept > 0 {
      door.logger.info("stores sessions for the next start", metadata: ["count": "\(kept)", "bytes": "\(share.bytes)"])
    }
    if share.tooLarge + share.withoutRoom > 0 {
      door.logger.warning(
        "sessions are not stored, and their clients log in anew",
        metadata: ["tooLarge": "\(share.tooLarge)", "withoutRoom": "\(share.withoutRoom)"])
    }
  }

  /// Restores the sessions that the former process has stored; expired ones end. Nothing in the store changes. Returns the
  /// number of the sessions.
  public func restore() async throws(Problem) -> Int {
    guard let mounted = loopContexts.values.first else { return 0 }
    let bytesMax = SessionArchive.bytesMax(memory: AllowedMemory.bytes)
    let found = try await door.parley.read { reader in
      try reader.suspended(bytesMax: DoorLimits.archivedStateBytesMax, inAll: bytesMax).map { session in
        // A session that deletes its own account is live until the last of the data is removed, so a stop may have stored it.
        let user = try reader.user(session.user)
        return (session: session, party: user?.state == .active ? user?.party : nil)
      }
    }
    let loopContext = mounted.loopContext
    let restored = try? await mounted.loop.submit { [door] in
      found.count { SessionArchive.restore($0.session, of: $0.party, door: door, loopContext: loopContext.value) }
    }.get()
    door.parley.metrics.sessionsArchived.add(.restored, restored ?? 0)
    return restored ?? 0
  }
}
