import Dialogs

/// A client's session. That of the app follows the log by a `LogCursor`, as both doors do, and its client keeps its place
/// when it is offline; that of XMPP notes what it hears.
final class Session: LiveSession, @unchecked Sendable {  // confined to the committer's thread
  let id: SessionID
  let party: Party
  let door: Door
  private let mailbox: Mailbox
  var lane: Lane { mailbox.lane }
  /// What its client was told, in order.
  private(set) var told: [Int64]
  /// Of the app: the place of its client; nil: not online yet, and never was.
  private(set) var cursor: LogCursor?
  /// Where what is told began.
  private(set) var start: Int64?
  private var page: LogPage?
  private var places: FeedPlaces?
  private var isLagging = false
  private(set) var isOver = false
  private let settled: (UInt64, Result<Receipt, Problem>) -> Void

  /// Of the lane: an event loop that can be held up.
  private final class Mailbox: @unchecked Sendable {  // confined to the committer's thread
    var isStalled = false
    var waiting: [@Sendable () -> Void] = []
    private(set) var lane = Lane { $0() }
    init() {
      lane = Lane { [unowned self] body in if isStalled { waiting.append(body) } else { body() } }
    }
  }

  /// - Parameter former: the last session of the same client.
  init(
    _ number: UInt64, _ party: Party, _ door: Door, after former: Session?,
    settled: @escaping (UInt64, Result<Receipt, Problem>) -> Void
  ) {
    id = SessionID(number)
    self.party = party
    self.door = door
    self.settled = settled
    mailbox = Mailbox()
    (told, start) = door == .app ? (former?.told ?? [], former?.start) : ([], nil)
    position = former?.cursor?.position ?? former?.position
  }

  private let position: Position?

  func batchEnded() {}

  func receive(_ delivery: Delivery) {
    switch delivery {
    case .outcome(let token, let result): settled(token, result)
    case .entry(let entry, let form):
      if isOver { return }
      if door == .xmpp { return tell(entry) }
      if cursor?.arrived(entry, form, lags: isLagging) == true { tell(entry) }
    case .signal, .handedOver, .owed: break
    }
  }

  /// The app's session is registered: everything behind this position will be delivered.
  func attended(at position: Position) {
    start = start ?? position.number
    cursor = LogCursor(at: min(self.position ?? position, position), .behind)
  }

  /// Its client hears no more. What waits for it is let go, since it holds the session.
  func end() {
    isOver = true
    stall(false)
  }

  func stall(_ isStalled: Bool) {
    // Before that it waits for its answer.
    if cursor == nil { return }
    mailbox.isStalled = isStalled
    guard !isStalled else { return }
    let waiting = mailbox.waiting
    mailbox.waiting = []
    for body in waiting { body() }
  }

  func lag(_ isLagging: Bool) { self.isLagging = isLagging }

  /// Reads a page, if anything is missed.
  func fetch(_ store: FailingStore) throws {
    guard !isLagging, page == nil, cursor?.read() == true, let after = cursor?.position else { return }
    page = try store.read { reader in
      try reader.page(of: .withMemberships(of: party), after: after, limit: 4, at: places, ahead: 16)
    }
  }

  /// Tells the client the page that was read.
  func show() {
    guard let page else { return }
    self.page = nil
    places = page.places
    if isLagging {
      cursor?.interrupt()
      return
    }
    for entry in page.entries { tell(entry) }
    for held in cursor?.told(through: page.end, isLast: page.isLast) ?? [] { tell(held.entry) }
  }

  var isCaughtUp: Bool { cursor.map { $0.state == .following && page == nil && mailbox.waiting.isEmpty } ?? true }

  private func tell(_ entry: Entry) { if Self.isCompared(entry, by: party) { told.append(entry.position.number) } }

  /// What the model does not know of is to be the user's own.
  static func isCompared(_ entry: Entry, by party: Party) -> Bool {
    switch entry.fact {
    case .message, .marker, .room: true
    case .contact, .contactGroup, .blocks, .profile, .dialogOpened, .invitation, .node, .settings, .perUser, .draft,
      .scheduledMessage, .call, .notification, .undelivered:
      entry.author.id != party.id
    }
  }
}
