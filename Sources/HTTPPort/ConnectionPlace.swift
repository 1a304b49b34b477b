package import Basics
package import NIOCore
import NIOHTTP1

/// The place of an HTTP connection among those without a login, of which the network with the most gives way to newcomers. A
/// WebSocket has none from its login on, and a connection has none while a request of a logged-in user is under way.
///
///  Confined to its channel's event loop, like every handler.
final class ConnectionPlace: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let connections: ConnectionBound
  private let proxies: TrustedProxies
  private let channel: any Channel
  /// Whether a trusted proxy has opened it, whose requests name their clients.
  private let isProxied: Bool
  private var network: String
  private var id: ConnectionBound.ID?
  /// The number of admissions, of which only the last can give way.
  private var admissions = 0
  private var isLoggedIn = false
  private var isOver = false

  /// - Parameter channel: The connection, whose end releases the place.
  init(_ connections: ConnectionBound, _ proxies: TrustedProxies, _ channel: any Channel) {
    self.connections = connections
    self.proxies = proxies
    self.channel = channel
    isProxied = proxies.contains(channel.remoteAddress)
    network = channel.remoteAddress.map { ClientAddress.network($0) } ?? "local"
    channel.closeFuture.whenComplete { _ in self.over() }
  }

  /// Returns whether the connection was admitted.
  ///
  /// - Parameter isFull: Whether there is room only in the place of another connection.
  func enter(isFull: Bool = false) -> Bool {
    if isOver { return false }
    if isLoggedIn { return true }
    admissions += 1
    let admission = admissions
    id = connections.admit(network, isFull: isFull) { [self] in
      channel.eventLoop.execute { self.giveWay(admission) }
    }
    return id != nil
  }

  /// Closes the connection for a newcomer, unless a login was faster.
  private func giveWay(_ admission: Int) {
    if id != nil, admissions == admission { channel.pipeline.syncOperations.cut() }
  }

  private func leave() {
    if let id { connections.release(id) }
    id = nil
  }

  private func over() {
    isOver = true
    leave()
  }

  /// Notes that the client is a logged-in user: of a WebSocket for good, of a request until its response has ended.
  func logIn() {
    isLoggedIn = true
    leave()
  }

  /// Counts the connection of a trusted proxy to the network of the client whose request it brings.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isProxied, case .head(let head) = unwrapInboundIn(data) {
      let client = ClientAddress.of(ForwardedFields(head.headers), channel.remoteAddress, proxies)
      guard isCounted(to: client) else { return context.close(promise: nil) }
    }
    context.fireChannelRead(data)
  }

  private func isCounted(to client: String) -> Bool {
    if client == network { return true }
    network = client
    leave()
    return enter()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { ended() }
    context.write(data, promise: promise)
  }

  private func ended() {
    guard isLoggedIn else { return }
    isLoggedIn = false
    _ = enter()
  }
}

extension OpenConnections {
  /// Counts a connection until it is closed.
  package func opened(_ channel: any Channel) {
    opened()
    channel.closeFuture.whenComplete { _ in self.closed() }
  }
}
