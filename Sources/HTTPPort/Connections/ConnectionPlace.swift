package import Basics
package import NIOCore
import NIOHTTP1

/// The place of an HTTP connection among those without a login, of which the network with the most gives way to newcomers. A
/// WebSocket has none from its login on, and a connection has none while a request of a logged-in user is under way whose body has
/// come. An incomplete body has the place of a connection without a login, since anyone with an account could begin any number of
/// them, except while it has come at the least rate of a body (`BodyPace.isOnTime`), as that of an upload. The connections of logged-in
/// users have a bound by network (`LoggedInConnections`), beyond which a WebSocket is refused, and a request keeps the place that gives
/// way.
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
  /// The connections of logged-in users; nil where they have no bound.
  private let loggedIn: LoggedInConnections?
  /// The network among whose connections of logged-in users this one counts; nil while it is none.
  private var loggedInNetwork: String?
  /// Whether a trusted proxy has opened it, whose requests name their clients.
  private let isProxied: Bool
  /// The network of the client of the last request.
  private(set) var network: String
  private var id: ConnectionBound.ID?
  /// The number of admissions; only the last one can still be revoked.
  private var admissions = 0
  /// Whether the client is a logged-in user: that of a WebSocket, or of the request that is answered next.
  private(set) var isLoggedIn = false
  /// Called when the response to the request of a logged-in user has ended.
  private var onEnd: (@Sendable () -> Void)?
  /// The number of complete requests without a complete response. It is -1 while the body of an answered one still comes.
  private(set) var complete = 0
  /// The pace of the incomplete body; nil between bodies.
  private var pace: BodyPace?
  private var timer: Scheduled<Void>?
  private var isOver = false

  /// - Parameter channel: The connection, whose end releases the place.
  init(
    _ connections: ConnectionBound, _ proxies: TrustedProxies, _ channel: any Channel,
    loggedIn: LoggedInConnections? = nil
  ) {
    self.loggedIn = loggedIn
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
    if id != nil || isProtected { return true }
    admissions += 1
    let admission = admissions
    id = connections.admit(network, isFull: isFull) { [self] in
      channel.eventLoop.execute { self.giveWay(admission) }
    }
    return id != nil
  }

  /// Closes the connection to make room for a new one, unless a login was faster.
  private func giveWay(_ admission: Int) {
    if id != nil, admissions == admission { channel.pipeline.syncOperations.cut() }
  }

  private func leave() {
    if let id { connections.release(id) }
    id = nil
  }

  /// Counts the connection as one of a logged-in user. Returns `false` if its network has as many of them as it may have.
  private func enterLoggedIn() -> Bool {
    guard loggedInNetwork == nil, let loggedIn else { return true }
    guard loggedIn.enter(network) else { return false }
    loggedInNetwork = network
    return true
  }

  private func leaveLoggedIn() {
    if let loggedInNetwork { loggedIn?.leave(loggedInNetwork) }
    loggedInNetwork = nil
  }

  private func over() {
    isOver = true
    stopTimer()
    leave()
    leaveLoggedIn()
    endRequest()
  }

  private func endRequest() {
    onEnd?()
    onEnd = nil
  }

  private func stopTimer() {
    timer?.cancel()
    timer = nil
  }

  /// Notes that the client of a WebSocket is a logged-in user. Returns `false` if the network of the client has as many connections of
  /// such users as it may have; the connection still gives way then.
  func logIn() -> Bool {
    if isOver { return true }
    guard enterLoggedIn() else {
      loggedIn?.refuse(network)
      return false
    }
    isLoggedIn = true
    pace = nil
    stopTimer()
    leave()
    return true
  }

  /// Notes that the next request to be answered is one of a logged-in user.
  ///
  /// - Parameter onEnd: Called once, when its response or the connection has ended.
  func logIn(onEnd: @escaping @Sendable () -> Void) {
    if isOver { return onEnd() }
    self.onEnd = onEnd
    isLoggedIn = true
    update()
  }

  /// Whether the connection must not be closed for others.
  private var isProtected: Bool {
    guard isLoggedIn else { return false }
    return complete > 0 || pace?.isOnTime(at: channel.eventLoop.now) ?? true
  }

  /// Releases the place if the connection is protected, and takes one again if it no longer is.
  private func update() {
    guard isLoggedIn else { return }
    guard isProtected else {
      leaveLoggedIn()
      // There may be no room any more for a client that has stopped.
      if !enter() { channel.pipeline.syncOperations.cut() }
      return
    }
    if enterLoggedIn() { leave() }
    guard complete <= 0, timer == nil, let pace else { return }
    timer = channel.eventLoop.scheduleTask(in: pace.onTimeFor(at: channel.eventLoop.now)) { [self] in
      timer = nil
      update()
    }
  }

  /// Counts the connection of a trusted proxy for the network of the client in its request.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      pace = BodyPace()
      guard isProxied else { break }
      let client = ClientAddress.of(ForwardedFields(head.headers), channel.remoteAddress, proxies)
      guard isCounted(to: client) else { return context.close(promise: nil) }
    case .body(let bytes):
      pace?.receive(bytes.readableBytes, at: context.eventLoop.now)
      if complete <= 0 { update() }
    case .end:
      pace = nil
      stopTimer()
      complete += 1
      update()
    }
    context.fireChannelRead(data)
  }

  func read(context: ChannelHandlerContext) {
    pace?.wait(at: context.eventLoop.now)
    context.read()
  }

  private func isCounted(to client: String) -> Bool {
    if client == network { return true }
    network = client
    leave()
    leaveLoggedIn()
    return enter()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { ended() }
    context.write(data, promise: promise)
  }

  private func ended() {
    complete -= 1
    guard isLoggedIn else { return }
    isLoggedIn = false
    stopTimer()
    endRequest()
    leaveLoggedIn()
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
