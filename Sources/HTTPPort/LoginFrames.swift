import Basics
import NIOCore
import NIOWebSocket

/// The lengths that the headers of frames announce (RFC 6455 5.2), as they come: the bytes of a message before it is complete.
struct FrameLengths {
  private var header: [UInt8] = []
  /// The bytes of the frame that are still to come.
  private var left = 0
  /// The bytes that the frames of the message under way announce, and those that came.
  private var announced = 0
  private(set) var bytes = 0
  /// Whether the frame ends its message, and whether it is a control frame, which is no part of the message whose fragments it
  /// stands between (5.4) and whose length NIO's decoder bounds.
  private var (isFinal, isControl) = (false, false)

  /// Reads on. Returns `false` if a message is longer than `bytesMax`.
  mutating func read(_ view: ByteBufferView, bytesMax: Int) -> Bool {
    var at = view.startIndex
    while at < view.endIndex {
      if left > 0 {
        let count = min(left, view.endIndex - at)
        at += count
        left -= count
        if !isControl { bytes += count }
        if left == 0 { frameEnded() }
        continue
      }
      header.append(view[at])
      at += 1
      guard header.count >= 2, header.count == headerCount else { continue }
      left = length
      (isFinal, isControl) = (header[0] & 0x80 != 0, header[0] & 0x08 != 0)
      if !isControl {
        guard left <= bytesMax - announced else { return false }
        announced += left
      }
      header.removeAll(keepingCapacity: true)
      if left == 0 { frameEnded() }
    }
    return true
  }

  private mutating func frameEnded() {
    if isFinal, !isControl { (announced, bytes) = (0, 0) }
  }

  /// The bytes of the header whose first two are there.
  private var headerCount: Int {
    let mask = header[1] & 0x80 == 0 ? 0 : 4
    switch header[1] & 0x7F {
    case 126: return 4 + mask
    case 127: return 10 + mask
    default: return 2 + mask
    }
  }

  private var length: Int {
    let kind = header[1] & 0x7F
    if kind < 126 { return Int(kind) }
    let octets = header[2..<(kind == 126 ? 4 : 10)]
    return Int(clamping: octets.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}

/// Bounds the messages of a WebSocket before its login, and counts what of them is there: NIO holds each until it is complete. It
/// stands in front of NIO's decoder. A longer message is refused with close code 1009.
///
///  Confined to its channel's event loop, like every handler.
final class LoginFrames: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let bytesMax: Int
  private var lengths = FrameLengths()
  /// The memory of the bytes; nil where it has no bound, and after the login.
  var memory: MemoryBound.Holder?
  private(set) var isLoggedIn = false
  private var isRefused = false

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  func logIn() {
    isLoggedIn = true
    memory = nil
  }

  func handlerRemoved(context: ChannelHandlerContext) { memory = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isLoggedIn { return context.fireChannelRead(data) }
    if isRefused { return }
    guard lengths.read(unwrapInboundIn(data).readableBytesView, bytesMax: bytesMax) else {
      isRefused = true
      return context.fireErrorCaught(NIOWebSocketError.invalidFrameLength)
    }
    memory?.hold(lengths.bytes)
    context.fireChannelRead(data)
  }
}
