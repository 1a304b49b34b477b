import Basics
import Dialogs
import Glibc
import HTTPPort
package import Logging
package import NIOCore
import NIOHTTP1
import NIOPosix
package import ServerConfiguration

/// The admin socket of a running server: HTTP/1.1 with JSON over a Unix socket, `POST /users.add` and so on. Only the
/// server's own user and root may use it: the file has mode 0600, and each peer's credentials are checked as well.
package final class AdminSocket: Sendable {
  private let channel: any Channel

  /// Opens the socket. A socket file left by a crash is replaced: the holder of the data folder's lock owns it.
  ///
  /// - Parameter folder: the data folder that answers name.
  package static func listen(
    at path: String, of folder: String, group: any EventLoopGroup, context: AdminContext, logger: Logger
  ) async throws(StartupError) -> AdminSocket {
    let folder = ServedFolder(folder)
    do {
      // The file never has a wider mode: it is created with the process's umask of 077 and then narrowed to 0600.
      let channel = try await ServerBootstrap(group: group)
        .serverChannelInitializer(AcceptPause.initializer(context.parley.metrics, logger))
        .serverChannelOption(.backlog, value: Int32(AdminLimits.connectionsMax))
        .childChannelInitializer { channel in accept(channel, folder, context: context, logger: logger) }
        .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
      guard chmod(path, 0o600) == 0 else {
        let reason = Files.reason(errno)
        try? await channel.close()
        throw StartupError("the admin socket \(path) cannot be protected: \(reason)")
      }
      return AdminSocket(channel)
    } catch let refusal as StartupError {
      throw refusal
    } catch {
      let isForbidden = (error as? IOError)?.errnoCode == EACCES
      let reason = isForbidden ? Files.reason(EACCES) : Listening.reason(error)
      throw StartupError("the admin socket \(path) cannot be opened: \(reason)")
    }
  }

  private init(_ channel: any Channel) { self.channel = channel }

  package func close() async { try? await channel.close() }

  /// `struct ucred` of unix(7).
  private struct PeerCredentials: Sendable {
    var process: Int32 = 0
    var user: UInt32 = 0
    var group: UInt32 = 0
  }

  private static func accept(
    _ channel: any Channel, _ folder: ServedFolder, context: AdminContext, logger: Logger
  ) -> EventLoopFuture<Void> {
    guard let provider = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }
    let credentials: EventLoopFuture<PeerCredentials> = provider.unsafeGetSocketOption(
      level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    return credentials.flatMapThrowing { peer in
      guard peer.user == getuid() || peer.user == 0 else {
        logger.warning("refused an admin connection", metadata: ["uid": "\(peer.user)"])
        throw ChannelError.operationUnsupported
      }
      let pipeline = channel.pipeline.syncOperations
      try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: true, withErrorHandling: true)
      try pipeline.addHandler(NIOHTTPServerRequestAggregator(maxContentLength: AdminLimits.requestBytesMax))
      let actor = AuditActor(.socket, name: "uid \(peer.user)", origin: "process \(peer.process)")
      try pipeline.addHandler(AdminHandler(folder, context: context.acting(actor)))
    }
  }
}

/// Serves one request at a time; the aggregator and HTTP's pipelining handler guarantee that.
private final class AdminHandler: ChannelInboundHandler {
  typealias InboundIn = NIOHTTPServerRequestFull
  typealias OutboundOut = HTTPServerResponsePart

  private let folder: ServedFolder
  private let admin: AdminContext

  init(_ folder: ServedFolder, context: AdminContext) {
    self.folder = folder
    self.admin = context
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let request = unwrapInboundIn(data)
    let channel = context.channel
    let (admin, folder) = (admin, folder)
    let body = request.body.map { Array($0.readableBytesView) } ?? []
    let name = String(request.head.uri.drop { $0 == "/" })
    let isPost = request.head.method == .POST
    let keepAlive = request.head.isKeepAlive
    // A peer that disconnects does not cancel the operation.
    Task {
      let answer =
        isPost
        ? await AdminOperations.answer(name, body, in: admin)
        : (status: 405, body: Array("{\"text\":\"POST is expected.\"}".utf8))
      var headers = HTTPHeaders([
        ("content-type", "application/json"), ("content-length", "\(answer.body.count)"),
        (ServedFolder.field, folder.text),
      ])
      if !keepAlive { headers.add(name: "connection", value: "close") }
      let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
      channel.write(HTTPServerResponsePart.head(head), promise: nil)
      channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: answer.body))), promise: nil)
      try? await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
      if !keepAlive { try? await channel.close() }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Describes why a socket cannot listen.
package enum Listening {
  package static func reason(_ error: any Error) -> String {
    guard let error = error as? IOError else { return Line.safe("\(error)") }
    switch error.errnoCode {
    case EADDRINUSE: return "the address is in use; sudo ss -ltnp shows by which process"
    case EADDRNOTAVAIL: return "this machine has no such address"
    case EACCES:
      return
        "permission denied; ports below 1024 need CAP_NET_BIND_SERVICE: set one from 1024 on, or sudo systemctl edit "
        + "parley and add AmbientCapabilities=CAP_NET_BIND_SERVICE under [Service]"
    case EAFNOSUPPORT: return "this machine has no IPv6; name an address of IPv4, such as 0.0.0.0"
    default: return Files.reason(error.errnoCode)
    }
  }
}
