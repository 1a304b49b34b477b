public import Foundation

/// A client of a Parley server: sign-in, a connection that resumes, an outbox that survives restarts, uploads, calls' signalling. It speaks
/// the public app protocol and nothing else.
///
/// ```swift
/// let parley = try Parley(url: URL(string: "https://chat.example.org")!, storage: FileStorage(file))
/// if try await !parley.open() { try await parley.signIn(.password(username: "juliet", password: password)) }
/// try await parley.connect()
/// let talk = try await parley.openPrivate("romeo")
/// try await parley.send(talk.id, "Wherefore art thou?")
/// for await case .message(let message, isOwn: false, _) in await parley.events() { print(message.content.text) }
/// ```
public actor Parley {
  public nonisolated let url: URL
  nonisolated let transport: any Transport
  nonisolated let storage: any Storage
  nonisolated let client: String
  nonisolated let sendDelivered: Bool
  nonisolated let requestTimeout: Duration

  // Session
  var session: Session?
  var refreshing: Task<Void, any Error>?
  var opening: Task<Void, any Error>?
  var isClosed = false

  // Connection
  public internal(set) var state = ConnectionState.stopped
  var running: Task<Void, Never>?
  /// Changes with each connecting and disconnecting, so that what belongs to a former one does no harm.
  var generation = 0
  var socket: (any WebSocket)?
  var replies: [String: (continuation: CheckedContinuation<Data, any Error>, since: ContinuousClock.Instant)] = [:]
  var commands = 0
  var heard = ContinuousClock.now
  var isHandling = false
  var attempts = 0
  var away: ServerEvent.GoAway?
  var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
  var waits = 0
  /// Whether the events that come are missed ones.
  var isReplay = false
  var pauses: [Int: Task<Void, Never>] = [:]

  // State
  var store = Store()
  var outboxState = Outbox()
  var sending: [String: Task<Void, Never>] = [:]
  var answers: [String: CheckedContinuation<Message, any Error>] = [:]
  var drained: [CheckedContinuation<Void, any Error>] = []
  var uploading: [String: Task<Void, any Error>] = [:]
  var progress: [String: Double] = [:]
  var views: [Int: View] = [:]
  var fetching: Task<Void, Never>?
  var calls = Recent<CallState>(Limits.calls)
  var signals: [String: Task<Void, any Error>] = [:]
  var typed: [String: ContinuousClock.Instant] = [:]
  var wish: JSONObject?
  var delivered: [String: String] = [:]
  var drafts: [String: Task<Void, Never>] = [:]

  // Events
  var subscriptions: [Int: Subscription] = [:]
  var numbers = 0
  var trail = Trail()
  var storingCursor: Task<Void, Never>?
  var acked: (cursor: String, at: ContinuousClock.Instant)?

  /// Creates a client; nothing is read or sent yet.
  ///
  /// - Parameters:
  ///   - url: The server's address: `https://chat.example.org`.
  ///   - storage: Where the login, the place in the log and the outbox are kept. ``FileStorage`` survives a restart.
  ///   - client: The name of this program in the user's list of sessions.
  ///   - sendDelivered: Whether arriving messages of others are marked as delivered.
  ///   - requestTimeout: The time within which a request is answered, else it throws `network`. One that carries bytes has another second
  ///     for each 16,000 of them. A command on the WebSocket that is not answered within this time ends its connection, which is opened
  ///     again.
  ///   - transport: The network; that of the platform by default.
  public init(
    url: URL, storage: any Storage = MemoryStorage(), client: String = "ParleyClient", sendDelivered: Bool = true,
    requestTimeout: Duration = .seconds(90), transport: (any Transport)? = nil
  ) throws {
    self.url = url
    self.storage = storage
    self.client = client
    self.sendDelivered = sendDelivered
    self.requestTimeout = requestTimeout
    #if canImport(Darwin)
      self.transport = transport ?? URLSessionTransport()
    #else
      self.transport = try transport ?? NIOTransport()
    #endif
  }

  /// The signed-in user.
  public var user: User? { session?.user }
  public var userId: String? { session?.user.id }
  public var deviceId: String? { session?.deviceId }
  public var signedIn: Bool { session != nil }
  /// The loaded part of the user's dialogs: pinned ones first, then by the last message, newest first. Archived ones included.
  public var dialogs: [Dialog] { store.list }
  /// Whether ``loadDialogs(limit:)`` finds more.
  public var hasMoreDialogs: Bool { store.listPosition != .complete }
  public var totalUnread: Int { store.totalUnread }
  public var totalMentions: Int { store.totalMentions }
  /// Messages that wait for being sent, or failed, in all dialogs.
  public var outbox: [LocalMessage] { outboxState.entries.map(shown) }

  /// Waits; a wait because of the network ends when the client is online.
  func pause(_ duration: Duration) async {
    waits += 1
    let number = waits
    let sleep = Task { _ = try? await Task.sleep(for: duration) }
    pauses[number] = sleep
    await withTaskCancellationHandler {
      await sleep.value
    } onCancel: {
      sleep.cancel()
    }
    pauses[number] = nil
  }

  func endPauses() { for pause in pauses.values { pause.cancel() } }

  /// The time before attempt `number` (from 0): doubled each time, half of it random, so that clients do not return at once.
  static func delay(_ number: Int, first: Duration = .seconds(1)) -> Duration {
    min(Limits.delay, first * (1 << min(number, 10))) * Double.random(in: 0.5...1)
  }
}
