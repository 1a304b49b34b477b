import Glibc
import Logging
import NIOCore
import NIOEmbedded
import ServerMetrics
import Testing

@testable import HTTPPort

@Suite struct AcceptPauseTests {
  /// The reads that reach a port.
  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = Never
    var count = 0
    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  private final class Errors: ChannelInboundHandler {
    typealias InboundIn = Never
    var count = 0
    func errorCaught(context: ChannelHandlerContext, error: any Error) { count += 1 }
  }

  @Test(arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM]) func aPortWithoutDescriptorsPauses(code: Int32) throws {
    let (metrics, reads, errors) = (Metrics(), Reads(), Errors())
    let channel = EmbeddedChannel()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    try channel.pipeline.syncOperations.addHandlers([reads, AcceptPause(metrics, logger), errors])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    func switches() -> [Bool] {
      channel.options.filter { $0.option is ChannelOptions.Types.AutoReadOption }.compactMap { $0.value as? Bool }
    }
    func pauses() -> [Sample.Value]? { metrics.acceptPauses.samples(Readings())?.map(\.value) }
    let before = reads.count
    channel.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
    channel.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
    channel.pipeline.read()
    #expect(switches().last == false && reads.count == before && errors.count == 0)
    #expect(pauses() == [.number(1)])
    channel.embeddedEventLoop.advanceTime(by: HTTPLimits.acceptPause)
    #expect(switches().last == true)
    channel.pipeline.read()
    #expect(reads.count == before + 1)
    // The next one is another pause.
    channel.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
    #expect(switches().last == false && pauses() == [.number(2)])
    _ = try? channel.finish()
  }

  @Test func otherErrorsPass() throws {
    let (metrics, errors) = (Metrics(), Errors())
    let channel = EmbeddedChannel()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    try channel.pipeline.syncOperations.addHandlers([AcceptPause(metrics, logger), errors])
    channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
    channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
    #expect(errors.count == 2 && channel.options.isEmpty)
    _ = try? channel.finish()
  }
}
