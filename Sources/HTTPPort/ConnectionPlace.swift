package import Basics
package import NIOCore
import NIOHTTP1
import Synchronization

/// The place of an HTTP connection among those without a login, of which the network with the most gives way to newcomers. A
/// WebSocket has none from its login on, and a connection has none while a request of a logged-in user is under way.
final class ConnectionPlace: ChannelDuplexHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private struct State {
    var network: String
    var id: ConnectionBound.ID?
    /// The number of admissions, of which only the last can give way.
    var admissions = 0
    var isLoggedIn = false
    var isOver = false
  }

  private let connections: ConnectionBound
  private let proxies: TrustedProxies
  private let channel: any Channel
  /// Whether a trusted proxy has opened it, whose requests name their clients.
  private let isProxied: Bool
  private let state: Mutex<State>

  /// - Parameter channel: The connection, whose end releases the place.
  init(_ connections: ConnectionBound, _ proxies: TrustedProxies, _ channel: any Channel) {
    self.connections = connections
    self.proxies = proxies
    self.channel = channel
    isProxied = proxies.contains(channel.remoteAddress)
    state = Mutex(State(network: channel.remoteAddress.map { ClientAddress.network($0) } ?? "local"))
    channel.closeFuture.whenComplete { _ in self.over() }
  }

  /// Returns whether the connection was admitted.
  ///
  /// - Parameter isFull: Whether there is room only in the place of another connection.
  func enter(isFull: Bool = false) -> Bool {
    state.withLock { state in
      if state.isOver { return false }
      if state.isLoggedIn { return true }
      state.admissions += 1
      let admission = state.admissions
      state.id = connections.admit(state.network, isFull: isFull) { [self] in
        channel.eventLoop.execute { self.giveWay(admission) }
      }
      return state.id != nil
    }
  }

  /// Closes the connection for a newcomer, unless a login was faster.
  private func giveWay(_ admission: Int) {
    let isLast = state.withLock { $0.id != nil && $0.admissions == admission }
    if isLast { channel.close(promise: nil) }
  }

  private func leave() {
    state.withLock { state in
      if let id = state.id { connections.release(id) }
      state.id = nil
    }
  }

  private func over() {
    state.withLock { $0.isOver = true }
    leave()
  }

  /// Notes that the client is a logged-in user: of a WebSocket for good, of a request until its response has ended.
  func logIn() {
    state.withLock { $0.isLoggedIn = true }
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

  private func isCounted(to network: String) -> Bool {
    let isOther = state.withLock { state in
      defer { state.network = network }
      return state.network != network
    }
    guard isOther else { return true }
    leave()
    return enter()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { ended() }
    context.write(data, promise: promise)
  }

  private func ended() {
    let wasLoggedIn = state.withLock { state in
      defer { state.isLoggedIn = false }
      return state.isLoggedIn
    }
    if wasLoggedIn { _ = enter() }
  }
}

/// The places of the open connections of a port by their channels, where a request finds its own on any thread.
final class ConnectionPlaces: Sendable {
  private let places = Mutex<[ObjectIdentifier: ConnectionPlace]>([:])

  func add(_ place: ConnectionPlace, of channel: any Channel) {
    let id = ObjectIdentifier(channel)
    places.withLock { $0[id] = place }
    channel.closeFuture.whenComplete { [self] _ in
      places.withLock { _ = $0.removeValue(forKey: id) }
    }
  }

  subscript(channel: any Channel) -> ConnectionPlace? {
    places.withLock { $0[ObjectIdentifier(channel)] }
  }
}

extension OpenConnections {
  /// Counts a connection until it is closed.
  package func opened(_ channel: any Channel) {
    opened()
    channel.closeFuture.whenComplete { _ in self.closed() }
  }
}
