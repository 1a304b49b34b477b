import Dialogs
import NIOCore

/// What carries a session to its client. Loop-confined, like the session.
protocol SessionChannel: AnyObject {
  var eventLoop: any EventLoop { get }
  /// False while the client leaves bytes unread. The session is told when that changes.
  var isWritable: Bool { get }
  /// One text, which goes out with the next flush.
  ///
  /// - Parameters:
  ///   - count: the bytes that `body` writes, exactly.
  ///   - cursor: where the client goes on from once it has this.
  func write(count: Int, cursor: String?, _ body: (inout ByteBuffer) -> Void)
  func flush()
  /// Whether to read what the client says.
  func setReading(_ isReading: Bool)
  /// Says why, and ends. Nothing is written after it.
  func close(_ code: CloseCode, reason: String, _ problem: Problem?)
  /// Ends at once.
  func cut()
}
