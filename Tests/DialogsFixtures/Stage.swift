package import Accounts
package import Addresses
package import Basics
package import Dialogs
import Foundation
import Logging
package import SQLiteStore
import Synchronization
import Testing

/// A core over a real store in a folder of its own, with hand-cranked lanes.
package final class Stage: Sendable {
  package let folder: String
  package let store: TracingStore
  package let accounts: Accounts
  package var parley: Parley { accounts.parley }
  package let clock = HandClock()

  /// - Parameter remotes: domains elsewhere, attached to localhost.
  package init(
    remotes: [String] = [], admins: Set<BareJID> = [], invitations: Bool = false, guests: GuestPolicy = .none,
    domains: [String] = ["localhost"], signIn: SignInPolicy = .none, pushes: PushPolicy = .none,
    blobs: (policy: BlobPolicy, store: any BlobStore)? = nil, beforeSend: BeforeSendOptions? = nil,
    creators: PubsubServices.Creators = .users, traces: Traces? = nil, sending: SendingPolicy = SendingPolicy(),
    registration: RegistrationPolicy = RegistrationPolicy(), memory: SessionMemory = SessionMemory(),
    cacheBytesMax: Int = Limits.cacheBytesMax, presencesInRoomsBytesMax: Int = Limits.presencesInRoomsBytesMax,
    judging: JudgingClocks = JudgingClocks(wall: { .zero }, thread: { .zero })
  ) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("parley-dialogs-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    folder = url.path
    store = TracingStore(try SQLiteStore(path: "\(folder)/parley.db"))
    var options = Parley.Options(domains: domains)
    options.pubsub = { "pubsub.\($0)" }
    options.nodeCreators = creators
    options.remotes = remotes.map { ($0, "localhost") }
    options.admins = admins
    options.allowsInvitations = invitations
    options.guests = guests
    options.blobs = blobs
    options.pushes = pushes
    options.beforeSend = beforeSend
    options.traces = traces
    options.sending = sending
    options.memory = memory
    options.cacheBytesMax = cacheBytesMax
    options.presencesInRoomsBytesMax = presencesInRoomsBytesMax
    options.judgingClocks = judging
    let parley = try Parley(
      store: store, clock: clock, options: options,
      logger: Logger(label: "stage") { _ in SwiftLogNoOpLogHandler() })
    var own = Accounts.Options()
    own.signIn = signIn
    own.registration = registration
    accounts = Accounts(parley, own)
  }

  deinit {
    try? store.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// An account without credentials: no derivation, no time lost.
  package func user(_ name: String) async throws -> Party {
    let address = try BareJID("\(name)@localhost")
    let realm = parley.realms[0]
    let now = clock.now
    let user = try await parley.work {
      try $0.insertUser(address, in: realm.id, profile: Profile(displayName: name), createdAt: now)
    }
    return Party(id: user.id, realm: user.realm, address: user.address)
  }

  package func register(
    _ device: PushDevice, by caller: Accounts.Caller
  ) async throws(Problem) -> (PushDevice, isNew: Bool) {
    try await Devices(parley).register(
      device, of: caller.user, grant: caller.grant, installation: caller.device)
  }

  /// Registers a session with the hub, which is available by default.
  package func session(
    _ party: Party, _ resource: String, door: OnlineSession.Door = .xmpp, priority: Int8? = 0
  ) async throws -> RecordingSession {
    let session = RecordingSession(party)
    try await parley.post(.goOnline(OnlineSession(session: session, door: door, resource: resource)), by: party)
    if let priority {
      parley.hub.setPresence(
        Presence(from: party, resource: resource, availability: .online, priority: priority, time: clock.now),
        of: session)
    }
    _ = session.taken()
    return session
  }

  package func say(
    _ text: String, from author: Party, to peer: Party, key: RepeatKey? = nil, by session: RecordingSession? = nil,
    resource: String? = nil
  ) async throws -> Receipt {
    let draft = MessageDraft(
      to: peer.address, content: Content(kind: .text, text: text),
      envelope: Envelope(type: .chat, toResource: resource),
      traits: [.counts, .archived, .replayed, .markable, .receipted], key: key)
    guard let session else { return try await parley.post(.message(draft), by: author) }
    let token = session.nextToken()
    #expect(parley.submit(Post(author: author, intent: .message(draft), completion: .session(session, token: token))))
    // Whatever is committed behind it comes after it.
    try await parley.post(.confirm(.zero), by: author)
    return Receipt(position: .zero)
  }
}

package enum StageError: Error { case full }

package final class HandClock: Clock {
  private let time = Mutex(Timestamp(milliseconds: 1_700_000_000_000))
  package init() {}
  package var now: Timestamp { time.withLock { $0 } }
  package func set(_ milliseconds: Int64) { time.withLock { $0 = Timestamp(milliseconds: milliseconds) } }
}

/// Hears everything, on a lane that runs at once.
package final class RecordingSession: LiveSession {
  package let id = SessionID(.random(in: .min ... .max))
  package let party: Party
  package let lane: Lane
  package let peer: String?
  private let heard = Mutex<[Delivery]>([])
  private let tokens = Mutex<UInt64>(0)
  private let outcomes = Mutex<[UInt64: Result<Receipt, Problem>]>([:])
  private let waiting = Mutex<[UInt64: CheckedContinuation<Void, Never>]>([:])

  package init(_ party: Party, peer: String? = nil) {
    self.party = party
    self.peer = peer
    lane = Lane { $0() }
  }

  package func receive(_ delivery: Delivery) {
    heard.withLock { $0.append(delivery) }
    guard case .outcome(let token, let result) = delivery else { return }
    outcomes.withLock { $0[token] = result }
    waiting.withLock { $0.removeValue(forKey: token) }?.resume()
  }
  package func batchEnded() {}
  package func outcome(of token: UInt64) -> Result<Receipt, Problem>? { outcomes.withLock { $0[token] } }
  /// Returns once there is one.
  package func waitForOutcome(of token: UInt64) async {
    await withCheckedContinuation { continuation in
      waiting.withLock { $0[token] = continuation }
      // It may have come before anybody waited.
      if outcome(of: token) != nil { waiting.withLock { $0.removeValue(forKey: token) }?.resume() }
    }
  }
  package func nextToken() -> UInt64 {
    tokens.withLock {
      $0 += 1
      return $0
    }
  }

  /// The steps of the member list that have been heard, which `taken` and this forget.
  package func steps() -> [MemberListStep] {
    let deliveries = heard.withLock { heard in
      defer { heard = [] }
      return heard
    }
    return deliveries.compactMap { delivery in
      switch delivery {
      case .signal(.occupant(let presence), _): presence.listStep
      case .signal(.notice(let notice), _): notice.listStep
      case .signal, .entry, .outcome, .handedOver, .owed: nil
      }
    }
  }

  /// Returns the deliveries since the last call.
  package func taken() -> [Heard] { deliveries().map { Heard($0) } }

  package func deliveries() -> [Delivery] {
    heard.withLock { heard in
      defer { heard = [] }
      return heard
    }
  }
}

/// A delivery as a value to compare.
package enum Heard: Equatable {
  case said(String, Form)
  case marked(Marker.Kind, by: String, told: Bool, asked: Bool)
  case contact(String, Subscription, act: SubscriptionAct?, push: Bool)
  case contactRemoved(String)
  case contactGroup(ContactGroupChange.Act, moved: [String])
  case blocks([String], BlockChange.Act)
  case profile(String?)
  case dialog
  case presence(String, Presence.Availability)
  case relayed(Form)
  case closed(CloseReason)
  case profileOf(String)
  case named(String, Position)
  case noted(RoomChange.Change)
  case invited(String)
  case occupant(String, Role, codes: [UInt16], Form)
  case notice(RoomNotice.Kind)
  case recorded(NodeChange)
  case settings(DialogSettingsChange)
  case perUser(PerUserMessageChange)
  case draft(DialogID, DialogDraft?)
  case scheduledMessage(ScheduledChange)
  case call(CallAct, Call.State, Call.Reason?, Form)
  case signalled(CallSignal.Body)
  case notification(String)
  /// A message that was not delivered, and the condition.
  case undelivered(Position, String)
  case event(String, String, NodeEvent.Kind)
  case announced(String)
  case done(UInt64)
  case refused(UInt64, Problem.Kind)
  case handedOver
  /// A row of the outbox: its text, or the name of its stanza.
  case owed(String)

  package init(_ delivery: Delivery) {
    switch delivery {
    case .handedOver: self = .handedOver
    case .owed(let row): self = .owed(row.summary)
    case .entry(let entry, let form):
      switch entry.fact {
      case .message(let message): self = .said(message.content.text, form)
      case .marker(let marker):
        self = .marked(marker.kind, by: entry.author.name, told: marker.told, asked: marker.asked)
      case .contact(let change):
        self =
          change.removed
          ? .contactRemoved(change.contact.address.description)
          : .contact(
            change.contact.address.description, change.contact.subscription, act: change.act, push: change.push)
      case .contactGroup(let change): self = .contactGroup(change.act, moved: change.moved.map(\.name))
      case .blocks(let change): self = .blocks(change.patterns.map { $0.jid.description }, change.act)
      case .profile(let profile): self = .profile(profile.displayName)
      case .dialogOpened: self = .dialog
      case .room(let change): self = .noted(change.change)
      case .invitation(let invitation): self = .invited(invitation.room.address.description)
      case .node(let change): self = .recorded(change)
      case .undelivered(let undelivered):
        self = .undelivered(undelivered.target, undelivered.failure.condition)
      case .settings(let change): self = .settings(change)
      case .perUser(let change): self = .perUser(change)
      case .draft(let dialog, let draft): self = .draft(dialog, draft)
      case .scheduledMessage(let change): self = .scheduledMessage(change)
      case .call(let change): self = .call(change.act, change.call.state, change.call.reason, form)
      case .notification(let notification): self = .notification(notification.id)
      }
    case .signal(let signal, let form):
      switch signal {
      case .presence(let presence):
        self = .presence("\(presence.from.name)/\(presence.resource)", presence.availability)
      case .shown(let presence, let to):
        let addresses = to.map(\.description).joined(separator: ", ")
        self = .presence("\(presence.from.name)/\(presence.resource) to \(addresses)", presence.availability)
      case .stanza, .probes: self = .relayed(form)
      case .profile(let party, _): self = .profileOf(party.name)
      case .contactNamed(let party, let version): self = .named(party.name, version)
      case .closed(let reason): self = .closed(reason)
      case .occupant(let presence):
        self = .occupant(presence.nick, presence.role, codes: presence.codes, form)
      case .notice(let notice): self = .notice(notice.kind)
      case .node(let event): self = .event(event.owner.name, event.node, event.kind)
      case .announcement(let announcement): self = .announced(announcement.text)
      case .call(let signal): self = .signalled(signal.body)
      case .undelivered(_, let failure): self = .undelivered(.zero, failure.condition)
      }
    case .outcome(let token, let result):
      switch result {
      case .success: self = .done(token)
      case .failure(let problem): self = .refused(token, problem.kind)
      }
    }
  }
}

/// A store that fails on request, and that knows whether it is inside a transaction.
package final class TracingStore: Store {
  private let inner: SQLiteStore
  private let state = Mutex(
    (passing: 0, failures: 0, writing: false, commits: 0, afterRead: nil as (@Sendable () -> Void)?))

  package init(_ inner: SQLiteStore) { self.inner = inner }

  package var isWriting: Bool { state.withLock { $0.writing } }
  package var commits: Int { state.withLock { $0.commits } }
  /// The next so many commits fail after their body has run: nothing of them remains.
  ///
  /// - Parameter passing: so many succeed before.
  package func failNext(_ count: Int, after passing: Int = 0) {
    state.withLock { ($0.failures, $0.passing) = (count, passing) }
  }
  /// Runs `body` between the next read and the use of its result.
  package func afterNextRead(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.afterRead = body } }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    let result = try inner.read(body)
    let afterRead = state.withLock { state in
      defer { state.afterRead = nil }
      return state.afterRead
    }
    afterRead?()
    return result
  }

  package func write<Result>(synced: Bool, _ body: (any StoreWriter) throws -> Result) throws -> Result {
    state.withLock { $0.writing = true }
    defer { state.withLock { $0.writing = false } }
    let result = try inner.write(synced: synced) { writer in
      let result = try body(writer)
      let fails = state.withLock { state in
        guard state.failures > 0 else { return false }
        if state.passing > 0 {
          state.passing -= 1
          return false
        }
        state.failures -= 1
        return true
      }
      if fails { throw StageError.full }
      return result
    }
    state.withLock { $0.commits += 1 }
    return result
  }

  package func copy(to path: String, until cancellation: Cancellation) throws {
    try inner.copy(to: path, until: cancellation)
  }
  package func close() throws { try inner.close() }
}

/// Runs something to its end, on a thread that may block.
package func blocking(_ body: @escaping @Sendable () async throws -> Void) {
  let done = DispatchSemaphore(value: 0)
  Task {
    do { try await body() } catch { Issue.record(error) }
    done.signal()
  }
  done.wait()
}

extension Accounts {
  package func verify(_ user: BareJID, password: String) async throws(Problem) -> User {
    try await verify(LoginAttempt(of: user, from: "192.0.2.1", device: nil), password: password)
  }
}

/// Holds the committer until it is opened.
package final class Gate: Sendable {
  private let state = Mutex((open: false, entered: nil as CheckedContinuation<Void, Never>?, isIn: false))

  package init() {}

  package func wait() {
    let waiting = state.withLock { state in
      state.isIn = true
      defer { state.entered = nil }
      return state.entered
    }
    waiting?.resume()
    while !state.withLock({ $0.open }) {}
  }
  package func entered() async {
    await withCheckedContinuation { continuation in
      let now = state.withLock { state in
        if state.isIn { return true }
        state.entered = continuation
        return false
      }
      if now { continuation.resume() }
    }
  }
  package func open() { state.withLock { $0.open = true } }
}

extension ScheduledMessages {
  /// Sends all that is due. Returns how long nothing more is; `nil` if nothing is scheduled.
  package func sendDue() async -> Duration? {
    while true {
      let (sending, wait) = await beginSending()
      if sending.isEmpty { return wait }
      for task in sending { await task.value }
    }
  }
}

extension OutboxRow {
  /// A short text to compare: what is said, or the name of the stanza.
  package var summary: String {
    switch item {
    case .stanza(let stanza): "\(stanza.name) to \(stanza.to)"
    case .entry(let entry):
      switch entry.fact {
      case .message(let message): message.content.text
      case .marker(let marker): "\(marker.kind)"
      case .call(let change): "\(change.act)"
      default: "\(entry.fact.kind)"
      }
    }
  }
}
