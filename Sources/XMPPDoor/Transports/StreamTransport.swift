import NIOCore
import XMPP

/// What carries a stream: TCP, a WebSocket, HTTP requests. Confined to the stream's event loop.
///
/// It tells the `XMPPConnection`, once `opened`, what was `received`, whether it takes more (`writabilityChanged`), and that
/// it is `lost`. The connection writes every element as for a document, so that what is encoded once serves every transport;
/// one that frames elements adapts them (`StreamFraming.standAlone`).
protocol StreamTransport: AnyObject {
  /// Sends what was written, in order.
  ///
  /// - Parameter ends: where each element ends in `bytes`; empty with `StreamFraming.document`.
  func send(_ bytes: ByteBuffer, ends: [Int])
  /// The connection takes input again, after `XMPPConnection.mayRead` was false.
  func read()
  /// Closes once everything sent is out.
  func close()
  /// Closes at once: nobody is there.
  func drop()
  /// Starts TLS behind what `proceed` sends. False: there is none here, and nothing happened.
  func startTLS(_ proceed: () -> Void) -> Bool
  /// Comes every `LoopWheel.tick`.
  func tick(_ now: NIODeadline)
}

extension StreamTransport {
  func startTLS(_ proceed: () -> Void) -> Bool { false }
  func tick(_ now: NIODeadline) {}
}
