import NIOCore
import NIOPosix

// One question to one name server: over UDP, and over TCP if the answer did not fit (RFC 1035 4.2). Each exchange has a
// socket of its own, so the system chooses a random port for it, and lets nothing through that comes from another
// address. What arrives is the answer only if its id and question are those that were sent (RFC 5452 9.1).

/// The meaning that the bytes of a datagram or a TCP message have for a question.
enum Reply: Hashable, Sendable {
  case answer(Message)
  /// They belong to another question, or to none.
  case stray
  case malformed

  init(_ bytes: [UInt8], to question: Question, id: UInt16) {
    guard bytes.count >= 2, UInt16(bytes[0]) << 8 | UInt16(bytes[1]) == id else {
      self = .stray
      return
    }
    guard let message = try? Message(bytes) else {
      self = .malformed
      return
    }
    // A server that does not understand a query may repeat nothing of it.
    let isRefusal =
      message.question == nil
      && (message.code == Message.Code.formatError || message.code == Message.Code.notImplemented)
    self = message.isResponse && (message.question == question || isRefusal) ? .answer(message) : .stray
  }
}

struct Exchange: Sendable {
  let question: Question
  let server: SocketAddress
  let hasEDNS: Bool
  let asksForAuthenticity: Bool
  let timeout: TimeAmount
  let timers: any Timers

  /// Asks, and returns the message that belongs to the question.
  func perform(on loop: any EventLoop) async throws(LookupFailure) -> Message {
    let end = loop.makePromise(of: Message.self)
    // The promise takes the first result alone.
    let timer = timers.after(timeout, on: loop) { end.fail(LookupFailure.timedOut) }
    ask(overTCP: false, loop, end)
    do {
      let message = try await end.futureResult.get()
      timer.cancel()
      return message
    } catch {
      timer.cancel()
      throw error as? LookupFailure ?? .timedOut
    }
  }

  private func ask(overTCP: Bool, _ loop: any EventLoop, _ end: EventLoopPromise<Message>) {
    let id = UInt16.random(in: .min ... .max)
    let query = Message.query(question, id: id, hasEDNS: hasEDNS, asksForAuthenticity: asksForAuthenticity)
    let received: @Sendable (Reply) -> Void = { reply in
      switch reply {
      case .answer(let message) where message.isTruncated && !overTCP: ask(overTCP: true, loop, end)
      case .answer(let message) where !message.isTruncated: end.succeed(message)
      case .answer, .malformed: end.fail(LookupFailure.malformed)
      case .stray where !overTCP: ask(overTCP: true, loop, end)
      case .stray: end.fail(LookupFailure.malformed)
      }
    }
    let question = question
    let connecting: EventLoopFuture<any Channel>
    if overTCP {
      connecting = ClientBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(StreamReader(question, id: id, received))
          }
        }.connect(to: server)
    } else {
      connecting = DatagramBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(DatagramReader(question, id: id, received))
          }
        }.connect(to: server)
    }
    connecting.whenComplete { result in
      switch result {
      case .failure: end.fail(LookupFailure.timedOut)
      case .success(let channel):
        end.futureResult.whenComplete { _ in channel.close(promise: nil) }
        var buffer = channel.allocator.buffer(capacity: query.count + 2)
        if overTCP { buffer.writeInteger(UInt16(query.count)) }
        buffer.writeBytes(query)
        channel.writeAndFlush(buffer).whenFailure { _ in end.fail(LookupFailure.timedOut) }
        // A server that is not there counts as one that is silent.
        channel.closeFuture.whenComplete { _ in end.fail(LookupFailure.timedOut) }
      }
    }
  }
}

/// Reads the answer from datagrams. What is not the answer is passed over: it is from somebody who guesses, or late.
private final class DatagramReader: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let question: Question
  private let id: UInt16
  private let received: @Sendable (Reply) -> Void
  private var strays = 0
  private var isDone = false

  init(_ question: Question, id: UInt16, _ received: @escaping @Sendable (Reply) -> Void) {
    self.question = question
    self.id = id
    self.received = received
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isDone { return }
    let reply = Reply(Array(unwrapInboundIn(data).data.readableBytesView), to: question, id: id)
    if reply == .stray { strays += 1 }
    isDone = reply != .stray || strays == DNSLimits.strayDatagramsMax
    if isDone { received(reply) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// Reads the answer from a TCP connection, where its length stands before it (RFC 1035 4.2.2).
private final class StreamReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let question: Question
  private let id: UInt16
  private let received: @Sendable (Reply) -> Void
  private var gathered = ByteBuffer()

  init(_ question: Question, id: UInt16, _ received: @escaping @Sendable (Reply) -> Void) {
    self.question = question
    self.id = id
    self.received = received
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var part = unwrapInboundIn(data)
    gathered.writeBuffer(&part)
    guard let size = gathered.getInteger(at: gathered.readerIndex, as: UInt16.self) else { return }
    guard Int(size) <= DNSLimits.messageBytesMax else { return received(.malformed) }
    guard let bytes = gathered.getBytes(at: gathered.readerIndex + 2, length: Int(size)) else { return }
    received(Reply(bytes, to: question, id: id))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
