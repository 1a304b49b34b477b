import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Reads a server's log from a pipe: tells when it is ready, and keeps the lines for the report of a failure.
final class LogReader: Sendable {
  private let lines = Mutex<[String]>([])
  private let ready: EventLoopPromise<Void>
  /// The end that the server writes to. Closed by `closeWriter`.
  let writer: Int32

  private init(loop: any EventLoop, writer: Int32) {
    ready = loop.makePromise()
    self.writer = writer
  }

  static func open() async throws -> LogReader {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw PlayerError("no pipe for the log: \(errno)") }
    // A server process gets its end by name; no other process may hold one open.
    for end in ends where fcntl(end, F_SETFD, FD_CLOEXEC) != 0 { throw PlayerError("the log's pipe: \(errno)") }
    let group = MultiThreadedEventLoopGroup.singleton
    let log = LogReader(loop: group.next(), writer: ends[1])
    _ = try await NIOPipeBootstrap(group: group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler(log: log)) }
      }
      .takingOwnershipOfDescriptor(input: ends[0]).get()
    return log
  }

  func closeWriter() { close(writer) }

  /// Returns when the server has reported that it is ready.
  func waitUntilReady(_ loop: any EventLoop) async throws {
    // Other tests may hold all threads for a minute or two when the run begins.
    let timer = loop.scheduleTask(in: .seconds(300)) {
      self.ready.fail(PlayerError("the server does not become ready"))
    }
    defer { timer.cancel() }
    do { try await ready.futureResult.get() } catch {
      throw PlayerError("\(error):\n" + text)
    }
  }

  /// The server ended before it was ready.
  func failed(_ error: any Error) { ready.fail(error) }

  var text: String { lines.withLock { $0.suffix(60).joined(separator: "\n") } }

  private func add(_ line: String) {
    lines.withLock { lines in
      lines.append(line)
      if lines.count > 2_000 { lines.removeFirst(1_000) }
    }
    if line.contains(" parley: ready") { ready.succeed() }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let log: LogReader
    private var rest = ByteBuffer()

    init(log: LogReader) { self.log = log }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      rest.writeBuffer(&bytes)
      while let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
        if let line = rest.readString(length: end - rest.readerIndex) { log.add(line) }
        rest.moveReaderIndex(forwardBy: 1)
      }
      rest.discardReadBytes()
    }

    func channelInactive(context: ChannelHandlerContext) {
      log.ready.fail(PlayerError("the server ended"))
    }
  }
}
