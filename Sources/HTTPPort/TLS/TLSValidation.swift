import NIOCore
public import NIOSSL

/// The answers to handshakes by which an authority verifies the control of a name (`tls-alpn-01`, RFC 8737).
public protocol TLSValidation: Sendable {
  /// Whether an authority may connect now. Otherwise handshakes are not examined.
  var isExpected: Bool { get }
  /// Returns the context of the certificate that proves the control of a name; nil if no validation of it is pending.
  func context(for name: String) -> NIOSSLContext?
}

/// Reads the first message of a TLS connection, and replaces itself by TLS: for a validation if the client offers only its
/// protocol and a validation of the name is pending (RFC 8737 3), otherwise with the usual context.
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
