/// A session in a play, driven by the script. Calls are sequential.
protocol Player: AnyObject, Sendable {
  var role: Role { get }
  var inbox: Inbox { get }
  var isConnected: Bool { get }

  func connect() async throws
  /// Ends the session as the protocol asks, and waits for the other side to end it too.
  func disconnect() async throws
  /// Ends the connection without a word, and waits until it is gone.
  func cut() async
  func goDeaf() async
  /// Connects and resumes where the last connection ended.
  func resume() async throws
  /// Sends a text, with captures filled in.
  func send(_ text: String) async throws
  /// Returns when the server has answered a ping: everything it had to say before has arrived.
  func ping() async throws
}

/// The addresses of the server under test.
public struct Address: Hashable, Sendable {
  public let xmpp: Int
  public let xmppTLS: Int
  public let http: Int
  /// The path of the admin socket.
  public let adminSocket: String
  public init(xmpp: Int, xmppTLS: Int, http: Int, adminSocket: String) {
    self.adminSocket = adminSocket
    self.xmpp = xmpp
    self.xmppTLS = xmppTLS
    self.http = http
  }
}
