import Dialogs
import NIOCore
import XMPP

/// The carrier of a stream: TCP, a WebSocket, HTTP requests. Confined to the stream's event loop.
///
/// It tells the `XMPPConnection`, once `opened`, what was `received`, whether it takes more (`writabilityChanged`), and
/// that it is `lost`. The connection writes every element as for a document, so that an element encoded once serves
/// every transport; one that frames elements adapts them (`StreamFraming.writeStandAlone`).
protocol StreamTransport: AnyObject {
  var kind: OnlineSession.Transport { get }
  /// The bytes that it holds: what the client was sent and has not taken, and requests that are not read yet.
  var heldBytes: Int { get }
  /// Sends bytes, in order.
  ///
  /// - Parameter ends: the end of each element in `bytes`; empty with `StreamFraming.document`.
  func send(_ bytes: ByteBuffer, ends: [Int])
  /// Reads on, after `XMPPConnection.mayRead` was `false`.
  func read()
  /// Closes once everything is sent.
  func close()
  /// Closes at once, since the client is gone.
  func drop()
  /// Starts TLS behind the bytes that `proceed` sends. Returns `false`, without effect, if this transport has no TLS.
  func startTLS(_ proceed: () -> Void) -> Bool
  /// Called every `LoopContext.tick`.
  func tick(_ now: NIODeadline)
}

extension StreamTransport {
  func startTLS(_ proceed: () -> Void) -> Bool { false }
  func tick(_ now: NIODeadline) {}
}
