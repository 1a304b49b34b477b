import HTTPPort
import NIOCore
import NIOSSL
import NIOTLS
import Peers
import XMPP

/// TLS from the first byte (XEP-0368), or behind STARTTLS (RFC 6120 5).
extension ServerConnection {
  /// Puts TLS in front of this handler.
  func restartUnderTLS(_ make: () throws -> NIOSSLHandler) {
    dropUnread()
    beginAgain()
    addTLS(make)
  }

  private func addTLS(_ make: () throws -> NIOSSLHandler) {
    guard let context else { return }
    do {
      let handler = try make()
      tls = handler
      buffers = try TLSBuffers { try context.pipeline.syncOperations.addTLS(handler, position: .before(self)) }
    } catch {
      failed(error)
      closeChannel()
    }
  }

  func startTLS() {
    guard let asked, let context = streams.trust.clientContext(asked.sender) else {
      initiating?.disconnected("there is no certificate for \(asked?.sender ?? "")")
      return closeChannel()
    }
    restartUnderTLS { try chain.clientHandler(context, domain: asked.target) }
  }

  /// Waits for the ClientHello, which names the domain whose certificate is presented (RFC 6066 3).
  func awaitHello() {
    guard let pipeline = context?.pipeline.syncOperations else { return }
    awaitsHello = true
    let hello = SNIHandler { [weak self] asked in
      guard let self, let context = self.context else {
        return pipeline.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
      }
      return context.eventLoop.makeCompletedFuture { try self.hello(asked) }
    }
    do {
      try pipeline.addHandler(ByteToMessageHandler(hello), position: .first)
    } catch {
      closeChannel()
    }
    paceHandshake()
  }

  /// Delays the handshake of another server if its network begins too many.
  func paceHandshake() {
    guard let channel = context?.channel else { return }
    do { try streams.handshakes?.pace(channel, of: client) } catch { closeChannel() }
  }

  private func hello(_ asked: SNIResult) throws {
    let named: String? = if case .hostname(let name) = asked { name } else { nil }
    guard let domain = named ?? streams.policy.domains.min(), let context = streams.trust.serverContext(domain) else {
      closeChannel()
      throw ChannelError.operationUnsupported
    }
    awaitsHello = false
    addTLS { chain.serverHandler(context) }
  }

  /// The version of TLS, for operators.
  var tlsVersion: String? {
    switch tls?.tlsVersion {
    case .tlsv12?: "TLSv1.2"
    case .tlsv13?: "TLSv1.3"
    default: nil
    }
  }

  /// Releases the buffers of TLS, if all output has been written.
  func releaseBuffers() {
    guard let buffers, let options = context?.channel.syncOptions,
      (try? options.getOption(.bufferedWritableBytes)) == 0
    else { return }
    buffers.release()
  }
}
