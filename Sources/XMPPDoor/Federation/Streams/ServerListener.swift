import Basics
import Dialogs
import HTTPPort
import NIOCore
import NIOPosix
import Peers
import XMPP

/// Accepts streams of other servers: STARTTLS on one port, direct TLS (XEP-0368) on another.
///
///     let listener = ServerListener(streams, mounted: xmpp.mounted, group: group, owner: federation)
///     try await listener.listen(host: "::", port: 5269, directTLS: false)
final class ServerListener: Sendable {
  private let streams: ServerStreams
  private let mounted: [ObjectIdentifier: MountedLoop]
  private let group: any EventLoopGroup
  private let owner: any FederationStreamOwner
  private let channels = Locked<[any Channel]>([])
  /// The streams that are not verified yet (RFC 6120 13.12).
  private let unverified: ConnectionBound
  private let boundsByNetwork: Bool
  private let memory: MemoryBound
  private let all: OpenConnections
  private let proxies: ProxyProtocol?

  init(
    _ streams: ServerStreams, mounted: [MountedLoop], group: any EventLoopGroup, owner: any FederationStreamOwner,
    boundsByNetwork: Bool = true, memory: MemoryBound = MemoryBound(), all: OpenConnections = OpenConnections(),
    proxies: ProxyProtocol? = nil
  ) {
    self.boundsByNetwork = boundsByNetwork
    self.memory = memory
    self.all = all
    self.proxies = proxies
    unverified = ConnectionBound(
      max: FederationLimits.unverifiedMax, perNetworkMax: FederationLimits.unverifiedPerAddressMax,
      ownAge: FederationLimits.unverifiedUndisturbed, isByNetwork: boundsByNetwork
    ) { [door = streams.door] in door.lost($0, "server-streams-before-verification") }
    self.streams = streams
    self.mounted = Dictionary(uniqueKeysWithValues: mounted.map { (ObjectIdentifier($0.loop), $0) })
    self.group = group
    self.owner = owner
  }

  /// Binds and serves. Returns the port that was bound (for port 0).
  @discardableResult
  func listen(host: String, port: Int, directTLS: Bool) async throws -> Int {
    let channel = try await ServerBootstrap(group: group)
      .serverChannelInitializer(AcceptPause.initializer(streams.door.parley.metrics, streams.door.logger))
      .serverChannelOption(.backlog, value: 1_024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_keepalive), value: 1)
      .childChannelOption(.userTimeout, value: PeerLimits.transmission)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.unsentBytes, value: UnsentBytes.most)
      // The next bytes are read when the last ones have been processed.
      .childChannelOption(.autoRead, value: false)
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

  private func accept(_ channel: any Channel, directTLS: Bool) throws {
    let isFull = all.isFull
    all.opened(channel)
    guard let proxies else { return try open(channel, directTLS: directTLS, of: channel.remoteAddress, isFull: isFull) }
    try proxies.accept(channel) { [self] client in
      try open(channel, directTLS: directTLS, of: client, isFull: isFull)
    }
  }

  private func open(_ channel: any Channel, directTLS: Bool, of client: SocketAddress?, isFull: Bool) throws {
    let address = client.map { ClientAddress.network($0) } ?? "unknown"
    let opened = NIOLoopBoundBox<ServerConnection?>(nil, eventLoop: channel.eventLoop)
    // When this runs, the stream exists, since the loop executes it after the present work.
    let giveWay: @Sendable () -> Void = {
      channel.eventLoop.execute {
        if opened.value?.isVerified == false { channel.pipeline.syncOperations.cut() }
      }
    }
    guard let place = mounted[ObjectIdentifier(channel.eventLoop)],
      let id = unverified.admit(address, isFull: isFull, close: giveWay)
    else {
      throw ChannelError.ioOnClosedChannel
    }
    let connection = ServerConnection(
      streams, loopContext: place.loopContext.value,
      .accepted(owner, isDirectTLS: directTLS) { [unverified] in unverified.release(id) },
      peer: client?.description ?? address, network: boundsByNetwork ? address : nil, client: client)
    opened.value = connection
    connection.memory = memory.enter(address) { channel.eventLoop.execute { opened.value?.giveMemoryUp() } }
    do {
      if !directTLS { try streams.connections?.pace(channel, of: client) }
      try channel.pipeline.syncOperations.addHandler(connection)
    } catch {
      connection.abandoned("\(error)")
      throw error
    }
  }

  /// The streams that are not verified yet.
  var unverifiedCount: Int { unverified.count }

  /// Stops accepting; existing streams continue.
  func stopAccepting() async {
    let open = channels.withLock { channels in
      defer { channels = [] }
      return channels
    }
    for channel in open { try? await channel.close().get() }
  }
}
