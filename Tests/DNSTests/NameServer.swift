import NIOCore
import NIOPosix
import Synchronization

@testable import DNS

/// A name server on this machine that answers as a test says, over UDP and TCP on one port.
final class NameServer: Sendable {
  enum Way: Hashable, Sendable { case datagram, stream }

  struct Query: Hashable, Sendable {
    let way: Way
    let id: UInt16
    let bytes: [UInt8]
    let port: Int?
  }

  /// Returns the messages that are sent for a query, one after the other.
  typealias Answering = @Sendable (Query) -> [[UInt8]]

  let address: SocketAddress
  private let channels: [any Channel]
  private let log: Log

  final class Log: Sendable {
    let queries = Mutex<[Query]>([])
    let arrived: AsyncStream<Query>
    private let continuation: AsyncStream<Query>.Continuation

    init() { (arrived, continuation) = AsyncStream.makeStream() }

    func add(_ query: Query) {
      queries.withLock { $0.append(query) }
      continuation.yield(query)
    }
  }

  var queries: [Query] { log.queries.withLock { $0 } }

  static func start(_ answering: @escaping Answering) async throws -> NameServer {
    let group = MultiThreadedEventLoopGroup.singleton
    let log = Log()
    // A port that is free for TCP may be taken for UDP.
    var last: (any Error)?
    for _ in 0..<20 {
      let stream = try await ServerBootstrap(group: group)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(StreamHandler(log, answering))
          }
        }.bind(host: "127.0.0.1", port: 0).get()
      guard let address = stream.localAddress else { break }
      do {
        let datagram = try await DatagramBootstrap(group: group)
          .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandler(DatagramHandler(log, answering))
            }
          }.bind(to: address).get()
        return NameServer(address, [stream, datagram], log)
      } catch {
        last = error
        try await stream.close().get()
      }
    }
    throw last ?? ChannelError.operationUnsupported
  }

  private init(_ address: SocketAddress, _ channels: [any Channel], _ log: Log) {
    self.address = address
    self.channels = channels
    self.log = log
  }

  /// Waits for the next query.
  func asked() async -> Query? {
    for await query in log.arrived { return query }
    return nil
  }

  func stop() async { for channel in channels { try? await channel.close().get() } }

  private final class DatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let log: Log
    private let answering: Answering

    init(_ log: Log, _ answering: @escaping Answering) {
      self.log = log
      self.answering = answering
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let envelope = unwrapInboundIn(data)
      let bytes = Array(envelope.data.readableBytesView)
      let query = Query(
        way: .datagram, id: UInt16(bytes[0]) << 8 | UInt16(bytes[1]), bytes: bytes, port: envelope.remoteAddress.port)
      log.add(query)
      for answer in answering(query) {
        context.writeAndFlush(
          wrapOutboundOut(AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: answer))),
          promise: nil)
      }
    }
  }

  private final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let log: Log
    private let answering: Answering
    private var gathered = ByteBuffer()

    init(_ log: Log, _ answering: @escaping Answering) {
      self.log = log
      self.answering = answering
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var part = unwrapInboundIn(data)
      gathered.writeBuffer(&part)
      guard let size = gathered.getInteger(at: gathered.readerIndex, as: UInt16.self),
        gathered.readableBytes >= Int(size) + 2, let bytes = gathered.readBytes(length: Int(size) + 2)
      else { return }
      let query = Query(
        way: .stream, id: UInt16(bytes[2]) << 8 | UInt16(bytes[3]), bytes: Array(bytes.dropFirst(2)),
        port: context.channel.remoteAddress?.port)
      log.add(query)
      // Byte by byte, as a slow network may bring them.
      for answer in answering(query) {
        for byte in [UInt8(answer.count >> 8), UInt8(truncatingIfNeeded: answer.count)] + answer {
          context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: [byte])), promise: nil)
        }
      }
    }
  }
}

/// Returns a message with another id.
func message(_ bytes: [UInt8], id: UInt16) -> [UInt8] {
  [UInt8(id >> 8), UInt8(truncatingIfNeeded: id)] + bytes.dropFirst(2)
}

/// Time that passes when a test says so.
final class ManualTimers: Timers {
  private struct Waiting {
    let at: NIODeadline
    let loop: any EventLoop
    let body: @Sendable () -> Void
  }

  private struct State {
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    var set: [Int: Waiting] = [:]
    var next = 0
    var delays: [TimeAmount] = []
  }

  private let state = Mutex(State())

  var now: NIODeadline { state.withLock { $0.now } }
  /// The delays that were asked for, in order.
  var delays: [TimeAmount] { state.withLock { $0.delays } }

  func after(_ delay: TimeAmount, on loop: any EventLoop, _ body: @escaping @Sendable () -> Void) -> Timer {
    let number = state.withLock { state in
      state.next += 1
      state.delays.append(delay)
      state.set[state.next] = Waiting(at: state.now + delay, loop: loop, body: body)
      return state.next
    }
    return Timer { [self] in state.withLock { $0.set[number] = nil } }
  }

  func pass(_ time: TimeAmount) {
    let due = state.withLock { state in
      state.now = state.now + time
      let due = state.set.filter { $0.value.at <= state.now }
      for number in due.keys { state.set[number] = nil }
      return due.values.map { $0 }
    }
    for each in due { each.loop.execute(each.body) }
  }
}
