import Addresses
import NIOCore
package import NIOSSL

/// The certificates that the peer of one connection presents. It creates the connection's TLS handler, which accepts any
/// certificates in the handshake: `PeerTrust.verify` judges them afterwards. The signature over the handshake is still
/// checked, so the peer owns the first certificate's key (RFC 8446 4.4.3). A key that is too large for this check, which runs
/// on the event loop, ends the handshake before it.
///
/// It belongs to the connection's event loop.
package final class PeerChain {
  private var presented: [[UInt8]] = []
  private weak var handler: NIOSSLHandler?
  private let keyBytesMax: Int
  private let schedule: ((_ check: @escaping () -> Bool) -> Void)?
  private let isOpen: () -> Bool

  /// - Parameters:
  ///   - schedule: Runs the check of the signature over the handshake at once or later, so that many checks together do not block the
  ///     event loop. The check returns `false` if the peer has left and nothing was checked. `nil` for a connection that the operator
  ///     has requested, whose check does not wait.
  ///   - isOpen: Returns whether the peer is still connected when its check is due.
  package init(
    keyBytesMax: Int = PeerLimits.keyBytesMax, schedule: ((_ check: @escaping () -> Bool) -> Void)? = nil,
    isOpen: @escaping () -> Bool = { true }
  ) {
    self.keyBytesMax = keyBytesMax
    self.schedule = schedule
    self.isOpen = isOpen
  }

  /// Returns the TLS handler for a stream that the peer opened.
  package func serverHandler(_ context: NIOSSLContext) -> NIOSSLServerHandler {
    let made = NIOSSLServerHandler(context: context, customVerificationCallback: keep)
    handler = made
    return made
  }

  /// Returns the TLS handler for a stream that this server opened; the server name is the domain's, not the target's
  /// (XEP-0368 3).
  package func clientHandler(_ context: NIOSSLContext, domain: String) throws -> NIOSSLClientHandler {
    let name = AsciiDomain.of(domain)
    let made: NIOSSLClientHandler
    do {
      made = try NIOSSLClientHandler(
        context: context, serverHostname: name, customVerificationCallback: keep, configuration: .init())
    } catch is NIOSSLExtraError {
      // A literal address is not a server name (RFC 6066 3).
      made = try NIOSSLClientHandler(
        context: context, serverHostname: nil, customVerificationCallback: keep, configuration: .init())
    }
    handler = made
    return made
  }

  /// The certificates in DER, the leaf first, from the end of the handshake on. A resumed TLS session presents none
  /// again and knows only the leaf; `PeerTrust.verify` remembers the rest.
  package var certificates: [[UInt8]] {
    if presented.isEmpty, let leaf = try? handler?.peerCertificate?.toDERBytes() { return [leaf] }
    return presented
  }

  private func keep(_ chain: [NIOSSLCertificate], _ promise: EventLoopPromise<NIOSSLVerificationResult>) {
    presented = chain.compactMap { try? $0.toDERBytes() }
    let key = try? chain.first?.extractPublicKey().toSPKIBytes()
    if (key?.count ?? 0) > keyBytesMax { return promise.succeed(.failed) }
    guard let schedule else { return promise.succeed(.certificateVerified) }
    schedule { [isOpen] in
      let isThere = isOpen()
      promise.succeed(isThere ? .certificateVerified : .failed)
      return isThere
    }
  }
}
