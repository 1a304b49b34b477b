import Basics
import Dialogs
import HTTPPort
import Logging
import NIOCore
import XMLStream
import XMPP

/// The channel's handler of a connection that carries the stanzas of many users: a component's, or another server's. It
/// turns bytes into elements and gathers what is written.
///
/// The channel reads on request alone. Reading pauses while a subclass holds it up, while the peer does not read, and
/// while the peer has sent as much as it may (`SendingBudget`): TCP then pushes back. When much was written for what was read
/// (`DoorLimits.gatheredBytesMax`), it is sent, and the rest of the input has a turn of its own.
class RemoteConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let door: DoorContext
  let loopContext: LoopContext
  /// The peer's address, for logs.
  let peer: String
  private let contentNamespace: StaticString
  /// The bytes that may wait for a peer that reads none; then the connection is closed.
  private let unreadBytesMax: Int
  /// The budget of the peer. A subclass replaces it when the peer has proved who it is.
  final var sending: SendingBudget {
    // Another stream of an account in debt is not read either. What was read up to here is charged to the account.
    didSet {
      pause(sending.charge(stanzas: 0, bytes: uncharged, now: door.parley.clock.now))
      uncharged = 0
    }
  }
  /// The memory of the connection before its peer has proved who it is; `nil` from then on, and where it is not counted.
  final var memory: MemoryBound.Holder?
  private(set) var context: ChannelHandlerContext?
  private(set) var isOver = false

  private var reader: ElementReader?
  private var limitsInUse: ReaderLimits
  private var isRestarting = false
  private var writer: ElementWriter?
  private var backlog = ByteBuffer()
  private var isProcessing = false
  private var wantsRead = false
  /// The bytes that came and are not charged yet.
  private var uncharged = 0
  private var isInDebt = false
  /// Whether the rest of the input waits for a turn of its own, and whether a change of `isWritable` is handled in it.
  private var (waitsForTurn, isChangeDue) = (false, false)
  /// Whether the channel is given output: what it reports meanwhile is handled in the next turn.
  private var isSending = false
  /// Whether the connection is about to be closed, as its peer reads nothing: nothing more is gathered.
  private var isGivenUp = false
  /// The events of the reader that were handled since the loop's other work was last done.
  private var handledAtOnce = 0
  /// The memory of the output that the peer does not read.
  private var unread: MemoryBound.Holder?
  /// The memory of an unfinished stanza and of input that waits.
  private var unfinished: MemoryBound.Holder?
  /// The time of the tick that has found the stanza unfinished, or since which the connection is read again.
  private var unfinishedSince: NIODeadline?

  ///
  /// - Parameter network: the network whose peers share a budget until they have proved who they are; `nil` if networks are not
  ///   told apart, and the peer has one of its own.
  init(
    door: DoorContext, loopContext: LoopContext, peer: String, network: String? = nil, contentNamespace: StaticString,
    unreadBytesMax: Int
  ) {
    self.door = door
    self.loopContext = loopContext
    self.peer = peer
    self.contentNamespace = contentNamespace
    self.unreadBytesMax = unreadBytesMax
    sending = door.parley.sending.budget(of: .peer(network ?? peer), now: door.parley.clock.now)
    limitsInUse = .unauthenticated
    reader = ElementReader(limits: .unauthenticated, contentNamespace: contentNamespace)
  }

  // MARK: For subclasses

  /// The bounds of what is read next.
  var readerLimits: ReaderLimits { .unauthenticated }
  /// Whether something of the subclass's pauses reading. When that has ended, it calls `goOn`.
  var isHeldUp: Bool { false }
  /// Whether nothing that is read counts any more.
  var isClosed: Bool { false }
  /// Handles the beginning: the handler is in its channel's pipeline.
  func began() {}
  /// Handles an event of the stream.
  func received(_ event: consuming ReaderEvent) {}
  /// Handles the arrival of bytes, before they are read as XML.
  func bytesCame() {}
  /// Handles a change of `isWritable`.
  func writabilityChanged() {}
  /// Handles a failure of the connection, which is closed.
  func failed(_ error: any Error) {}
  /// Ends the stream with an error.
  func fail(_ error: StreamError) {}
  /// Handles the end, once.
  func ended() {}

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    countMemory()
    began()
    if context.channel.isActive { active() }
  }

  func handlerRemoved(context: ChannelHandlerContext) { over() }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    active()
  }

  /// Begins to read. A subclass that speaks first does so before.
  func active() { readOn() }

  func channelInactive(context: ChannelHandlerContext) {
    over()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    failed(error)
    context.close(promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if isSending {
      countUnread()
      isChangeDue = true
      waitForTurn()
    } else {
      goOnWriting()
    }
    context.fireChannelWritabilityChanged()
  }

  /// Goes on with what has waited for the peer to read, and then with its input.
  private func goOnWriting() {
    isChangeDue = false
    flush()
    countUnread()
    writabilityChanged()
    goOn()
  }

  /// Goes on with the input in a turn of its own, and with what waits for the peer to read if it reads again: that may be of
  /// thousands of users. The loop does its other work before, however fast the peer reads.
  private func waitForTurn() {
    guard !waitsForTurn else { return }
    waitsForTurn = true
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    loopContext.lane.turns.wait(self, in: sending.account.shareName) {
      let connection = me.value
      connection.waitsForTurn = false
      if connection.isOver { return }
      if connection.isChangeDue { connection.goOnWriting() } else { connection.goOn() }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    uncharged += bytes.readableBytes
    bytesCame()
    if loopContext.lane.turns.isOver { waitForTurn() }
    if isPaused || backlog.readableBytes > 0 {
      backlog.writeBuffer(&bytes)
    } else {
      process(&bytes)
      if bytes.readableBytes > 0 { backlog.writeBuffer(&bytes) }
    }
    countMemory()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    handledAtOnce = 0
    flush()
    readOn()
    context.fireChannelReadComplete()
  }

  // MARK: Reading

  /// Whether the peer reads at the moment.
  final var isWritable: Bool { context?.channel.isWritable != false }

  private var isPaused: Bool { waitsForTurn || isHeldUp || isInDebt || !isWritable }

  private func readOn() {
    if isOver { return }
    if isPaused { wantsRead = true } else { context?.read() }
  }

  /// Continues if nothing pauses any more.
  final func goOn() {
    guard !isPaused, !isProcessing, !isOver else { return }
    if backlog.readableBytes > 0 {
      var bytes = backlog
      backlog = ByteBuffer()
      process(&bytes)
      if bytes.readableBytes > 0 { backlog.writeBuffer(&bytes) }
      flush()
      countMemory()
    }
    if wantsRead, !isPaused {
      wantsRead = false
      context?.read()
    }
  }

  /// Expects a new header (RFC 6120 4.3.3).
  final func beginAgain() {
    if isProcessing { isRestarting = true } else { restart() }
  }

  /// Forgets what came and was not read yet (RFC 6120 5.4.3.3).
  final func dropUnread() {
    backlog.clear()
    isDropping = isProcessing
  }
  private var isDropping = false

  private func restart() {
    isRestarting = false
    limitsInUse = readerLimits
    reader = ElementReader(limits: limitsInUse, contentNamespace: contentNamespace)
  }

  private func process(_ bytes: inout ByteBuffer) {
    isProcessing = true
    defer { isProcessing = false }
    while bytes.readableBytes > 0, !isPaused, !isOver, !isClosed {
      guard var reader = reader.take() else { preconditionFailure("a reader is in use while it is taken") }
      let read = bytes.withUnsafeReadableBytes { raw in reader.feed(raw) { event in handle(event) } }
      bytes.moveReaderIndex(forwardBy: read)
      if isRestarting {
        restart()
      } else {
        limitsInUse = readerLimits
        reader.limits = limitsInUse
        self.reader = consume reader
      }
      if isDropping {
        isDropping = false
        bytes.clear()
      }
    }
    charge(stanzas: 0)
    if isOver || isClosed { bytes.clear() }
  }

  private func handle(_ event: consuming ReaderEvent) -> ReaderVerdict {
    unfinishedSince = nil
    received(event)
    if gatheredBytes > DoorLimits.gatheredBytesMax {
      flush()
      waitForTurn()
    }
    handledAtOnce += 1
    let isLoopBusy = loopContext.lane.turns.worked(1)
    if handledAtOnce >= DoorLimits.elementsAtOnce || isLoopBusy {
      handledAtOnce = 0
      waitForTurn()
    }
    return isPaused || isOver || isClosed || isRestarting || isDropping || readerLimits != limitsInUse
      ? .stop : .proceed
  }

  /// Counts what the connection holds: everything until its peer has proved who it is, and then what is unfinished.
  private func countMemory() {
    guard let memory else { return countUnfinished() }
    let gathered = isWritable ? writer?.buffer.readableBytes : writer?.buffer.capacity
    let written = (gathered ?? 0) + MemoryBound.grown(context?.unsentBytes ?? 0)
    memory.hold(DoorLimits.streamTLSBytes + backlog.capacity + (reader?.heldBytes ?? 0) + written)
  }

  /// Counts an unfinished stanza and the input that waits, with those of the account's other connections.
  private func countUnfinished() {
    let bytes = backlog.capacity + (reader?.isIdle == false ? reader?.heldBytes ?? 0 : 0)
    guard !isOver, bytes > DoorLimits.unfinishedUncounted else {
      unfinished?.release()
      return unfinished = nil
    }
    let (me, loop) = (NIOLoopBound(self, eventLoop: loopContext.loop), loopContext.loop)
    let name = sending.account.shareName
    let holder =
      unfinished ?? door.parley.options.memory.unfinished.enter(name) { loop.execute { me.value.giveUnfinishedUp() } }
    unfinished = holder
    holder.hold(bytes)
  }

  /// Closes the connection for others. The stream error is sent if the peer reads.
  private func giveUnfinishedUp() {
    // The stanza may be complete meanwhile.
    guard unfinished != nil, let context else { return }
    fail(.unfinishedStanzas)
    context.pipeline.syncOperations.cut()
  }

  /// Returns whether the stanza that is being read may still be completed. The time in which nothing is read does not count.
  final func isStanzaInTime(_ now: NIODeadline) -> Bool {
    guard reader?.isIdle == false else { return true }
    guard let since = unfinishedSince, !isPaused else {
      unfinishedSince = now
      return true
    }
    return now < since + DoorLimits.stanzaTime
  }

  /// Counts an element of the peer, whatever it is, as a stanza.
  final func countElement() { charge(stanzas: 1) }

  /// Charges what was read to the peer, and reads no more while the peer has sent as much as it may.
  private func charge(stanzas: Int) {
    guard stanzas > 0 || uncharged > 0 else { return }
    pause(sending.charge(stanzas: stanzas, bytes: uncharged, now: door.parley.clock.now))
    uncharged = 0
  }

  /// Reads no more for this time.
  private func pause(_ time: Duration?) {
    guard let time, !isInDebt else { return }
    isInDebt = true
    let (me, loop) = (NIOLoopBound(self, eventLoop: loopContext.loop), loopContext.loop)
    sending.endPause(after: time, door.parley.clock) { time, body in
      loop.scheduleTask(in: TimeAmount(time)) { body() }
    } end: {
      me.value.isInDebt = false
      me.value.goOn()
    }
  }

  // MARK: Writing

  /// Gathers bytes, which `flush` sends. Returns whether they are gathered: a stanza that is too large is taken back
  /// (`StanzaBytes.isReadable`).
  ///
  /// - Parameter max: The most bytes of a stanza; `nil` for what has no bound.
  @discardableResult final func append(upTo max: Int? = nil, _ body: (inout ElementWriter) -> Void) -> Bool {
    guard !isOver else { return true }
    // As much as one event may make; whoever writes it must not find the connection closed.
    if gatheredBytes > unreadBytesMax, !makeRoom() { return true }
    var writer = writer.take() ?? loopContext.takeWriter()
    let before = writer.buffer.writerIndex
    body(&writer)
    var isGathered = true
    if let max, !StanzaBytes.isReadable(writer.buffer, from: before, bytesMax: max) {
      writer.buffer.moveWriterIndex(to: before)
      isGathered = false
    }
    self.writer = writer
    return isGathered
  }

  private var gatheredBytes: Int { writer?.buffer.readableBytes ?? 0 }

  /// Sends what was gathered. Returns `false` if the peer does not read: its connection is closed, soon.
  private func makeRoom() -> Bool {
    if isWritable {
      send()
      return true
    }
    if !isGivenUp {
      isGivenUp = true
      let me = NIOLoopBound(self, eventLoop: loopContext.loop)
      loopContext.loop.execute { me.value.context?.pipeline.syncOperations.cut() }
    }
    return false
  }

  func flush() { send() }

  private func send() {
    guard let context, let writer = writer.take() else { return }
    guard context.channel.isWritable else {
      let count = writer.buffer.readableBytes
      self.writer = consume writer
      // It does not read: stanzas for its users are lost, as they would be with the connection.
      if count > unreadBytesMax { context.pipeline.syncOperations.cut() }
      countUnread()
      return
    }
    if writer.buffer.readableBytes > 0 {
      isSending = true
      context.writeAndFlush(wrapOutboundOut(writer.buffer), promise: nil)
      isSending = false
    }
    loopContext.give(consume writer)
  }

  /// Counts what waits for the peer, from when it does not read until it has read nearly everything: with that of the account's other
  /// connections. At a tick it counts as well where the channel takes more still. Before the peer has proved who it is, `countMemory`
  /// counts it.
  final func countUnread(atTick: Bool = false) {
    guard !isOver, memory == nil, let context,
      !isWritable || atTick && context.unsentBytes >= MemoryBound.shareBytes
    else {
      unread?.release()
      return unread = nil
    }
    let (me, loop) = (NIOLoopBound(self, eventLoop: loopContext.loop), loopContext.loop)
    let holder =
      unread
      ?? door.parley.options.memory.unread.enter(sending.account.shareName) { loop.execute { me.value.giveUnreadUp() } }
    unread = holder
    holder.hold((writer?.buffer.capacity ?? 0) + MemoryBound.waiting(context.unsentBytes))
  }

  /// Closes the connection for others. What must arrive is sent when the peer connects again.
  private func giveUnreadUp() {
    // The peer may have read since the tick that has counted it.
    if unread != nil { countUnread(atTick: true) }
    if unread != nil { context?.pipeline.syncOperations.cut() }
  }

  /// Closes the connection once everything is sent.
  final func closeChannel() {
    flush()
    context?.close(mode: .all, promise: nil)
  }

  private func over() {
    guard !isOver else { return }
    isOver = true
    context = nil
    memory = nil
    countUnread()
    countUnfinished()
    ended()
  }
}

extension StreamError {
  /// The error for a stanza that is not complete within `DoorLimits.stanzaTime` (RFC 6120 4.6.3).
  static let lateStanza = StreamError(.policyViolation, "a stanza was not complete in time")
  /// The error for an unfinished stanza whose memory others need.
  static let unfinishedStanzas = StreamError(.resourceConstraint, "unfinished stanzas take too much memory")
}
