import Dialogs
import NIOCore

/// The connection of a session to its client. Confined to the event loop, like the session.
protocol SessionChannel: AnyObject {
  var eventLoop: any EventLoop { get }
  var transport: OnlineSession.Transport { get }
  /// Whether the client reads; the session is told of changes.
  var isWritable: Bool { get }
  /// The bytes that wait for the client.
  var unreadBytes: Int { get }
  /// Writes a text, which is sent with the next flush.
  ///
  /// - Parameters:
  ///   - count: the exact number of bytes that `body` writes.
  ///   - cursor: the cursor of a client that has received this.
  func write(count: Int, cursor: String?, _ body: (inout ByteBuffer) -> Void)
  func flush()
  /// Sets whether to read the client's data.
  func setReading(_ isReading: Bool)
  /// Sends the reason, and ends. Nothing is written after it.
  func close(_ code: CloseCode, reason: String, _ problem: Problem?)
  /// Closes the connection once what was written is sent, without waiting for the client's answer.
  func finish()
  /// Closes the connection at once, with what the client does not read.
  func cut()
  /// Notes that the client has proved who it is, with the user's address. Returns `false` if the client's network has as many
  /// connections as it may have.
  func loggedIn(_ user: String) -> Bool
}

extension SessionChannel {
  /// The request of a stream of events has proved it already.
  func loggedIn(_ user: String) -> Bool { true }
}
