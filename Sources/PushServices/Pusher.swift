import Addresses
public import Dialogs
import ServerMetrics

/// Sends pending pushes to push services. Theory:
///
/// It sleeps until its signal and then processes one user after another: the pending pushes, the services, and whether
/// the pushes are still of use. There is one publication for a user at a time, and the next not before
/// `PushLimits.interval`: pushes in between are combined. A failed publication is tried again, later each time; the
/// rows are in the store and survive a crash.
///
/// Users give the URLs of web push and UnifiedPush, whose servers may never answer. So one publication has at most
/// `PushLimits.givenAtOnceMax` of them, the next ones follow behind other users', and a new registration at the origin of a failed one
/// that it replaces rests with it.
public actor Pusher {
  private let parley: Parley
  private let route: any PushRoute
  private let pause: @Sendable (Duration) async -> Void
  private var queue = PushQueue()
  /// The services whose last publication failed, by user: they are skipped until their task has waited.
  private var resting: [UserID: [Target: Rest]] = [:]

  private struct Target: Hashable {
    let user: UserID
    let name: PushTarget.Name
    /// The position of the registration: a new one starts anew.
    let enabled: Position
    /// The origin of an endpoint that the user has given.
    let origin: String?

    init(_ registration: PushRegistration) {
      (user, name) = (registration.user, registration.name)
      (enabled, origin) = (registration.enabled, registration.givenOrigin)
    }
  }

  private struct Rest {
    let task: Task<Void, Never>
    /// Whether a new registration at the same origin rests as well.
    var isInherited = true
  }

  /// Creates a pusher. `pause` sleeps, and returns early when its task is cancelled.
  public init(
    parley: Parley, route: any PushRoute,
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.parley = parley
    self.route = route
    self.pause = pause
  }

  /// Runs until its task is cancelled. It can be called once.
  public func run() async {
    await withDiscardingTaskGroup { group in
      for await _ in parley.registries.pushes.wakeSignal {
        for user in parley.registries.pushes.takeOwed() { queue.add(user) }
        while let user = queue.next() { group.addTask { [self] in await serve(user) } }
      }
      group.cancelAll()
    }
    for rests in resting.values { for rest in rests.values { rest.task.cancel() } }
  }

  private func serve(_ user: UserID) async {
    await publish(user)
    await pause(PushLimits.interval)
    queue.served(user)
    parley.registries.pushes.wake()
  }

  private func rest(_ target: Target, for wait: Duration) {
    let inherited = min(wait, PushLimits.inheritedRestMax)
    let task = Task { [pause] in
      await pause(inherited)
      if Task.isCancelled { return }
      if wait > inherited {
        resting[target.user]?[target]?.isInherited = false
        parley.registries.pushes.wake(for: target.user)
        await pause(wait - inherited)
        if Task.isCancelled { return }
      }
      resting[target.user]?[target] = nil
      if resting[target.user]?.isEmpty == true { resting[target.user] = nil }
      parley.registries.pushes.wake(for: target.user)
    }
    resting[target.user, default: [:]][target] = Rest(task: task)
  }

  /// Ends the rests of registrations that there are no more, except for the latest ones with which new registrations at their origins
  /// rest. Otherwise whoever registers again and again would leave one behind each time, for as long as the service says.
  ///
  /// - Parameter current: All registrations of the user.
  private func endFormerRests(of user: UserID, except current: Set<Target>) {
    let former = (resting[user] ?? [:]).filter { !current.contains($0.key) }
    if former.isEmpty { return }
    let inherited = former.filter { $0.key.origin != nil && $0.value.isInherited }.keys
    let kept = Set(inherited.sorted { $0.enabled > $1.enabled }.prefix(PushLimits.formerRestsMax))
    for (target, rest) in former where !kept.contains(target) {
      rest.task.cancel()
      resting[user]?[target] = nil
    }
    if resting[user]?.isEmpty == true { resting[user] = nil }
  }

  /// Returns whether a service is skipped: its last publication has failed, or that to a former registration at its origin.
  ///
  /// - Parameter current: All registrations of the user.
  private func rests(_ target: Target, among current: Set<Target>) -> Bool {
    guard let rests = resting[target.user] else { return false }
    if rests[target] != nil { return true }
    guard let origin = target.origin else { return false }
    return rests.contains { $0.origin == origin && $1.isInherited && !current.contains($0) }
  }

  /// A stored push, with its message.
  private struct Row: Sendable {
    let push: OwedPush
    /// The entry; for the end of a call, the message that rang.
    let entry: Entry
    /// Whether a client has received it, possibly an inactive one.
    let isDelivered: Bool
    /// Whether apps show it, which they do not with private messages of rooms.
    var isForApps: Bool { entry.whisper == nil }
    /// Whether it is a notification outside of dialogs, which no session gets.
    var isNotification: Bool { push.kind == .notification }
    var isCall: Bool {
      entry.pushed?.traits.contains(.rings) == true
    }
  }

  private struct PendingPush: Sendable {
    let user: Party
    let registrations: [PushRegistration]
    /// The rows, ascending, without messages that were read or retracted meanwhile.
    let rows: [Row]
    let end: Position
    let requests: Int
    let unread: Int64
    let names: Names
  }

  /// The display names of users and rooms, as they are shown.
  private struct Names: Sendable {
    var people: [UserID: String] = [:]
    var rooms: [DialogID: String] = [:]
    /// The rooms that are non-anonymous.
    var open: Set<DialogID> = []
  }

  /// Sends one publication to each target that lacks something.
  private func publish(_ user: UserID) async {
    guard case .success(let found) = await read(user), let owed = found else { return }
    // The registrations have ended with a login, and the registry learns of it only here.
    if owed.registrations.isEmpty { return await settle(.recount, owed.user) }
    let onlineSessions = parley.hub.onlineSessions(of: user)
    let isAttended = Pushes.isAttended(onlineSessions)
    let rings = Set(owed.registrations.filter { $0.target.device?.kind == .voip }.map(\.grant))
    var tasks: [(PushRegistration, PushSummary?)] = []
    let current = Set(owed.registrations.map { Target($0) })
    endFormerRests(of: user, except: current)
    var (given, isMore) = (0, false)
    // Those that have failed less often come first, so that dead endpoints do not hold up the others; among these, those that have
    // waited longest, so that further pushes do not keep the last ones waiting.
    let registrations = owed.registrations.filter { $0.pushed < owed.end }.sorted {
      ($0.failures, $0.pushed) < ($1.failures, $1.pushed)
    }
    for registration in registrations {
      let target = Target(registration)
      if rests(target, among: current) { continue }
      // A connected device need not be woken.
      let isHere = Pushes.isHere(registration, onlineSessions)
      let rows = owed.rows.filter {
        (!isHere || $0.isNotification) && $0.push.position > registration.pushed
          && ($0.isForApps || registration.target.device == nil)
          // A repeated push is useless once a client has the message. The first one is not: a client in the background
          // confirms whatever it gets, without showing it.
          && !($0.isDelivered && registration.failures > 0)
          && Pushes.isFor(
            registration, $0.push.kind, isCall: $0.isCall, rings: rings,
            isAttended: isAttended || Pushes.isOnScreen($0.push.dialog, onlineSessions))
      }
      let summary = summary(of: rows, for: registration, owed)
      if summary != nil, target.origin != nil {
        if given == PushLimits.givenAtOnceMax {
          isMore = true
          continue
        }
        given += 1
      }
      tasks.append((registration, summary))
    }
    let results = await Self.publish(tasks, of: owed.user, by: route, parley.metrics, parley.traces)
    // A request cancelled by the end of the process is no failure of the service; a delivered one counts.
    for (registration, outcome) in results where outcome == .taken || !Task.isCancelled {
      await settle(.settled(registration.name, upTo: owed.end, outcome), owed.user)
      let patience = Self.patience(after: registration.failures + 1)
      switch outcome {
      case .failed: rest(Target(registration), for: patience)
      case .unavailable(let seconds):
        rest(Target(registration), for: max(patience, .seconds(min(seconds ?? 0, 86_400))))
      case .taken, .refused: break
      }
    }
    if isMore { parley.registries.pushes.wake(for: user) }
  }

  /// Returns the summary for a registration; `nil` if there is nothing to push.
  private func summary(of rows: [Row], for registration: PushRegistration, _ owed: PendingPush) -> PushSummary? {
    guard registration.target.device != nil else {
      guard let last = rows.last else { return nil }
      return PushSummary(count: rows.count, requests: owed.requests, last: last.entry)
    }
    // A call that ended before its ringing was pushed.
    let ended = Set(rows.filter { $0.push.kind == .callEnd }.map(\.push.subject))
    let told = rows.filter { row in
      row.push.kind == .callEnd ? row.push.subject <= registration.pushed : !ended.contains(row.push.position)
    }
    guard let last = told.last else { return nil }
    var notices: [PushNotice] = []
    var seen: Set<[UInt8]> = []
    // The newest message of each dialog represents the others.
    for row in told.reversed() where notices.count < PushLimits.noticesMax {
      let notice = notice(
        of: row, count: told.count { $0.push.dialog == row.push.dialog && $0.push.kind == row.push.kind && !$0.isCall },
        owed)
      // A silent notice does not displace another.
      if seen.insert(notice.collapse + [notice.kind == .silent ? 1 : 0]).inserted { notices.append(notice) }
    }
    return PushSummary(count: told.count, requests: owed.requests, last: last.entry, notices: notices.reversed())
  }

  private func notice(of row: Row, count: Int, _ owed: PendingPush) -> PushNotice {
    let entry = row.entry
    var kind = PushNotice.Kind.message
    switch row.push.kind {
    case .callEnd: kind = .callEnd
    case .silent: kind = .silent
    case .notification: kind = .notification
    case .alert: if row.isCall { kind = .call }
    }
    var notification: AppNotification?
    if case .notification(let found) = entry.fact { notification = found }
    var (content, text, resource) = (Content.Kind.none, "", String?.none)
    if case .message(let message) = entry.fact {
      content = message.content.kind
      text = entry.state?.text ?? message.content.text
      resource = message.envelope.fromResource
    }
    var call: Call.Kind?
    if case .call(let change) = entry.fact { call = change.call.kind }
    // An encrypted message has only a fallback text in the sender's language.
    if content == .encrypted { text = "" }
    let room = entry.whisper?.room ?? entry.room
    // In a room the nick, which everyone there may know.
    let nick = entry.whisper?.nick ?? (entry.room == nil ? nil : resource)
    let isKnown = room.map { owed.names.open.contains($0.dialog) } ?? true
    let name = nick ?? (isKnown ? owed.names.people[entry.author.id] ?? entry.author.name : "")
    let realm = owed.user.realm
    var notice = PushNotice(
      kind: kind, user: owed.user.name, dialog: parley.dialogID(entry.dialog, in: realm),
      message: parley.entryID(entry.position, in: realm), cursor: parley.cursor(row.push.position, in: realm),
      position: row.push.position, count: max(1, count), unread: owed.unread, content: content, text: text,
      senderID: isKnown ? entry.author.name : nil,
      senderName: ShownText.name(name) ?? "",
      dialogName: room.map { owed.names.rooms[$0.dialog] ?? $0.address.local ?? "" }, notification: notification)
    notice.call = call
    return notice
  }

  /// Publishes all summaries concurrently; a target without one succeeds.
  private nonisolated static func publish(
    _ tasks: [(PushRegistration, PushSummary?)], of user: Party, by route: any PushRoute, _ metrics: Metrics,
    _ traces: Traces?
  ) async -> [(PushRegistration, PushOutcome)] {
    await withTaskGroup(of: (PushRegistration, PushOutcome).self) { group in
      for (registration, summary) in tasks {
        group.addTask {
          guard let summary else { return (registration, .taken) }
          let provider = PushProvider(registration.target)
          let outcome =
            if let traces {
              await traces.sending("push \(provider)", after: summary.last.position) {
                await route.publish(summary, to: registration, of: user)
              }
            } else {
              await route.publish(summary, to: registration, of: user)
            }
          metrics.pushes.add(Both(provider, SendingResult(outcome)))
          return (registration, outcome)
        }
      }
      var results: [(PushRegistration, PushOutcome)] = []
      for await result in group { results.append(result) }
      return results
    }
  }

  private func read(_ user: UserID) async -> Result<PendingPush?, Problem> {
    do throws(Problem) {
      return .success(try await parley.read(for: .user(user)) { try Self.owed(to: user, $0) })
    } catch {
      return .failure(error)
    }
  }

  /// Stores an outcome. If that fails, it is published again at the next signal.
  private func settle(_ intent: PushIntent, _ user: Party) async { _ = try? await parley.post(.push(intent), by: user) }

  static func patience(after failures: Int) -> Duration {
    min(PushLimits.retry * (1 << min(max(failures - 1, 0), 30)), PushLimits.retryMax)
  }

  private static func owed(to user: UserID, _ reader: any StoreReader) throws -> PendingPush? {
    let pushes = try reader.pushesOwed(to: user, limit: Limits.pushesOwedMax)
    guard let end = pushes.last?.position, let found = try reader.user(user) else { return nil }
    let rows = try pushes.compactMap { push -> Row? in
      if push.kind == .callEnd {
        return try reader.entry(push.subject, in: .server(push.dialog, .pushes)).map {
          Row(push: push, entry: $0, isDelivered: false)
        }
      }
      guard let entry = try reader.entry(push.position, in: .server(push.dialog, .pushes)),
        entry.state?.retraction == nil
      else { return nil }
      if push.kind == .notification { return Row(push: push, entry: entry, isDelivered: false) }
      if let mark = try reader.mark(user, in: push.dialog), push.position <= mark.displayed { return nil }
      return Row(push: push, entry: entry, isDelivered: entry.room == nil && push.position <= found.delivered)
    }
    let registrations = found.state == .active ? try reader.pushRegistrations(of: user) : []
    let hasDevices = registrations.contains { $0.target.device != nil }
    return PendingPush(
      user: Party(id: found.id, realm: found.realm, address: found.address), registrations: registrations, rows: rows,
      end: end,
      requests: rows.isEmpty ? 0 : try reader.requestCount(of: user, amongNewest: PushLimits.requestLooksMax),
      unread: rows.isEmpty || !hasDevices ? 0 : try reader.unread(of: user),
      names: hasDevices ? try names(in: rows.map(\.entry), reader) : Names())
  }

  private static func names(in entries: [Entry], _ reader: any StoreReader) throws -> Names {
    var names = Names()
    for entry in entries {
      if let room = entry.whisper?.room ?? entry.room {
        guard names.rooms[room.dialog] == nil, let found = try reader.room(room.dialog) else { continue }
        names.rooms[room.dialog] = found.settings.name.flatMap { ShownText.name($0) } ?? room.address.local ?? ""
        if found.settings.showsAddresses { names.open.insert(room.dialog) }
      } else if names.people[entry.author.id] == nil, let author = try reader.user(entry.author.id) {
        names.people[entry.author.id] = author.profile.displayName.flatMap { ShownText.name($0) } ?? author.name
      }
    }
    return names
  }
}

extension PushRegistration {
  /// The origin of the endpoint, if the user has given it; `nil` for a provider of the operator's, and for a service that is reached by
  /// XMPP.
  fileprivate var givenOrigin: String? {
    guard let device = target.device else { return nil }
    switch device.provider {
    case .webpush, .unifiedpush: return WebPush.origin(of: device.token)
    case .apns, .fcm, .webhook: return nil
    }
  }
}

extension PushProvider {
  fileprivate init(_ target: PushTarget) {
    switch target.device?.provider {
    case .apns?: self = .apns
    case .fcm?: self = .fcm
    case .webpush?: self = .webpush
    case .unifiedpush?: self = .unifiedpush
    case .webhook?: self = .webhook
    case nil: self = .xmpp
    }
  }
}

extension SendingResult {
  fileprivate init(_ outcome: PushOutcome) {
    switch outcome {
    case .taken: self = .sent
    case .refused: self = .refused
    case .failed, .unavailable: self = .failed
    }
  }
}
