import Dialogs
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix

/// A client of the admin socket, which calls operations of a running server.
package struct AdminClient: Sendable {
  private let path: String

  package init(path: String) { self.path = path }

  package enum Failure: Error {
    /// No server listens at the socket.
    case absent
    /// A server listens and does not answer as this version does.
    case broken(String)
  }

  /// Returns the data folder of the server that listens; nil if it names none, as earlier versions do.
  package func folder() async throws -> ServedFolder? {
    try await exchange("/" + ServerStatus.name, AdminJSON.encode(Empty()), wait: ServerStatus.answerWait).folder
  }

  package func call<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: Operation.Input
  ) async throws -> Operation.Output {
    let body = try AdminJSON.encode(input)
    let answer = try await exchange("/" + Operation.name, body, wait: Operation.answerWait)
    let json = try? JSONValue(parsing: answer.body)
    guard answer.status == 200 else {
      guard let problem = try? json.map({ try InputDecoder.decode(AdminProblem.self, from: $0) }) else {
        throw Failure.broken("status \(answer.status)")
      }
      throw problem.problem
    }
    guard let output = try? json.map({ try InputDecoder.decode(Operation.Output.self, from: $0) }) else {
      throw Failure.broken("an answer that cannot be read; do server and command have the same version?")
    }
    return output
  }

  private func exchange(
    _ uri: String, _ body: [UInt8], wait: Duration
  ) async throws -> (status: Int, body: [UInt8], folder: ServedFolder?) {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let answer = loop.makePromise(of: NIOHTTPClientResponseFull.self)
    let channel: any Channel
    do {
      channel = try await ClientBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHTTPClientHandlers()
            try pipeline.addHandler(NIOHTTPClientResponseAggregator(maxContentLength: AdminLimits.answerBytesMax))
            try pipeline.addHandler(AnswerHandler(answer))
          }
        }
        .connect(unixDomainSocketPath: path).get()
    } catch {
      answer.fail(error)
      throw Failure.absent
    }
    let timeout = loop.scheduleTask(in: TimeAmount(wait)) {
      answer.fail(Failure.broken("no answer in time"))
    }
    let headers = HTTPHeaders([
      ("host", "localhost"), ("content-type", "application/json"), ("content-length", "\(body.count)"),
      ("connection", "close"),
    ])
    let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: uri, headers: headers)
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    defer {
      timeout.cancel()
      channel.close(promise: nil)
    }
    let full = try await answer.futureResult.get()
    return (
      Int(full.head.status.code), full.body.map { Array($0.readableBytesView) } ?? [],
      full.head.headers.first(name: ServedFolder.field).flatMap { ServedFolder(field: $0) }
    )
  }
}

/// Fulfils a promise with the whole answer; a connection that ends without one is a failure.
private final class AnswerHandler: ChannelInboundHandler {
  typealias InboundIn = NIOHTTPClientResponseFull

  private let answer: EventLoopPromise<NIOHTTPClientResponseFull>

  init(_ answer: EventLoopPromise<NIOHTTPClientResponseFull>) { self.answer = answer }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { answer.succeed(unwrapInboundIn(data)) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    answer.fail(error)
    context.close(promise: nil)
  }

  // After an answer this has no effect: a promise keeps its first result.
  func channelInactive(context: ChannelHandlerContext) {
    answer.fail(AdminClient.Failure.broken("the connection ended without an answer"))
  }
}
