import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// A stream over HTTP requests: carries out the outputs of a `BOSHMachine`. Confined to the stream's event loop.
final class BOSHTransport: StreamTransport {
  /// Takes the response to one request; called once.
  typealias Answer = @Sendable (ByteBuffer) -> Void

  let kind = OnlineSession.Transport.bosh
  private let connection: XMPPConnection
  private let loop: any EventLoop
  private let onOver: @Sendable () -> Void
  private var machine: BOSHMachine
  private var exchanges: [Int: Answer] = [:]
  /// Whether outputs are being carried out: due responses are sent behind them.
  private var isWorking = false
  private var isOver = false
  private var isClosedByClient = false
  /// Whether the stream's error was sent (XEP-0206 6).
  private var hasFailed = false
  private var isWritable = true
  /// The bytes of the requests that have come since the connection last read all it had.
  private var unreadBytes = 0
  /// The memory of the answers that are held back, from the login on.
  private var held: MemoryBound.Holder?
  private var timer: (scheduled: Scheduled<Void>, deadline: Int)?

  ///
  /// - Parameters:
  ///   - request: the request that opens the session; the caller also passes it to `received`.
  ///   - onOver: called when the session gets no more requests.
  init(
    _ request: BOSHRequest, sid: String, connection: XMPPConnection, onOver: @escaping @Sendable () -> Void
  ) {
    self.connection = connection
    self.onOver = onOver
    loop = connection.loop
    machine = BOSHMachine(request, sid: sid, policy: BOSHPolicy(), now: Self.now)
    connection.opened(over: self)
  }

  /// The milliseconds of a monotonic clock.
  private static var now: Int { Int(NIODeadline.now().uptimeNanoseconds / 1_000_000) }

  var isLoggedIn: Bool { connection.machine.user != nil }
  private var unreadBytesMax: Int {
    isLoggedIn ? DoorLimits.unreadBytesMax : DoorLimits.unreadBytesBeforeLoginMax
  }

  // MARK: Requests

  /// Processes a request.
  ///
  /// - Parameters:
  ///   - exchange: the number of the HTTP request, never used before.
  ///   - byteCount: the size of the whole `<body/>`.
  func received(_ request: BOSHRequest, as exchange: Int, byteCount: Int, answer: @escaping Answer) {
    exchanges[exchange] = answer
    connection.noteLife()
    connection.counted(byteCount)
    // The elements of other requests are charged one by one.
    if let bytes = machine.nothingBytes(request) {
      connection.charge(stanzas: 1 + bytes / DoorLimits.answerBytesPerStanza)
    }
    unreadBytes += byteCount
    countHeld()
    work { transport in
      var request = request
      // A client that abandons its requests is not held back by how many it may have.
      if transport.unreadBytes > transport.unreadBytesMax {
        request.payloads = []
        transport.connection.fail(StreamError(.policyViolation, "more is sent than the server reads"))
      }
      if byteCount > transport.connection.limits.stanzaBytes + DoorLimits.bodyOverheadBytes {
        request.payloads = []
        transport.connection.received(.violation(.limit("the body is too large")))
      }
      return transport.machine.received(
        request, as: exchange, now: Self.now, isInDebt: transport.connection.isInDebt)
    }
  }

  private func countHeld() {
    guard held == nil, !isOver, let user = connection.machine.user else { return }
    let (me, loop) = (NIOLoopBound(self, eventLoop: loop), loop)
    held = connection.door.parley.options.memory.answers.enter("\(user)") {
      loop.execute { me.value.giveHeldUp() }
    }
    held?.hold(DoorLimits.heldAnswerBytes)
  }

  private func giveHeldUp() {
    connection.fail(StreamError(.resourceConstraint, "the sessions over requests take too much memory"))
  }

  /// Handles the end of the connection of a request.
  func abandoned(_ exchange: Int) {
    work { $0.machine.abandoned(exchange, now: Self.now) }
  }

  /// Ends the stream because the server stops.
  func stop() {
    connection.fail(StreamError(.systemShutdown))
  }

  // MARK: The machine's outputs

  private func work(_ body: (BOSHTransport) -> [BOSHOutput]) {
    if isWorking {
      body(self).forEach(perform)
      return regulate()
    }
    isWorking = true
    body(self).forEach(perform)
    connection.flush()
    // A response may make room for input, whose processing may make another response due.
    while true {
      let mayRead = connection.mayRead()
      if mayRead { unreadBytes = 0 }
      let due = machine.answer(now: Self.now, isBusy: !mayRead)
      due.forEach(perform)
      regulate()
      if due.isEmpty { break }
    }
    isWorking = false
    reschedule()
  }

  private func perform(_ output: BOSHOutput) {
    switch output {
    case .answer(let exchange, let response): exchanges.removeValue(forKey: exchange)?(response.written())
    case .open(let header): connection.received(.opened(header))
    case .deliver(let element): connection.received(.element(element))
    case .close:
      isClosedByClient = true
      connection.received(.closed)
    case .over:
      isOver = true
      held?.release()
      held = nil
      onOver()
      // A client that closed its stream may have sent stanzas before that, which are still to be processed.
      if !isClosedByClient { connection.lost() }
    }
  }

  /// Tells the connection whether its output is taken.
  private func regulate() {
    let bytes = machine.queuedBytes
    let takes = bytes <= (isWritable ? DoorLimits.bodyWaitingBytesMax : DoorLimits.bodyWaitingBytesLow)
    guard takes != isWritable else { return }
    isWritable = takes
    connection.writabilityChanged(takes)
  }

  private func reschedule() {
    let deadline = machine.deadline
    guard timer?.deadline != deadline else { return }
    timer?.scheduled.cancel()
    timer = nil
    guard let deadline else { return }
    let me = NIOLoopBound(self, eventLoop: loop)
    let scheduled = loop.scheduleTask(in: .milliseconds(Int64(max(0, deadline - Self.now)))) {
      let transport = me.value
      transport.timer = nil
      transport.work { $0.machine.passed(now: Self.now) }
    }
    timer = (scheduled, deadline)
  }

  // MARK: Requests of the connection

  var heldBytes: Int { unreadBytes + machine.queuedBytes }

  func send(_ bytes: ByteBuffer, ends: [Int]) {
    var start = bytes.readerIndex
    for end in ends {
      guard let element = bytes.viewBytes(at: start, length: end - start) else { continue }
      start = end
      var payload = ByteBuffer()
      StreamFraming.writeStandAlone(element, into: &payload)
      machine.say(payload)
      hasFailed = hasFailed || element.starts(with: "<stream:error".utf8)
    }
    // An error is sent with the end, which comes next.
    if !hasFailed { work { _ in [] } }
  }

  func read() { work { _ in [] } }

  func close() {
    work { $0.machine.close($0.hasFailed ? .remoteStreamError : nil) }
    let me = NIOLoopBound(self, eventLoop: loop)
    // The stream is over, whatever the client does now; the machine answers further requests.
    loop.execute { me.value.connection.lost() }
  }

  func drop() { close() }
}
