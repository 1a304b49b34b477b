import Addresses
import ServerMetrics
import Synchronization

/// The committer's queue: any thread appends, the committer takes batches, of which each network and account has a share (`InboxQueue`). It
/// is bounded by `Limits.inboxPostsMax`, and by the bytes of its posts; at a bound `append` refuses, and callers are notified when there is
/// room again (half empty, to avoid oscillation).
///
/// States of the committer: idle, until it is woken; working; pausing, for a time that it measures itself, or until a post
/// that cannot wait.
final class Inbox: Sendable {
  private enum Consumer { case idle, working, pausing }
  private struct State {
    var queue = InboxQueue<Post, InboxAccount>(
      share: Limits.batchShare, networkShare: Limits.batchNetworkShare, batchMax: Limits.batchPostsMax)
    /// The number of posts in the next batch (`Inbox.putBack`).
    var batchPosts = Limits.batchPostsMax
    /// The bytes of the posts.
    var bytes = 0
    var waiting: [@Sendable () -> Void] = []
    var consumer = Consumer.idle
    /// Whether some of the posts can wait, and whether some cannot.
    var (hasPatient, hasUrgent) = (false, false)
    var closed = false
    /// The number of posts that were taken.
    var taken = 0

    func isFull(_ bytesMax: Int) -> Bool { queue.count >= Limits.inboxPostsMax || bytes >= bytesMax }
    func hasRoom(_ bytesMax: Int) -> Bool { queue.count < Limits.inboxPostsMax / 2 && bytes <= bytesMax / 2 }
  }
  private let state = Mutex(State())
  /// The time from which posts are refused, except those for the stop itself; `nil` while the server runs.
  private let end = Mutex<ContinuousClock.Instant?>(nil)
  private let metrics: Metrics
  private let bytesMax: Int
  /// How posts share batches with those of others, for one batch.
  let places: InboxPlaces

  init(metrics: Metrics, bytesMax: Int = Limits.inboxBytesMax, networks: ClientNetworks = ClientNetworks()) {
    self.metrics = metrics
    self.bytesMax = bytesMax
    places = InboxPlaces(networks)
  }

  enum Appended { case queued(wake: Bool), full, closed }

  /// Appends a post. With `wake` as the result, the caller must wake the committer.
  ///
  /// - Parameter canWait: whether the post can wait for the end of the committer's pause.
  func append(_ post: Post, canWait: Bool = false) -> Appended {
    let bytes = post.intent.byteCount
    return state.withLock { state in
      if state.closed { return .closed }
      if state.isFull(bytesMax) {
        metrics.refusals.add(.inbox)
        return .full
      }
      state.queue.append(post)
      state.bytes += bytes
      if canWait { state.hasPatient = true } else { state.hasUrgent = true }
      guard state.consumer == .idle || state.consumer == .pausing && !canWait else { return .queued(wake: false) }
      state.consumer = .working
      return .queued(wake: true)
    }
  }

  /// Queues a post of the committer's own, now or as soon as there is room; does nothing once the inbox is closed. The
  /// committer is awake.
  func appendSurely(_ post: Post) {
    if case .full = append(post) { whenRoom { [self] in appendSurely(post) } }
  }

  /// Puts back posts that the committer has taken and not judged, or what is left of one that it has begun, in their order and before all
  /// others of their accounts. They have the places that they had: neither a full inbox nor a closed one refuses them, so it may have
  /// the posts of one batch more than its bounds. The committer is awake.
  ///
  /// A batch that has ended with its time bounds the next ones: the first one has as many posts as there was time for, and each further one
  /// a quarter more. Otherwise, where many accounts post more than the committer can judge, it would take posts again and again that it
  /// puts back, while nobody can post; and their accounts would get their turns before all that were left behind earlier.
  ///
  /// - Parameters:
  ///   - judged: The number of posts that the batch had time for; `nil` if it has not ended with its time.
  ///   - hasHadTurn: As in `InboxQueue.putBack`.
  func putBack(_ posts: [Post], judged: Int? = nil, hasHadTurn: (InboxAccount) -> Bool = { _ in true }) {
    let bytes = posts.reduce(0) { $0 + $1.intent.byteCount }
    state.withLock { state in
      var places = self.places
      state.queue.putBack(posts, place: { $0.place(&places) }, hasHadTurn: hasHadTurn)
      state.bytes += bytes
      state.hasUrgent = true
      if let judged { state.batchPosts = max(judged, Limits.batchNetworkShare) }
    }
  }

  var isClosed: Bool { state.withLock { $0.closed } }
  var taken: Int { state.withLock { $0.taken } }
  var count: Int { state.withLock { $0.queue.count } }
  var isFull: Bool { state.withLock { $0.isFull(bytesMax) } }

  /// Runs `body` (on the committer's thread) once there is room, or at once. It never runs once the inbox is closed, since a
  /// caller that retries whenever there is room would do so for ever.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    let now = state.withLock { state in
      if state.closed { return false }
      if state.hasRoom(bytesMax) { return true }
      state.waiting.append(body)
      return false
    }
    if now { body() }
  }

  /// Returns the next batch, and whether some of its posts can wait. If it is empty, the committer stops until it is woken or its
  /// pause is over.
  ///
  /// - Parameter pausing: whether posts that can wait are left in the queue.
  func take(pausing: Bool) -> (posts: [Post], hasPatient: Bool) {
    let (batch, hasPatient, waiting): ([Post], Bool, [@Sendable () -> Void]) = state.withLock { state in
      if state.queue.isEmpty || pausing && !state.hasUrgent {
        state.consumer = pausing ? .pausing : .idle
        return ([], false, [])
      }
      state.consumer = .working
      let hasPatient = state.hasPatient
      var places = self.places
      let batch = state.queue.take(
        upTo: state.batchPosts, weight: { $0.intent.weight }, place: { $0.place(&places) })
      state.batchPosts = min(state.batchPosts + state.batchPosts / 4, Limits.batchPostsMax)
      if state.queue.isEmpty {
        state.bytes = 0
        (state.hasPatient, state.hasUrgent) = (false, false)
      } else {
        state.bytes -= batch.reduce(0) { $0 + $1.intent.byteCount }
      }
      state.taken += batch.count
      guard state.hasRoom(bytesMax) else { return (batch, hasPatient, []) }
      defer { state.waiting = [] }
      return (batch, hasPatient, state.waiting)
    }
    for body in waiting { body() }
    return (batch, hasPatient)
  }

  /// Sets the time from which the committer refuses posts because the server stops. Only the first call has an effect.
  func refuse(from time: ContinuousClock.Instant) {
    end.withLock { if $0 == nil { $0 = time } }
  }

  /// Whether the committer refuses this post because the server stops.
  func refuses(_ post: Post) -> Bool {
    guard let end = self.end.withLock({ $0 }), ContinuousClock.now >= end else { return false }
    return !post.intent.isForStop
  }

  /// Closes the inbox: it accepts nothing more, but queued posts will still be committed.
  func close() { state.withLock { $0.closed = true } }
}

/// The account that has a share of each batch: a local user, all remote users of one zone (`DomainZone`), or a network from which several
/// users post.
enum InboxAccount: Hashable, Sendable {
  case user(UserID)
  case zone(String)
  case network(String)
}

/// How the posts of one batch share it, with the zones and networks that were looked up for it.
struct InboxPlaces: Sendable {
  private let networks: ClientNetworks
  /// The zones of the domains so far.
  private var zones: [String: String] = [:]
  /// The networks of the clients' addresses so far; `nil` for an address by which users do not take turns.
  private var names: [String: InboxAccount?] = [:]

  init(_ networks: ClientNetworks) { self.networks = networks }

  fileprivate mutating func zone(of domain: String) -> InboxAccount {
    let zone = zones[domain] ?? DomainZone.of(domain)
    zones[domain] = zone
    return .zone(zone)
  }

  fileprivate mutating func network(of peer: String?) -> InboxAccount? {
    guard let peer else { return nil }
    if let known = names[peer] { return known }
    let network = networks.name(of: peer).map { InboxAccount.network($0) }
    names.updateValue(network, forKey: peer)
    return network
  }
}

extension Post {
  /// Returns how the post shares batches with those of others.
  func place(_ places: inout InboxPlaces) -> InboxQueue<Post, InboxAccount>.Place {
    // A zone is a network of its own.
    if author.realm.isRemote { return .shared(places.zone(of: author.address.domain), in: nil) }
    if author != Parley.nobody { return .shared(.user(author.id), in: places.network(of: peer)) }
    if case .work(let work) = intent, let user = work.user { return .shared(.user(user), in: nil) }
    return .passing
  }
}

extension Intent {
  /// The cost of the post in ordinary posts, as far as it is known before the post is judged.
  var weight: Int {
    switch self {
    case .room(.come): Limits.roomsAtOnce
    // A request that is done in pieces takes the whole share, so that later posts of its author follow all pieces.
    case .room(let intent) where intent.peopleChanged > Limits.memberChangesAtOnce: Limits.batchPostsMax
    // So does a change that may remove many occupants from the room.
    case .room(.configure), .room(.expelOutsiders): Limits.batchPostsMax
    case .room(.members(_, let drafts)) where drafts.contains(where: \.bansAddress): Limits.batchPostsMax
    case .node(.bookmarks(let draft), at: _) where draft.bookmarks.count > draft.comparedAtOnce: Limits.batchPostsMax
    // A change of a person is an entry, and a new member gets two more: a bookmark and an invitation.
    case .room(let intent): max(1, 3 * intent.peopleChanged)
    case .node(.bookmarks(let draft), at: _): max(1, min(draft.bookmarks.count, draft.changesMax))
    case .node(.bookmarkChanges(let left), at: _): max(1, min(left.changes.count, left.max))
    case .node(.affiliate(node: _, let changes), at: _): max(1, changes.count / Limits.rowsPerStanza)
    case .node(.subscribers(node: _, let changes), at: _): max(1, changes.count / Limits.rowsPerStanza)
    case .node(.purge, at: _), .node(.delete, at: _): Limits.erasedEntriesAtOnce / Limits.rowsPerStanza
    case .block(let patterns, reports: _), .unblock(let patterns): max(1, patterns.count / Limits.rowsPerStanza)
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .report,
      .profile, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call, .node, .visit,
      .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal, .confirm, .leave,
      .endTyping, .imported, .refused, .erase, .work:
      1
    }
  }

  /// Whether the post is committed even during the stop: posts that the server itself writes then, and the few posts of ending
  /// sessions.
  fileprivate var isForStop: Bool {
    switch self {
    case .work, .confirm, .leave: true
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block,
      .report, .unblock, .profile, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call,
      .room, .node, .visit, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal,
      .endTyping, .imported, .refused, .erase:
      false
    }
  }

  /// The bytes of the author's content, for intents that may have much; they count for bounds of memory.
  var byteCount: Int {
    switch self {
    case .message(let draft): Int(draft.content.storedBytes) + (draft.forward?.byteCount ?? 0)
    case .call(.said(let stanza)): Int(stanza.message.content.storedBytes)
    case .marker(let draft): draft.stanza?.content.extras.count ?? 0
    case .scheduledMessage(.schedule(let draft)): Int(draft.content.storedBytes)
    case .scheduledMessage(.reschedule(_, due: _, content: let content)): content.map { Int($0.storedBytes) } ?? 0
    case .room(let intent): intent.byteCount
    case .node(.publish(let publication), at: _): publication.item?.content.byteCount ?? 0
    case .node(.bookmarks(let draft), at: _):
      draft.bookmarks.reduce(draft.others?.count ?? 0) { $0 + $1.byteCount }
    case .node(.bookmarkChanges(let rest), at: _):
      rest.changes.reduce(0) { $0 + ($1.bookmark?.byteCount ?? 0) }
    case .visit(let visit):
      if case .publish(let publication) = visit.act { publication.item?.content.byteCount ?? 0 } else { 0 }
    case .profile(let draft): (draft.avatar??.bytes.count ?? 0) + (draft.vCard?.count ?? 0)
    case .remoteProfile(let draft, to: _): draft.avatar??.bytes.count ?? 0
    case .subscription(_, to: _, stanza: let stanza), .redeem(token: _, from: _, stanza: let stanza): stanza?.count ?? 0
    case .signal(.stanza(let stanza), to: _), .outbox(.owe(let stanza)): stanza.byteCount
    case .signal(.presence(let presence), to: _), .signal(.shown(let presence, to: _), to: _): presence.byteCount
    case .setPrivateXML(let drafts): drafts.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
    case .contact, .removeContact, .befriend, .link, .contactGroup, .block, .report, .unblock, .openDialog, .settings,
      .perUser, .draft, .scheduledMessage, .call, .node, .archivePreferences, .blob, .push, .goOnline, .handOver,
      .outbox, .signal, .confirm, .leave, .endTyping, .imported, .refused, .erase, .work:
      0
    }
  }
}

extension ForwardDraft {
  /// See `Intent.byteCount`.
  fileprivate var byteCount: Int {
    if case .asked(let content, let text) = source { Int(content.storedBytes) + (text?.utf8.count ?? 0) } else { 0 }
  }
}

extension RoomIntent {
  /// See `Intent.byteCount`.
  fileprivate var byteCount: Int {
    switch self {
    case .say(_, let draft), .whisper(_, nick: _, let draft):
      Int(draft.content.storedBytes) + (draft.forward?.byteCount ?? 0)
    case .marker(_, let draft): draft.stanza?.content.extras.count ?? 0
    case .topic(_, text: let text, stanza: let draft): text.utf8.count + (draft?.content.extras.count ?? 0)
    case .signal(_, let stanza), .pass(_, nick: _, let stanza, isQuestion: _): stanza.byteCount
    case .enter(_, let entering): entering.presence.byteCount
    case .show(_, let presence): presence.byteCount
    case .exit(_, let presence): presence?.byteCount ?? 0
    case .configure(_, let draft): draft.avatar??.bytes.count ?? 0
    case .members(_, let drafts): drafts.reduce(0) { $0 + ($1.reason?.utf8.count ?? 0) }
    case .roles(_, let drafts): drafts.reduce(0) { $0 + ($1.reason?.utf8.count ?? 0) }
    case .invite(_, to: _, reason: let reason, continuing: _),
      .destroy(_, reason: let reason, alternate: _, password: _):
      reason?.utf8.count ?? 0
    case .decline(_, to: _, reason: let reason, id: _, extras: let extras): (reason?.utf8.count ?? 0) + extras.count
    case .create, .introduce, .probe, .face, .expelOutsiders, .prepare, .abandon, .askForVoice, .register, .endMembers,
      .endEmpty, .removeContent, .readNicks, .occupants, .place, .headcounts, .come, .vacate, .lose:
      0
    }
  }
}
