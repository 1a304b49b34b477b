import NIOCore
public import NIOSSL

/// The answers to handshakes by which an authority verifies that a name leads here (`tls-alpn-01`, RFC 8737).
public protocol TLSValidation: Sendable {
  /// Whether an authority may come now; other handshakes are then not looked into.
  var isExpected: Bool { get }
  /// Returns the context of the certificate that proves the control of a name; nil if nothing is to be proved of it.
  func context(for name: String) -> NIOSSLContext?
}

/// Looks at the first message of a TLS connection, and puts TLS in its place: that of a validation if the client speaks
/// its protocol alone and a name is to be proved (RFC 8737 3), else the usual one.
///
///  Confined to its channel's event loop, like every handler.
final class ValidationHandler: ChannelInboundHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  static let name = "acme-tls/1"

  private let validation: any TLSValidation
  private let usual: @Sendable () -> NIOSSLContext
  private var read = ByteBuffer()

  init(_ validation: any TLSValidation, usual: @escaping @Sendable () -> NIOSSLContext) {
    self.validation = validation
    self.usual = usual
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var part = unwrapInboundIn(data)
    read.writeBuffer(&part)
    let asked: NIOSSLContext?
    switch ClientHello.read(read.readableBytesView) {
    case .incomplete: return
    case .hello(let hello) where hello.protocols == [Self.name]:
      asked = hello.serverName.flatMap { validation.context(for: $0.lowercased()) }
    case .hello, .unknown: asked = nil
    }
    do {
      let pipeline = context.pipeline.syncOperations
      try pipeline.addTLS(NIOSSLServerHandler(context: asked ?? usual()), position: .after(self))
      context.fireChannelRead(wrapInboundOut(read))
      context.fireChannelReadComplete()
      pipeline.removeHandler(self, promise: nil)
    } catch {
      context.close(promise: nil)
    }
  }
}
