import Basics
import NIOCore
import NIOHTTP1

/// Decodes the requests of a connection one by one, each after the former one has been answered and its network may make another
/// request (`PacedConnections`).
///
/// NIO's decoder decodes all bytes that it gets, and a request takes many times the memory of its bytes. So this handler is placed
/// before the decoder, keeps input after an unanswered request, and stops reading. The decoder gets a head up to its empty line, and a
/// body by its length. It may get a second request with the first one if the client has sent an empty line in two parts, and a few
/// after a chunked body (`HTTPLimits.chunkedBytesLeast`).
///
/// While a request is pending and nothing is kept the connection is read, so that the end of the client is noticed. A half-closure
/// after kept bytes is passed on after them, and `ClientEndHandler` gets `EndBehindRequests` at once.
///
///  Confined to its channel's event loop, like every handler.
final class RequestGate: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = Never

  /// The part that the decoder expects next: a head, the missing bytes of a body, or a chunked body.
  private enum Expected {
    case head
    case body(Int)
    case chunks
  }

  private let pace: PacedConnections?
  /// The network of the limit; nil for a client without one.
  private let network: String?
  /// The memory of connections without a login; nil without a bound.
  private let memory: MemoryBound?
  private let place: ConnectionPlace
  private var context: ChannelHandlerContext?
  private var held = ByteBuffer()
  private var holder: MemoryBound.Holder?
  private var wantsRead = false
  /// Whether the client has closed its half after the kept bytes.
  private var isHalfClosed = false
  private var isPassing = false
  /// Whether nothing more is decoded: the decoder has failed or is gone, or the last request has been answered.
  private var isOver = false
  /// Whether the current request is the last one.
  private var isLast = false
  private var expected = Expected.head
  /// The number of complete requests without a complete response. It is -1 while the body of an answered one still comes.
  private var complete = 0
  /// Whether the current request counts for the limit.
  private var isCounted = false
  /// The timer of a request that waits for the limit.
  private var turn: Scheduled<Void>?

  /// - Parameters:
  ///   - memory: The memory to which kept bytes beyond those of a head count.
  ///   - place: The place of the connection, which has the network of the last request, and whether its user is logged in.
  init(_ channel: any Channel, pace: PacedConnections?, memory: MemoryBound?, place: ConnectionPlace) {
    self.pace = pace
    self.memory = memory
    self.place = place
    network = pace?.network(channel.remoteAddress)
  }

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  /// Passes on the kept bytes, which belong to the protocol to which the connection has been upgraded.
  func handlerRemoved(context: ChannelHandlerContext) {
    let (rest, wantedRead, wasHalfClosed) = (held, wantsRead, isHalfClosed)
    end()
    self.context = nil
    if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
    if wasHalfClosed { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
    if wantedRead { context.read() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func read(context: ChannelHandlerContext) {
    if held.readableBytes == 0 { context.read() } else { wantsRead = true }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isOver { return }
    var bytes = unwrapInboundIn(data)
    if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
    if isPassing { return }
    pass(context)
    if held.readableBytes > 0 { keep(context) } else { settle(context) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed = event as? ChannelEvent, held.readableBytes > 0 {
      isHalfClosed = true
      return context.fireUserInboundEventTriggered(EndBehindRequests())
    }
    // The server stops: the connection ends after the current request, so a later one would get no answer.
    if event is ChannelShouldQuiesceEvent { isLast = true }
    context.fireUserInboundEventTriggered(event)
  }

  // MARK: What is decoded

  /// Passes on what may be decoded now.
  private func pass(_ context: ChannelHandlerContext) {
    isPassing = true
    while mayPass(context), let part = held.readSlice(length: partLength) {
      context.fireChannelRead(wrapInboundOut(part))
    }
    isPassing = false
  }

  /// Whether there are bytes for the decoder, and they belong to a request that has begun or may begin.
  private func mayPass(_ context: ChannelHandlerContext) -> Bool {
    guard held.readableBytes > 0, complete <= 0, turn == nil, !isOver else { return false }
    guard !isCounted, let pace, let network else { return true }
    isCounted = true
    let wait = TimeAmount(pace.wait(network))
    guard wait > .zero else { return true }
    turn = context.eventLoop.scheduleTask(in: min(wait, HTTPLimits.idle)) { [self] in takeTurn(wait) }
    return false
  }

  private func takeTurn(_ wait: TimeAmount) {
    if wait > HTTPLimits.idle {
      context?.close(promise: nil)
    } else {
      turn = nil
      resume()
    }
  }

  /// The number of bytes that the decoder gets next. They end with a request, if possible.
  private var partLength: Int {
    let count = held.readableBytes
    switch expected {
    case .head:
      return held.withUnsafeReadableBytes { bytes in
        // Empty lines before a request belong to it (RFC 9112 2.2).
        Self.endOfEmptyLine(bytes, from: bytes.firstIndex { $0 != Self.cr && $0 != Self.lf } ?? count)
      }
    case .body(let missing): return missing > 0 ? min(missing, count) : count
    case .chunks:
      return held.withUnsafeReadableBytes {
        Self.endOfEmptyLine($0, from: min(HTTPLimits.chunkedBytesLeast, count))
      }
    }
  }

  private static let cr = UInt8(ascii: "\r")
  private static let lf = UInt8(ascii: "\n")

  /// Returns the index behind the first empty line that follows a line end at or after an index; that of the end if there is none.
  private static func endOfEmptyLine(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index < bytes.count {
      if bytes[index] == lf {
        let next = index + 1
        if next < bytes.count, bytes[next] == lf { return next + 1 }
        if next + 1 < bytes.count, bytes[next] == cr, bytes[next + 1] == lf { return next + 2 }
      }
      index += 1
    }
    return bytes.count
  }

  /// Keeps the unused bytes of a read in a buffer of their size, as the read's buffer may be much larger.
  private func keep(_ context: ChannelHandlerContext) {
    guard held.readableBytes <= HTTPLimits.keptBytesMax else {
      stop()
      return context.pipeline.syncOperations.cut()
    }
    var copy = context.channel.allocator.buffer(capacity: held.readableBytes)
    copy.writeImmutableBuffer(held)
    held = copy
    if holder == nil, held.readableBytes > HTTPLimits.headerBytesMax {
      let loop = context.eventLoop
      holder = memory?.enter(place.network) { [self] in
        loop.execute { self.giveWay() }
      }
    }
    holder?.hold(MemoryBound.grown(held.readableBytes))
  }

  /// Closes the connection to free the memory of its kept bytes, unless they have been decoded meanwhile.
  private func giveWay() {
    if holder != nil { context?.pipeline.syncOperations.cut() }
  }

  /// Continues when the kept bytes allow it again.
  private func resume() {
    guard let context, !isPassing, held.readableBytes > 0 else { return }
    pass(context)
    // An upgrade has removed the handler.
    guard self.context != nil else { return }
    context.fireChannelReadComplete()
    settle(context)
  }

  /// Performs events that had to wait for the kept bytes.
  private func settle(_ context: ChannelHandlerContext) {
    guard held.readableBytes == 0 else { return }
    free()
    if isHalfClosed {
      isHalfClosed = false
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
    if wantsRead {
      wantsRead = false
      context.read()
    }
  }

  private func free() {
    held = ByteBuffer()
    holder?.release()
    holder = nil
  }

  private func end() {
    isOver = true
    if let turn {
      turn.cancel()
      self.turn = nil
      giveBack()
    }
    free()
    wantsRead = false
    isHalfClosed = false
  }

  private func giveBack() {
    if let network { pace?.cancel(network) }
  }

  // MARK: What `RequestWatch` has seen

  func began(_ head: HTTPRequestHead) {
    // A request that was decoded with the former one.
    if !isCounted, let network { _ = pace?.wait(network) }
    isCounted = true
    if !head.isKeepAlive || head.endsDecoding { isLast = true }
    if head.headers.contains(name: "transfer-encoding") {
      expected = .chunks
    } else if let length = head.headers.first(name: "content-length") {
      // The decoder has refused an invalid length.
      expected = Int(length).map { Expected.body($0) } ?? .chunks
    }
  }

  func received(_ count: Int) {
    if case .body(let missing) = expected { expected = .body(missing - count) }
  }

  func completed() {
    expected = .head
    isCounted = false
    complete += 1
    stopIfLast()
  }

  /// Notes that a final response begins. Returns whether it is that to the last request.
  func answers(_ status: HTTPResponseStatus) -> Bool {
    // Users and keys have limits of their own.
    if place.isLoggedIn, status != .tooManyRequests { giveBack() }
    return isLast && complete <= 1
  }

  func answered() {
    complete -= 1
    stopIfLast()
    resume()
  }

  /// Drops input after the last request or after a malformed one (RFC 9112 9.6).
  private func stopIfLast() {
    if isLast, complete == 0 { stop() }
  }

  func stop() {
    isOver = true
    free()
    if let context, !isPassing { settle(context) }
  }
}

/// Reports decoded requests and written responses to a gate. It is placed after the decoder.
///
///  Confined to its channel's event loop, like every handler.
final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let gate: RequestGate

  init(_ gate: RequestGate) { self.gate = gate }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): gate.began(head)
    case .body(let bytes): gate.received(bytes.readableBytes)
    case .end: gate.completed()
    }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is HTTPParserError { gate.stop() }
    context.fireErrorCaught(error)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(var head) where head.status.code >= 200 && gate.answers(head.status):
      // RFC 9112 9.6.
      head.headers.replaceOrAdd(name: "connection", value: "close")
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .head, .body: context.write(data, promise: promise)
    case .end:
      context.write(data, promise: promise)
      gate.answered()
    }
  }
}

extension HTTPRequestHead {
  /// Whether NIO's decoder stops after the request, which may be answered with another protocol.
  var endsDecoding: Bool { method == .CONNECT || headers.contains(name: "upgrade") }
}
