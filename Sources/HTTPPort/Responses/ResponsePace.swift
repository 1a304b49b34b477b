package import NIOCore
import NIOHTTP1
import NIOSSL

/// The pace at which a client reads responses. It has an allowance of time: waits for the client use it up, and bytes that the
/// client reads restore it, at the minimum rate and up to the initial allowance. So a client that keeps the rate may take any
/// time, and a client that stops reading has at most the allowance, however much it has read before. A client that has read
/// everything gets the full allowance for the next response.
struct ResponsePace: Equatable {
  private var allowance = HTTPLimits.responseGrace
  /// The bytes that waited for the client at the last observation, and those that were written since.
  private var pending: Int64 = 0
  private var written: Int64 = 0
  private var observed: NIODeadline?

  mutating func write(_ count: Int) { written += Int64(count) }

  /// Notes the number of unread bytes. The time since the last observation counts as a wait if bytes were unread then.
  mutating func observe(pending now: Int, at time: NIODeadline) {
    guard now > 0 else { return self = ResponsePace() }
    let taken = max(0, pending + written - Int64(now))
    var left = allowance.nanoseconds
    if let observed, pending > 0 { left -= (time - observed).nanoseconds }
    left += min(taken, HTTPLimits.responseBytesPerSecond * 3_600) * 1_000_000_000 / HTTPLimits.responseBytesPerSecond
    allowance = .nanoseconds(min(left, HTTPLimits.responseGrace.nanoseconds))
    (pending, written, observed) = (Int64(now), 0, time)
  }

  var isWaiting: Bool { pending > 0 }
  var isTooSlow: Bool { allowance <= .zero }
}

/// Closes connections whose clients read responses too slowly. Without it a client that reads nothing would keep a connection,
/// a file and unread output indefinitely. The handler also holds the place of a download until its response has ended.
///
///  Confined to its channel's event loop, like every handler.
final class ResponsePaceHandler: ChannelOutboundHandler, ChannelInboundHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private var pace = ResponsePace()
  private var timer: Scheduled<Void>?
  /// Whether the connection was closed for its pace.
  var isTooSlow: Bool { pace.isTooSlow }
  /// The place of the response that is being written, if it is a download.
  private var place: Downloads.Place?
  /// The places of earlier responses whose last bytes the client has not read yet.
  private var untaken: [Downloads.Place] = []

  /// Whether another network has got the place of a response that the client has not read completely.
  var hasLostPlace: Bool { place?.isLost == true || untaken.contains { $0.isLost } }

  /// Keeps the place until the client has read the next response, or the connection has ended.
  func hold(_ place: Downloads.Place) { self.place = place }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var promise = promise
    switch unwrapOutboundIn(data) {
    case .body(.byteBuffer(let bytes)): pace.write(bytes.readableBytes)
    case .end: promise = end(place, with: promise, context)
    case .head, .body: break
    }
    context.write(data, promise: promise)
  }

  /// Returns the promise of the last write of a response, which releases its place: the write ends when the kernel has taken
  /// everything before it, or fails when the connection ends.
  private func end(
    _ place: Downloads.Place?, with promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) -> EventLoopPromise<Void>? {
    guard let place else { return promise }
    self.place = nil
    untaken.append(place)
    let last = promise ?? context.eventLoop.makePromise(of: Void.self)
    last.futureResult.whenComplete { _ in
      self.untaken.removeAll { $0 === place }
      place.end()
    }
    return last
  }

  /// Starts the timer if unread bytes are left. Most clients read a response at once and need none.
  func flush(context: ChannelHandlerContext) {
    context.flush()
    if timer == nil { check(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  private func end() {
    timer?.cancel()
    timer = nil
    place?.end()
    place = nil
  }

  private func check(_ context: ChannelHandlerContext) {
    guard let pending = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes) else { return }
    pace.observe(pending: pending, at: context.eventLoop.now)
    guard pace.isWaiting else { return }
    if pace.isTooSlow { return context.pipeline.syncOperations.cut() }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: HTTPLimits.responseCheck) {
      let (handler, context) = bound.value
      handler.timer = nil
      handler.check(context)
    }
  }
}

extension ChannelPipeline.SynchronousOperations {
  /// Closes a connection at once. TLS would first send pending output, and then wait for the client to close: a client that
  /// reads nothing would keep the connection for some more seconds.
  package func cut() {
    guard let tls = try? context(handlerType: NIOSSLHandler.self) else { return close(promise: nil) }
    tls.close(promise: nil)
  }
}
