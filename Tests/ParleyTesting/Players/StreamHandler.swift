import NIOCore
import Synchronization
import XMLStream
import XMPP

/// The counters of stream management (XEP-0198) in both directions, over all connections of a session.
struct ManagementCounts: Sendable {
  /// The server counts what we send: from `<enable/>` on.
  var isSending = false
  /// We count what the server sends: from `<enabled/>` on.
  var isReceiving = false
  var id: String?
  var received: UInt32 = 0
  /// The number of stanzas that the server has acknowledged.
  var acknowledged: UInt32 = 0
  /// Sent behind it, in order.
  var unacknowledged: [String] = []

  mutating func acknowledge(_ handled: UInt32) {
    let count = Int(handled &- acknowledged)
    guard count <= unacknowledged.count else { return }
    unacknowledged.removeFirst(count)
    acknowledged = handled
  }
}

/// The client's end of one XMPP connection: bytes to elements, and the answers that every client gives at once.
final class StreamHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let inbox: Inbox
  private let counts: SharedCounts
  /// A raw player answers for itself.
  private let isRaw: Bool
  private var reader: ElementReader? = ElementReader(limits: .authenticated)

  init(inbox: Inbox, counts: SharedCounts, isRaw: Bool) {
    self.inbox = inbox
    self.counts = counts
    self.isRaw = isRaw
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    while bytes.readableBytes > 0, var reader = reader.take() {
      var isRestart = false
      let read = bytes.withUnsafeReadableBytes { raw in
        reader.feed(raw) { event in
          isRestart = handle(event, context)
          return isRestart ? .stop : .proceed
        }
      }
      bytes.moveReaderIndex(forwardBy: read)
      self.reader = isRestart ? ElementReader(limits: .authenticated) : reader
    }
  }

  /// Whether a new stream begins behind the event.
  private func handle(_ event: consuming ReaderEvent, _ context: ChannelHandlerContext) -> Bool {
    switch event {
    case .opened(let header): inbox.add(.xml(header.element))
    case .closed: inbox.add(.end(code: nil))
    case .whitespace: break
    case .violation(let violation): context.fireErrorCaught(violation)
    case .element(let element):
      let answer = isRaw ? nil : count(element)
      inbox.add(.xml(element))
      if let answer {
        inbox.note(sent: answer)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
      }
      // RFC 6120 5.4.3.3, 6.4.6.
      return element.is(.proceedTLS) || element.is(.success)
    }
    return false
  }

  private func count(_ element: Element) -> String? {
    counts.withLock { counts in
      if element.namespace == managementNamespace {
        let handled = element["h"].flatMap { UInt32($0) }
        switch element.local {
        case "enabled":
          counts.isReceiving = true
          counts.id = element["id"]
        case "a", "resumed": if let handled { counts.acknowledge(handled) }
        case "failed": if let handled { counts.acknowledge(handled) }
        case "r": return "<a xmlns='\(managementNamespace)' h='\(counts.received)'/>"
        default: break
        }
        if element.local == "resumed" { counts.isReceiving = true }
      } else if counts.isReceiving, ["message", "presence", "iq"].contains(element.local) {
        counts.received &+= 1
      }
      guard Arrival.xml(element).isRequestToConfirm, let from = element["from"], let id = element["id"] else {
        return nil
      }
      let pong = "<iq type='result' to='\(from)' id='\(id)'/>"
      if counts.isSending { counts.unacknowledged.append(pong) }
      return pong
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    counts.withLock {
      $0.isReceiving = false
      $0.isSending = false
    }
    inbox.add(.disconnected)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    inbox.note(sent: "(\(error))")
    context.close(promise: nil)
  }
}

/// Shared by a player and its connections.
final class SharedCounts: Sendable {
  private let counts = Mutex(ManagementCounts())
  func withLock<Value>(_ body: (inout sending ManagementCounts) -> sending Value) -> Value { counts.withLock(body) }
}

let managementNamespace = "urn:xmpp:sm:3"
