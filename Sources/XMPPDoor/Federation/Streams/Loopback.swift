import Addresses
import Basics
import Dialogs
import NIOCore
import Peers
import XMLStream
import XMPP

/// Opens streams between two realms of this process. Each realm is a remote server for the other: stanzas pass through the
/// same outbox and are read as from any other server, but without sockets, TLS and the DNS.
struct LoopbackOpener: FederationStreamOpener {
  /// Finds the link of a pair on the other side.
  let link: @Sendable (DomainPair) -> FederationLink?

  func open(
    _ pair: DomainPair, on mounted: MountedLoop, for owner: any FederationStreamOwner,
    failed: @escaping @Sendable (OpenFailure) -> Void
  ) {
    guard let other = link(DomainPair(local: pair.remote, remote: pair.local)) else {
      return failed(OpenFailure(isFinal: false, reason: "there are too many links"))
    }
    let (near, far) = (mounted.loop, other.mounted.loop)
    near.execute {
      let sender = LoopbackStream.open(pair, loop: near, direction: .outgoing, owner)
      far.execute {
        let receiver = LoopbackStream.open(other.pair, loop: far, direction: .incoming, owner)
        receiver.run { ($0 as? LoopbackStream)?.connect(to: sender) }
        sender.run { ($0 as? LoopbackStream)?.connect(to: receiver) }
      }
    }
  }
}

/// One end of a stream between two realms of this process. Stanzas are written as bytes and parsed again, so that they are
/// checked as between two servers. The end that was opened sends; the other one receives, and acknowledges handled stanzas.
final class LoopbackStream: FederationStream {
  private let pair: DomainPair
  private let loop: any EventLoop
  private let owner: any FederationStreamOwner
  private let direction: FederationLinkStatus.Stream.Direction
  private let since = SystemClock().now
  private var peer: FederationStreamHandle?
  /// A reference to the stream itself until it ends, since no channel keeps one.
  private var own: LoopbackStream?
  private(set) lazy var handle = FederationStreamHandle(self, loop: loop)

  /// The stanzas that were sent and are not acknowledged yet.
  private var underWay = 0
  private var writer = StreamFraming.writer()

  private var reader: ElementReader? = StanzaBytes.reader()
  private var backlog = ByteBuffer()
  private var isReading = false
  private var isPaused = false
  /// The stanzas that are handled and not acknowledged yet.
  private var handledCount = 0

  private init(
    _ pair: DomainPair, loop: any EventLoop, direction: FederationLinkStatus.Stream.Direction,
    _ owner: any FederationStreamOwner
  ) {
    self.pair = pair
    self.loop = loop
    self.owner = owner
    self.direction = direction
  }

  /// Creates an end, which keeps itself until it is closed.
  fileprivate static func open(
    _ pair: DomainPair, loop: any EventLoop, direction: FederationLinkStatus.Stream.Direction,
    _ owner: any FederationStreamOwner
  ) -> FederationStreamHandle {
    let stream = LoopbackStream(pair, loop: loop, direction: direction, owner)
    stream.own = stream
    return stream.handle
  }

  fileprivate func connect(to peer: FederationStreamHandle) {
    self.peer = peer
    owner.opened(self, for: pair, mayWrite: direction == .outgoing, isCertified: false)
  }

  let acknowledges = true
  private(set) var isClosing = false
  var isWritable: Bool { underWay < FederationLimits.loopbackStanzasMax }
  var status: FederationLinkStatus.Stream {
    .init(direction: direction, since: since, address: "", tls: nil, verified: "loopback", acknowledges: true)
  }

  // MARK: Sending

  func write(_ body: (inout ElementWriter) -> Void) -> Bool {
    let start = writer.buffer.writerIndex
    body(&writer)
    if !StanzaBytes.isReadable(writer.buffer, from: start, bytesMax: FederationLimits.stanzaBytesMax) {
      writer.buffer.moveWriterIndex(to: start)
      return false
    }
    underWay += 1
    return true
  }

  func flush() {
    guard let peer, writer.buffer.readableBytes > 0 else { return }
    let bytes = writer.buffer
    writer.buffer.clear()
    peer.run { ($0 as? LoopbackStream)?.receive(bytes) }
    // The stanzas that wait for a slow realm are bounded.
    if underWay >= 2 * FederationLimits.loopbackStanzasMax { close(StreamError(.resourceConstraint)) }
  }

  private func acknowledged(_ count: Int) {
    let wasWritable = isWritable
    underWay -= count
    owner.acknowledged(count, of: pair, on: self)
    if !wasWritable, isWritable { owner.writable(self, of: pair) }
  }

  // MARK: Receiving

  private func receive(_ bytes: ByteBuffer) {
    backlog.writeImmutableBuffer(bytes)
    readOn()
  }

  private func readOn() {
    guard !isReading, !isPaused, own != nil, var reader = reader.take() else { return }
    isReading = true
    let count = backlog.withUnsafeReadableBytes { bytes in
      reader.feed(bytes) { event in
        if case .element(let element) = event { receive(element) }
        return isPaused || own == nil ? .stop : .proceed
      }
    }
    backlog.moveReaderIndex(forwardBy: count)
    backlog.discardReadBytes()
    self.reader = consume reader
    isReading = false
  }

  private func receive(_ element: Element) {
    guard let stanza = Stanza(element), let from = try? stanza.from(), let to = try? stanza.to(),
      from.domain == pair.remote, to.domain == pair.local
    else { return handled() }
    owner.received(stanza, of: pair, on: self)
  }

  func handled() {
    handledCount += 1
    // One acknowledgement for all stanzas that are handled in this tick of the loop.
    guard handledCount == 1 else { return }
    let me = handle
    loop.execute { (me.stream as? LoopbackStream)?.acknowledge() }
  }

  private func acknowledge() {
    let count = handledCount
    handledCount = 0
    peer?.run { ($0 as? LoopbackStream)?.acknowledged(count) }
  }

  func setPaused(_ isPaused: Bool) {
    self.isPaused = isPaused
    let me = handle
    if !isPaused { loop.execute { (me.stream as? LoopbackStream)?.readOn() } }
  }

  // MARK: The end

  func close(_ error: StreamError?) {
    guard own != nil else { return }
    let peer = peer
    isClosing = error == nil
    own = nil
    owner.closed(self, of: [pair], isLost: false)
    peer?.run { $0.close(error) }
  }
}
