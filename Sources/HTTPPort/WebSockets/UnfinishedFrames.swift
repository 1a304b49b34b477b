import Basics
import NIOCore
import NIOWebSocket

/// Reads the lengths in the headers of frames (RFC 6455 5.2) as they arrive, to know the bytes of an incomplete message.
struct FrameLengths {
  /// The received bytes of the frame's header, 0 if none has begun, and the header's length.
  private var (headerRead, headerCount) = (0, 2)
  /// The length that the header announces, and the bytes of the header up to its end.
  private var (length, lengthEnd) = (UInt64(0), 2)
  /// The missing bytes of the frame.
  private var left = 0
  /// The announced and the received bytes of the current message's frames.
  private var announced = 0
  private(set) var bytes = 0
  /// Whether the frame ends its message, and whether it is a control frame, which is not part of the message between whose fragments
  /// it may be sent (5.4). NIO's decoder bounds its length.
  private var (isFinal, isControl) = (false, false)
  /// Whether a fragment has arrived that does not end its message.
  private var isWithinMessage = false
  /// Whether the last read contained the end of a message, or of a control frame outside of one.
  private(set) var hasEnded = false
  /// Whether no frame and no message is under way.
  var isComplete: Bool { !isWithinMessage && left == 0 && headerRead == 0 }

  /// Reads further bytes. Returns their number up to the end of the last complete frame, or 0; nil if a message is longer than
  /// `bytesMax`.
  mutating func read(_ view: ByteBufferView, bytesMax: Int) -> Int? {
    hasEnded = false
    var (at, end) = (view.startIndex, view.startIndex)
    while at < view.endIndex {
      if left > 0 {
        let count = min(left, view.endIndex - at)
        at += count
        left -= count
        if !isControl { bytes += count }
        if left == 0 {
          frameEnded()
          end = at
        }
        continue
      }
      readHeader(view[at])
      at += 1
      guard headerRead == headerCount else { continue }
      headerRead = 0
      left = Int(clamping: length)
      if !isControl {
        guard left <= bytesMax - announced else { return nil }
        announced += left
      }
      if left == 0 {
        frameEnded()
        end = at
      }
    }
    return end - view.startIndex
  }

  private mutating func frameEnded() {
    if !isControl { isWithinMessage = !isFinal }
    if isWithinMessage { return }
    hasEnded = true
    (announced, bytes) = (0, 0)
  }

  /// Reads a byte of the header: the last four of a masked frame are its mask.
  private mutating func readHeader(_ byte: UInt8) {
    headerRead += 1
    switch headerRead {
    case 1:
      (isFinal, isControl) = (byte & 0x80 != 0, byte & 0x08 != 0)
      headerCount = 2
    case 2:
      let kind = byte & 0x7F
      lengthEnd = kind == 127 ? 10 : kind == 126 ? 4 : 2
      headerCount = lengthEnd + (byte & 0x80 == 0 ? 0 : 4)
      length = kind < 126 ? UInt64(kind) : 0
    default:
      if headerRead <= lengthEnd { length = length << 8 | UInt64(byte) }
    }
  }
}

/// The reason why a WebSocket must end because of an incomplete message. The handlers of a socket get it as an error, once, and send
/// a close frame with a reason. Nothing more is read.
public enum LostMessage: Error {
  /// The message was not complete within `HTTPLimits.messageTime`.
  case late
  /// Others need the message's memory: the connection must be closed at once, since NIO holds the bytes until then.
  case memory
}

/// Bounds the incomplete messages of a WebSocket, which NIO holds, in time, and in bytes together with those of other sockets. It is
/// placed before NIO's decoder. Before the login messages count to the memory without a login, and one longer than `bytesMax` is
/// refused with close code 1009. Afterwards they count with the user's other unfinished input.
///
///  Confined to its channel's event loop, like every handler.
final class UnfinishedFrames: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private let bytesMax: Int
  /// The memory of all such messages; nil without a bound.
  private let bound: HTTPMemory?
  /// The network of the client; its user from the login on.
  private var owner: String
  private var isLoggedIn = false
  private var lengths = FrameLengths()
  /// The memory of the incomplete message; nil after the login while it is small.
  private var memory: MemoryBound.Holder?
  /// The number of the holder, by which late notices of former holders are recognised.
  private var number = 0
  /// The beginning of the incomplete message, moved by the time in which the socket was not read.
  private var since: NIODeadline?
  /// The time since which the socket is not read, while a message is not complete.
  private var unreadSince: NIODeadline?
  private var timer: Scheduled<Void>?
  private var context: ChannelHandlerContext?
  /// Whether the socket ends because of its message.
  private var isLost = false

  init(bytesMax: Int, memory: HTTPMemory?, peer: String) {
    self.bytesMax = bytesMax
    bound = memory
    owner = peer
  }

  func logIn(_ user: String) {
    isLoggedIn = true
    owner = user
    memory = nil
    countMemory()
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    countMemory()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
    memory = nil
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isLost { return }
    endPause(context)
    var bytes = unwrapInboundIn(data)
    guard let whole = lengths.read(bytes.readableBytesView, bytesMax: isLoggedIn ? .max : bytesMax) else {
      isLost = true
      return context.fireErrorCaught(NIOWebSocketError.invalidFrameLength)
    }
    countMemory()
    if lengths.isComplete {
      since = nil
    } else {
      let now = context.eventLoop.now
      if lengths.hasEnded || since == nil { since = now }
      unreadSince = now
      startTimer(context)
    }
    guard whole < bytes.readableBytes else { return context.fireChannelRead(data) }
    // Only whole frames are passed on, since the decoder would keep the buffer with the beginning of a frame.
    if whole > 0, let frames = bytes.readSlice(length: whole) { context.fireChannelRead(wrapInboundOut(frames)) }
    context.fireChannelRead(wrapInboundOut(bytes.compact))
  }

  func read(context: ChannelHandlerContext) {
    endPause(context)
    context.read()
  }

  // MARK: Memory

  private func countMemory() {
    guard let bound, let context, !isLost else { return }
    // The decoder's buffer and those of the fragments have grown to powers of two.
    let bytes = MemoryBound.waiting(lengths.bytes)
    if isLoggedIn, bytes <= HTTPLimits.unfinishedUncounted { return memory = nil }
    if memory == nil {
      number += 1
      let (me, loop, number) = (NIOLoopBound(self, eventLoop: context.eventLoop), context.eventLoop, number)
      let kind = isLoggedIn ? bound.unfinished : bound.withoutLogin
      memory = kind.enter(owner) { loop.execute { me.value.giveUp(number) } }
    }
    memory?.hold(bytes)
  }

  /// Ends the socket to free memory, unless the message is complete meanwhile, or the client has logged in.
  private func giveUp(_ number: Int) {
    if memory != nil, number == self.number { lose(.memory) }
  }

  private func lose(_ why: LostMessage) {
    isLost = true
    context?.fireErrorCaught(why)
  }

  // MARK: Time

  /// Excludes the time in which the socket was not read.
  private func endPause(_ context: ChannelHandlerContext) {
    guard let unread = unreadSince.take(), let since else { return }
    self.since = since + (context.eventLoop.now - unread)
    startTimer(context)
  }

  /// Starts the timer if there is none. It is not stopped when the message is complete, since most soon are, but then checks the next
  /// message.
  private func startTimer(_ context: ChannelHandlerContext) {
    guard timer == nil, let since else { return }
    let me = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(deadline: since + HTTPLimits.messageTime) { me.value.look() }
  }

  private func look() {
    timer = nil
    // The end of a pause starts the timer again.
    guard let context, let since, unreadSince == nil, !isLost else { return }
    guard context.eventLoop.now >= since + HTTPLimits.messageTime else { return startTimer(context) }
    lose(.late)
  }
}

extension ByteBuffer {
  /// A copy of the bytes in a buffer of at most twice their number, if needed: a slice keeps its whole buffer in memory.
  var compact: ByteBuffer {
    storageCapacity > MemoryBound.waiting(readableBytes) ? ByteBuffer(buffer: self) : self
  }
}
