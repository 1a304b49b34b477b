/// What is bounded, and by how much. At a bound the oldest is let go, unless it says otherwise.
enum Limits {
  /// Bytes of an answer; a longer one is an error of the network. Attachments are read by the app from their address.
  static let answerBytes = 32 << 20
  /// Bytes of a WebSocket message; the server's are far smaller.
  static let frameBytes = 4 << 20
  /// WebSocket messages that have arrived and are not read yet; the socket is then read no further.
  static let framesWaiting = 64
  /// Idle HTTP connections, and for how long they are used again: shorter than any server closes them.
  static let idleConnections = 4
  static let idleTime: Duration = .seconds(5)
  /// How long a connection may take to be established.
  static let connectTime: Duration = .seconds(15)
  /// Bytes of a request that give it another second: a slow network takes long to send them.
  static let slowest = 16_000
  /// Silence on the WebSocket after which the client asks, and after which the connection counts as lost.
  static let pingAfter: Duration = .seconds(25)
  static let silence: Duration = .seconds(40)
  static let helloTime: Duration = .seconds(20)
  /// The longest wait between attempts.
  static let delay: Duration = .seconds(60)
  /// Events that a reader has not read. At the bound they are replaced by one ``Event/resync(reason:)``.
  static let eventsWaiting = 10_000
  /// Messages in the outbox. At the bound ``Parley/send(_:_:)`` throws `outbox-full`.
  static let outbox = 10_000
  static let dialogs = 5_000
  static let users = 500
  static let presences = 1_000
  static let calls = 50
  /// Messages that arrive in an open view beyond those it has loaded.
  static let liveMessages = 500
  /// Messages of others whose arrival has not been told to the server: one for each dialog.
  static let deliveredAfter: Duration = .seconds(1)
  static let typingEvery: Duration = .seconds(4)
  static let cursorStoredAfter: Duration = .milliseconds(50)
  static let ackEvery: Duration = .seconds(10)
  static let partMin = 256 << 10
  static let partMax = 8 << 20
  static let partAttempts = 8
}
