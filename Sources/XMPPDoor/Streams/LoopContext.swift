import Dialogs
import NIOCore
import ServerMetrics
import XMLStream
import XMPP

/// The parts that the sessions of one event loop share: the lane, one timer for all (a timer each would cost more than
/// the session), and spare readers and writers, so that a busy session allocates no buffer and an idle one keeps none.
final class LoopContext {
  static let tick: TimeAmount = .seconds(5)

  let loop: any EventLoop
  let lane: Lane
  private var connections: [ObjectIdentifier: XMPPConnection] = [:]
  private var components: [ObjectIdentifier: ComponentConnection] = [:]
  private var servers: [ObjectIdentifier: ServerConnection] = [:]
  /// The sessions without a connection: those that can be resumed, and those whose clients have closed their streams.
  private var suspended: [ObjectIdentifier: XMPPSession] = [:]
  private var readers: [Reader] = []
  private var spare: [ElementWriter] = []
  private var timer: RepeatedTask?
  private let metrics: Metrics
  /// Whether the server stops. Sessions of the loop are not handed over any more: the loop of the new session may have stored its own
  /// already, and the session would be in none. The former session is stored in its place. All loops stop before one of them stores.
  private(set) var isStopping = false
  /// The time at which the next turn is due.
  private var due = NIODeadline.distantFuture
  /// The checks of peers' signatures that wait, the oldest first, and whether the pause after the last one lasts.
  private var peerChecks: [() -> Bool] = []
  private var pausesPeerChecks = false

  init(
    loop: any EventLoop, _ metrics: Metrics, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.loop = loop
    self.metrics = metrics
    let loop = loop
    // A loop runs the work that is executed on it before it looks at its sockets again, and a timer that is due counts as such
    // work. A timer that is not due yet lets it look.
    lane = Lane(
      schedule: { body in loop.execute(body) },
      pause: { body in
        metrics.fanOutPauses.add()
        loop.scheduleTask(in: DoorLimits.fanOutPause) { body() }
      },
      turnPause: { isLong, body in
        loop.scheduleTask(in: isLong ? DoorLimits.turnPause : DoorLimits.fanOutPause) { body() }
      }, now: now)
  }

  /// Runs the check of a peer's signature over a handshake: at once, or some milliseconds after the one before it, as each takes up to
  /// one and the loop serves others in between.
  ///
  /// - Parameter body: Returns `false` if the peer has left, so that nothing is checked: the next one then takes the turn at once.
  ///   Otherwise peers that begin handshakes and leave would delay the others without a bound.
  func checkPeer(_ body: @escaping () -> Bool) {
    peerChecks.append(body)
    if !pausesPeerChecks { checkNextPeer() }
  }

  private func checkNextPeer() {
    var count = 0
    pausesPeerChecks = false
    while !pausesPeerChecks, count < peerChecks.count {
      pausesPeerChecks = peerChecks[count]()
      count += 1
    }
    peerChecks.removeFirst(count)
    guard pausesPeerChecks else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    // A loop that is shut down ends the pause with an error: those that wait then find that their peers have left.
    loop.scheduleTask(in: FederationLimits.peerCheckPause) {}.futureResult
      .whenComplete { _ in bound.value.checkNextPeer() }
  }

  func start() {
    let bound = NIOLoopBound(self, eventLoop: loop)
    due = .now() + Self.tick
    timer = loop.scheduleRepeatedTask(initialDelay: Self.tick, delay: Self.tick) { _ in bound.value.turn() }
  }

  func stop() { timer?.cancel() }

  func add(_ connection: XMPPConnection) { connections[ObjectIdentifier(connection)] = connection }
  func remove(_ connection: XMPPConnection) { connections[ObjectIdentifier(connection)] = nil }
  func add(component: ComponentConnection) { components[ObjectIdentifier(component)] = component }
  func remove(component: ComponentConnection) { components[ObjectIdentifier(component)] = nil }
  func add(server: ServerConnection) { servers[ObjectIdentifier(server)] = server }
  func remove(server: ServerConnection) { servers[ObjectIdentifier(server)] = nil }
  func add(suspended session: XMPPSession) { suspended[ObjectIdentifier(session)] = session }
  func remove(suspended session: XMPPSession) { suspended[ObjectIdentifier(session)] = nil }

  var allConnections: [XMPPConnection] { Array(connections.values) }
  var allComponents: [ComponentConnection] { Array(components.values) }
  var allServers: [ServerConnection] { Array(servers.values) }

  func privilegesChanged() {
    for component in allComponents { component.privilegesChanged() }
  }

  private func turn() {
    let now = NIODeadline.now()
    metrics.eventLoopLag.observe(max(0, Int(clamping: (now - due).nanoseconds)))
    // The next turn is due so long after the end of this one.
    defer { due = .now() + Self.tick }
    for connection in allConnections { connection.tick(now) }
    for session in Array(suspended.values) { session.tick(now) }
    for component in allComponents { component.tick(now) }
    for server in Array(servers.values) { server.tick(now) }
  }

  /// The sizes of the sessions that can be resumed (`SessionArchive.size`), with everything that waited in the lane. All loops are asked
  /// before one of them stores its sessions: what was handed over until then has arrived.
  func archivedSizes() -> [Int] {
    lane.finish()
    isStopping = true
    return (allConnections.compactMap(\.session) + suspended.values).compactMap { SessionArchive.size(of: $0) }
  }

  /// The sessions that are stored, and what is left for others to store.
  struct Stopped: Sendable {
    var kept: [SuspendedSession] = []
    var share: ArchiveShare
  }

  /// Ends every stream. Returns the sessions that can be resumed. Those that are not stored end as lost ones do.
  func shutDown(_ share: ArchiveShare) -> Stopped {
    timer?.cancel()
    // The deliveries that wait are made first, so that the sessions are stored with them.
    lane.finish()
    var stopped = Stopped(share: share)
    func leave(_ session: XMPPSession) {
      guard let size = SessionArchive.size(of: session) else { return }
      guard let archived = stopped.share.store(size, { SessionArchive.archive(session) }) else { return session.end() }
      stopped.kept.append(archived)
      session.abandon()
    }
    for connection in allConnections {
      if let session = connection.session { leave(session) }
      connection.fail(StreamError(.systemShutdown))
    }
    for component in Array(components.values) { component.fail(StreamError(.systemShutdown)) }
    for server in Array(servers.values) { server.close(StreamError(.systemShutdown)) }
    for session in Array(suspended.values) {
      if session.isClosing { session.end() } else { leave(session) }
      if !session.isEnded { session.abandon() }
    }
    return stopped
  }

  // MARK: Readers

  /// A reader that streams have in turn.
  final class Reader { var reader = ElementReader(limits: .unauthenticated) }

  func takeReader() -> Reader { readers.popLast() ?? Reader() }

  /// Takes back a reader. One is enough for streams that are read one after the other; a stream within a stanza keeps its
  /// own until the stanza is complete.
  func give(_ reader: Reader) { if readers.count < 4 { readers.append(reader) } }

  // MARK: Writers

  func takeWriter() -> ElementWriter { spare.popLast() ?? StreamFraming.writer() }

  /// As much as most stanzas take.
  private static let shortBufferBytes = 1_024

  /// Takes back a writer whose buffer has been handed to the channel; it is used again once the channel has released
  /// it. While a client does not read, the channel keeps the buffer, and the writer begins with a short one: another of the same size
  /// would be kept as well for the next stanza, however short that is.
  func give(_ writer: consuming ElementWriter) {
    guard spare.count < 64, writer.buffer.capacity <= 65_536 else { return }
    writer.buffer.clear(minimumCapacity: Self.shortBufferBytes)
    spare.append(writer)
  }
}
