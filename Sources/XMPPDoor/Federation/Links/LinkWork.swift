import Addresses
import Dialogs
import NIOCore
import XMPP

/// The work under way for the users behind a link: posts whose outcome is awaited, work that waits behind them, requests
/// that are being answered, and the residents. It is bounded: while it is full, the link does not read.
final class LinkWork {
  private(set) weak var link: (any RemoteLink)?
  private let parley: Parley
  private let loop: any EventLoop
  /// The remote domain, and the posts of all domains of its zone; `nil` for a component.
  private let place: (domain: String, zone: String, posts: ZonePosts)?
  /// Called when there may be room again.
  private let readOn: () -> Void

  private struct Posted {
    let author: UserID
    /// The stanza that is answered if the post is refused.
    let stanza: Stanza
    let then: ((Result<Receipt, Problem>) -> Void)?
    /// The work of the same author that waits for the post.
    var behind: [() -> Void] = []
  }
  /// Counts the posts of one author whose outcomes are awaited, and the work that waits behind them.
  private struct Line {
    var count = 0
    /// The number of the last post.
    var last = 0
  }

  /// The posts from the first one whose outcome is awaited, in order; `nil` for one that is settled before an earlier one,
  /// as it need not wait for the before-send hook (`BeforeSendQueue`).
  private var inFlight: [Posted?] = []
  private var inFlightHead = 0
  private var lines: [UserID: Line] = [:]
  private var awaitedCount = 0
  private var behindCount = 0
  /// The work that waits until so many posts are settled.
  private var waiting: [(after: Int, run: () -> Void)] = []
  /// The acknowledgements that wait until so many posts of sessions are done.
  private var acknowledging: [(after: Int, run: () -> Void)] = []
  /// The number of posts of sessions that have begun, the number up to which all are done, and those done behind it.
  private var heldCount = 0
  private var releasedThrough = 0
  private var released: Set<Int> = []
  private var postedCount = 0
  /// The number of posts before `inFlightHead`: they and all before them are settled.
  private var settledCount = 0
  /// The posts for which the inbox had no room.
  private var unsent: [Post] = []
  /// The sessions of users who make only one request, until it is answered.
  private var requests: [ObjectIdentifier: RemoteOutlet] = [:]
  /// The pictures and vCards that are being fetched, and the clients that wait for each (`RemoteProfiles`).
  var pictures: [RemoteProfileSource: Set<FullJID>] = [:]
  var cards = RemoteCards.Seen()
  var announcedAffiliations = EmbeddedAffiliation.Announced.unknown
  /// The number of requests whose author's identity is being looked up.
  private var identifying = 0
  /// The number of sessions that have paused reading.
  private var pausedCount = 0
  private(set) lazy var residents = Residents(
    self, of: place.map { (domain: $0.domain, zone: $0.zone) }, parley.options.memory.residents)

  /// - Parameter place: The domain of another server, and what its posts are counted with.
  init(_ link: any RemoteLink, of place: (domain: String, posts: ZonePosts)? = nil, goOn: @escaping () -> Void) {
    self.link = link
    self.place = place.map { (domain: $0.domain, zone: DomainZone.of($0.domain), posts: $0.posts) }
    parley = link.door.parley
    loop = link.loopContext.loop
    readOn = goOn
  }

  deinit { count(-underWay) }

  /// The posts of the link and of its sessions whose outcomes are awaited.
  private var underWay: Int { awaitedCount + heldCount - releasedThrough - released.count }

  private func count(_ change: Int) {
    if let place { place.posts.count(change, of: place.zone) }
  }

  /// Whether the link stops reading until there is room.
  var isFull: Bool {
    let posts = asks ? DoorLimits.linkWaitingMax : DoorLimits.postsInFlightMax
    let turns = asks ? DoorLimits.linkWaitingMax : DoorLimits.waitingTurnsMax
    if awaitedCount >= posts || behindCount >= turns || waiting.count + acknowledging.count >= turns
      || !unsent.isEmpty || requests.count + identifying >= DoorLimits.waitingTurnsMax || pausedCount > 0
    {
      return true
    }
    return underWay > 0 && isZoneFull(posts)
  }

  private func isZoneFull(_ posts: Int) -> Bool {
    guard let place else { return false }
    return place.posts.isFull(place.zone, ofLink: posts, isKnown: parley.isKnown(domain: place.domain))
  }

  /// Whether the before-send hook may delay one author much longer than the others. Then the link is read until much more
  /// waits.
  private var asks: Bool { parley.asksBeforeMessages }
  /// Whether an outcome is handled, with the work behind it. Stanzas that are read meanwhile would overtake this work.
  private var isSettling = false

  private func goOn() {
    if !isSettling { readOn() }
  }

  /// Returns whether the link continues to read although a session has the maximum number of posts under way.
  func readsOn(for session: XMPPSession) -> Bool {
    asks && !parley.isFull && !session.hasTooMuchWaiting
  }

  // MARK: Posts

  /// Queues a post. Its outcome goes to `then`; without that, `stanza` is answered if the post is refused.
  func post(
    _ intent: Intent, by author: Party, for stanza: Stanza, behalf: Behalf? = nil,
    then: ((Result<Receipt, Problem>) -> Void)? = nil
  ) {
    guard let link else { return }
    let token = TakenRows.token + 1 + UInt64(postedCount)
    inFlight.append(Posted(author: author.id, stanza: stanza, then: then))
    lines[author.id] = Line(count: (lines[author.id]?.count ?? 0) + 1, last: postedCount)
    awaitedCount += 1
    count(1)
    postedCount += 1
    let post = Post(author: author, intent: intent, completion: .session(link, token: token), behalf: behalf)
    if !unsent.isEmpty || !parley.submit(post) {
      unsent.append(post)
      if unsent.count == 1 { submitWhenRoom() }
    }
  }

  /// Whether the outcome of a post is awaited.
  var isPosting: Bool { settledCount < postedCount }

  /// Whether the outcome of a post of this author is awaited.
  func isPosting(by author: UserID) -> Bool { lines[author] != nil }

  /// Runs the work of an author once all of the author's posts so far are done, so that it does not overtake them.
  func afterPosts(of author: UserID, _ run: @escaping () -> Void) {
    guard let line = lines[author] else { return run() }
    let index = inFlightHead + line.last - settledCount
    guard inFlight.indices.contains(index), inFlight[index] != nil else { return run() }
    inFlight[index]?.behind.append(run)
    lines[author]?.count += 1
    behindCount += 1
  }

  /// Runs work once all posts so far are done. Posts that follow do not wait.
  func afterPosts(_ run: @escaping () -> Void) {
    if !isPosting { return run() }
    waiting.append((postedCount, run))
  }

  /// Runs work once all posts so far are done, including those of sessions: an acknowledgement confirms that they are
  /// stored (XEP-0198).
  func afterAll(_ run: @escaping () -> Void) {
    afterPosts { [self] in
      if releasedThrough == heldCount { return run() }
      acknowledging.append((heldCount, run))
    }
  }

  /// Returns the number of a post of a session, for which acknowledgements wait until `release`.
  func hold() -> Int {
    heldCount += 1
    count(1)
    return heldCount
  }

  /// Notes that a post of a session is done; they are done in any order.
  func release(_ number: Int) {
    released.insert(number)
    count(-1)
    while released.remove(releasedThrough + 1) != nil { releasedThrough += 1 }
    let ready = acknowledging.prefix { $0.after <= releasedThrough }
    acknowledging.removeFirst(ready.count)
    for next in ready { next.run() }
    // Required even if no acknowledgement waits: in a full zone the link is not read until this post, its last, is done.
    goOn()
  }

  /// Returns the last post of a session that ends and no longer gets the outcomes of its posts. They are committed before it, since the
  /// posts of one author keep their order even if they wait for the before-send hook; so they are released with its commit.
  func releasing(_ numbers: Set<Int>, of author: Party) -> Post {
    let me = NIOLoopBound(self, eventLoop: loop)
    let loop = loop
    return Post(
      author: author, intent: .work(WriteTransaction(keepsCaches: true) { _ in true }),
      completion: .callback { _ in
        loop.execute {
          for number in numbers { me.value.release(number) }
        }
      })
  }

  private func submitWhenRoom() {
    let me = NIOLoopBound(self, eventLoop: loop)
    let loop = loop
    parley.whenRoom(for: unsent.first?.author.id) { loop.execute { me.value.submitUnsent() } }
  }

  private func submitUnsent() {
    while let post = unsent.first {
      guard parley.submit(post) else { return submitWhenRoom() }
      unsent.removeFirst()
    }
    goOn()
  }

  /// Handles the outcome of a post, which the link is delivered. The outcomes of one author come in the order of the posts.
  func settled(_ token: UInt64, _ result: Result<Receipt, Problem>) {
    let index = inFlightHead + Int(token) - Int(TakenRows.token + 1) - settledCount
    guard index >= inFlightHead, index < inFlight.count, let posted = inFlight[index] else { return }
    inFlight[index] = nil
    awaitedCount -= 1
    count(-1)
    drop(posted.behind.count, andPosts: 1, of: posted.author)
    while inFlightHead < inFlight.count, inFlight[inFlightHead] == nil {
      inFlightHead += 1
      settledCount += 1
    }
    // Settled posts are removed even while more arrive; otherwise a busy domain's would be kept until it pauses.
    if inFlightHead == inFlight.count
      || inFlightHead >= DoorLimits.postsInFlightMax && 2 * inFlightHead >= inFlight.count
    {
      inFlight.removeFirst(inFlightHead)
      inFlightHead = 0
    }
    isSettling = true
    if let then = posted.then {
      then(result)
    } else if case .failure(let problem) = result {
      link?.refuse(posted.stanza, problem)
    }
    for run in posted.behind { run() }
    // Thousands of items may have waited for one post; they are removed together.
    var ready: [() -> Void] = []
    while ready.count < waiting.count, waiting[ready.count].after <= settledCount {
      ready.append(waiting[ready.count].run)
    }
    if !ready.isEmpty { waiting.removeFirst(ready.count) }
    for run in ready { run() }
    isSettling = false
    goOn()
  }

  /// Subtracts work and posts of an author that no longer wait.
  private func drop(_ behind: Int, andPosts posts: Int = 0, of author: UserID) {
    behindCount -= behind
    guard let line = lines[author] else { return }
    let left = line.count - behind - posts
    lines[author] = left > 0 ? Line(count: left, last: line.last) : nil
  }

  // MARK: Sessions

  /// Holds the session of a request until it has ended.
  func began(_ session: XMPPSession) { requests[ObjectIdentifier(session)] = RemoteOutlet(session, self) }

  func ended(_ session: XMPPSession) {
    requests.removeValue(forKey: ObjectIdentifier(session))?.close()
    goOn()
  }

  /// Finds the stored identity of a requester; a user who is not stored keeps their provisional id.
  func identify(_ address: BareJID, then: @escaping (Party) -> Void) {
    guard let link else { return }
    identifying += 1
    let back = NIOLoopBound((self, then), eventLoop: loop)
    let realm = link.realm
    let unknown = Party(remote: address, realm: realm)
    parley.fetch(for: .network(address.domain), on: link.loopContext.lane) {
      try $0.user(address, seenFrom: realm).map(\.party)
    } then: { (result: Result<Party?, Problem>) in
      let (me, then) = back.value
      me.identifying -= 1
      then((try? result.get()) ?? unknown)
      me.link?.flush()
      me.goOn()
    }
  }

  func paused() { pausedCount += 1 }

  func unpaused() {
    pausedCount -= 1
    if pausedCount == 0 { goOn() }
  }

  /// Continues when the other side is writable again: its users get missed entries from the log.
  func resumeReading() {
    for request in Array(requests.values) { request.session?.resumeReading() }
    residents.resumeReading()
  }

  /// Ends with the link. Pending requests are still performed, but not answered.
  func end() {
    waiting = []
    acknowledging = []
    for index in inFlight.indices {
      guard let posted = inFlight[index], !posted.behind.isEmpty else { continue }
      drop(posted.behind.count, of: posted.author)
      inFlight[index]?.behind = []
    }
    for request in requests.values { request.session?.handle.ended() }
    requests = [:]
    residents.end()
  }
}
