import Accounts
import Basics
import Dialogs
import HTTPPort
import JSON
import NIOCore

/// Returns the caller's events behind a cursor, for clients without a WebSocket: the same frames, in the same order.
/// With `wait` it answers at the first event, or with none after so many seconds.
enum Sync: ServedOperation {
  typealias Input = SyncInput
  typealias Output = SyncBody
  static let name = "sync"
  static let method = Method.get
  static let path = "/v1/sync"

  static func perform(_ input: SyncInput, _ call: RequestContext) async throws(Problem) -> Outcome<SyncBody> {
    let caller = try call.user()
    let limit = try Checks.limit(input.limit, default: Limits.pageMax, max: Limits.feedPageMax)
    let wait = input.wait ?? 0
    guard (0...AppLimits.syncWaitSecondsMax).contains(wait) else {
      throw Problem(
        .malformed, "wait-out-of-range", "wait must be from 0 to \(AppLimits.syncWaitSecondsMax) seconds.",
        field: "wait")
    }
    guard let cursor = input.cursor else {
      let head = try await call.parley.read { try $0.head().position }
      return .ok(SyncBody(events: [], cursor: call.rendering.cursor(head)))
    }
    guard let after = call.parley.position(ofCursor: cursor, in: call.realm.id) else {
      return .ok(try await resync(.cursorUnknown, call))
    }
    if try await call.parley.read({ try $0.expired(in: LogAccess.own(caller.user)) }) > after {
      return .ok(try await resync(.expired, call))
    }
    var page = try await events(of: caller.user, after: after, cursor: cursor, limit: limit, call)
    if page.isLast && page.body.events.isEmpty && wait > 0 {
      let access = caller.access(since: call.parley.clock.now)
      let budget = call.parley.sending.budget(of: caller.user, from: call.address, now: call.parley.clock.now)
      var waited = Duration.zero
      while let time = budget.startPoll(now: call.parley.clock.now) {
        // Others of this user have waited as long.
        if waited >= .seconds(wait) { return .ok(page.body) }
        try? await Task.sleep(for: time)
        waited += time
      }
      let waiter = SyncWaiter(party: caller.user, door: call.door)
      // From here on nothing is missed: earlier commits are in the next page, later ones wake the waiter.
      var onlineSession = OnlineSession(session: waiter, door: .app, resource: waiter.resource)
      onlineSession.isUnseen = true
      onlineSession.transport = .poll
      onlineSession.access = access
      try await call.parley.post(.goOnline(onlineSession), by: caller.user)
      do throws(Problem) {
        page = try await events(of: caller.user, after: after, cursor: cursor, limit: limit, call)
        if page.isLast && page.body.events.isEmpty {
          // Without its client the session would count as online until the wait is over.
          call.whenClientLeaves { waiter.wake() }
          try await waiter.wait(seconds: max(0, wait - Int(waited.components.seconds)))
          page = try await events(of: caller.user, after: after, cursor: cursor, limit: limit, call)
        }
      } catch {
        waiter.leave()
        throw error
      }
      waiter.leave()
    }
    return .ok(page.body)
  }

  /// Returns a page of events, and whether there are no further ones.
  private static func events(
    of user: Party, after: Position, cursor: String, limit: Int, _ call: RequestContext
  ) async throws(Problem) -> (body: SyncBody, isLast: Bool) {
    let rendering = call.rendering
    let owner = call.parley.readOwner(user, from: call.address, for: .missed)
    let page = try await call.readMessages(for: owner) { reader -> (body: SyncBody, isLast: Bool) in
      let page = try FeedPage.read(user, after: after, limit: limit, reader)
      var events: [RawObject] = []
      var last = cursor
      var bytes = 0
      for entry in page.log.entries where !page.subjects.hidden.contains(entry.position) {
        let form = EventForm.of(
          entry, rendering, isAnonymized: page.subjects.isAnonymized(entry), for: user.id, page.subjects)
        guard let frame = form.frame(after: last) else { continue }
        var text = ByteBuffer()
        frame.write(to: &text)
        events.append(RawObject(trusted: String(buffer: text)))
        last = form.cursor
        bytes += frame.count
        if bytes >= Limits.pageBytesMax { return (SyncBody(events: events, cursor: last), false) }
      }
      // A page that is not the last continues behind its end, even if no event is there.
      if !page.log.isLast { last = rendering.cursor(page.log.end) }
      return (SyncBody(events: events, cursor: last), page.log.isLast)
    }
    // A request that waits for events leaves its place to others.
    if page.body.events.isEmpty { call.readPlace?.end() }
    return page
  }

  private static func resync(
    _ reason: ResyncBody.Reason, _ call: RequestContext
  ) async throws(Problem) -> SyncBody {
    let head = try await call.parley.read { try $0.head() }
    let cursor = call.rendering.cursor(head.position)
    var writer = JSONWriter()
    EventFrame(
      .resync, time: call.parley.clock.now, data: ResyncBody(reason: reason, cursor: cursor)
    ).write(to: &writer)
    return SyncBody(events: [RawObject(trusted: writer.text)], cursor: cursor)
  }
}
