import NIOCore
import NIOPosix
import NIOSSL
import ServerConfiguration

/// Sends one request to an HTTP port and reads enough of the answer.
enum ProbeHTTP {
  /// Sends a request.
  ///
  /// - Parameter request: The whole request, which should ask the server to close the connection behind the answer.
  /// - Returns: The status line, headers and body; empty without an answer.
  static func ask(
    _ request: String, at endpoint: Settings.Endpoint, tls: Bool, group: any EventLoopGroup
  ) async throws -> String {
    let (pieces, continuation) = AsyncStream.makeStream(of: String.self)
    let context = tls ? try ProbeStream.trusting(protocols: ["http/1.1"]) : nil
    let channel = try await ProbeStream.bootstrap(group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let context { try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil)) }
          try pipeline.addHandler(TextHandler(continuation))
          channel.eventLoop.assumeIsolated().scheduleTask(in: ProbeLimits.wait) { channel.close(promise: nil) }
        }
      }
      .connect(host: Host.reached(endpoint.host), port: endpoint.port).get()
    try await channel.writeAndFlush(ByteBuffer(string: request))
    var answer = ""
    for await piece in pieces {
      answer += piece
      // The connection stays open after an upgrade.
      if answer.hasPrefix("HTTP/1.1 101"), answer.contains("\r\n\r\n") { break }
      if answer.utf8.count > ProbeLimits.answerBytesMax { break }
    }
    channel.close(promise: nil)
    return answer
  }
}

private final class TextHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let pieces: AsyncStream<String>.Continuation

  init(_ pieces: AsyncStream<String>.Continuation) { self.pieces = pieces }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    pieces.yield(String(decoding: bytes.readableBytesView, as: UTF8.self))
  }

  func channelInactive(context: ChannelHandlerContext) { pieces.finish() }
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
