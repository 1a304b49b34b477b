import Addresses

/// Tells push services what users are owed. Theory:
///
/// It sleeps until the bell rings and then looks at one user after another: what is owed, to which services, whether it is
/// still news. One publication of a user at a time, and the next not before `Limits.pushInterval`: what comes meanwhile is one
/// publication. What a service does not take is tried again, later each time; what stands in the store stands over a crash.
public actor Pusher {
  private let parley: Parley
  private let route: any PushRoute
  private let pause: @Sendable (Duration) async -> Void
  private var queue = PushQueue()
  /// Services that did not take the last publication: left alone until their task has waited.
  private var resting: [Target: Task<Void, Never>] = [:]

  private struct Target: Hashable {
    let user: UserID
    let service: JID
    let node: String
    /// A registration that is asked for anew begins anew.
    let enabled: Position

    init(_ registration: PushRegistration) {
      (user, service, node) = (registration.user, registration.service, registration.node)
      enabled = registration.enabled
    }
  }

  /// `pause` sleeps, and returns early when its task is cancelled.
  public init(
    parley: Parley, route: any PushRoute,
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.parley = parley
    self.route = route
    self.pause = pause
  }

  /// Runs until its task is cancelled. Once.
  public func run() async {
    await withDiscardingTaskGroup { group in
      for await _ in parley.pushes.bell {
        for user in parley.pushes.takeOwed() { queue.ring(for: user) }
        while let user = queue.next() { group.addTask { [self] in await serve(user) } }
      }
      group.cancelAll()
    }
    for task in resting.values { task.cancel() }
  }

  private func serve(_ user: UserID) async {
    await publish(user)
    await pause(Limits.pushInterval)
    queue.served(user)
    parley.pushes.ring()
  }

  private func rest(_ target: Target, for wait: Duration) {
    resting[target] = Task { [pause] in
      await pause(wait)
      resting[target] = nil
      parley.pushes.ring(target.user)
    }
  }

  private struct Owed: Sendable {
    let user: Party
    let registrations: [PushRegistration]
    /// Ascending; what was read or taken back meanwhile is not among them.
    let entries: [Entry]
    let end: Position
    let requests: Int
  }

  /// One publication for each service that lacks something.
  private func publish(_ user: UserID) async {
    guard case .success(let found) = await read(user), let owed = found else { return }
    let attendances = parley.hub.attendances(of: user)
    let isAttended = Pushes.isAttended(attendances)
    var tasks: [(PushRegistration, PushSummary?)] = []
    for registration in owed.registrations where registration.pushed < owed.end {
      if resting[Target(registration)] != nil { continue }
      let entries = owed.entries.filter { $0.position > registration.pushed }
      // Who has come back needs no waking, nor does a device that is connected.
      let isHere = attendances.contains {
        $0.door == .xmpp && $0.isConnected && $0.isAvailable && $0.resource == registration.resource
      }
      let last = isAttended || isHere ? nil : entries.last
      tasks.append((registration, last.map { PushSummary(count: entries.count, requests: owed.requests, last: $0) }))
    }
    let results = await Self.publish(tasks, of: owed.user, by: route)
    // What failed because everything ends is no failure of the service; what was taken was taken.
    for (registration, outcome) in results where outcome == .taken || !Task.isCancelled {
      await settle(
        .settled(service: registration.service, node: registration.node, upTo: owed.end, outcome), owed.user)
      if outcome == .failed {
        rest(Target(registration), for: Self.patience(after: registration.failures + 1))
      }
    }
  }

  /// All at once; without a summary there is nothing to tell.
  private nonisolated static func publish(
    _ tasks: [(PushRegistration, PushSummary?)], of user: Party, by route: any PushRoute
  ) async -> [(PushRegistration, PushOutcome)] {
    await withTaskGroup(of: (PushRegistration, PushOutcome).self) { group in
      for (registration, summary) in tasks {
        group.addTask {
          guard let summary else { return (registration, .taken) }
          return (registration, await route.publish(summary, to: registration, of: user))
        }
      }
      var results: [(PushRegistration, PushOutcome)] = []
      for await result in group { results.append(result) }
      return results
    }
  }

  private func read(_ user: UserID) async -> Result<Owed?, Problem> {
    do throws(Problem) {
      return .success(try await parley.read { try Self.owed(to: user, $0) })
    } catch {
      return .failure(error)
    }
  }

  /// What cannot be stored is published again, when the bell rings next.
  private func settle(_ intent: PushIntent, _ user: Party) async { _ = try? await parley.post(.push(intent), by: user) }

  static func patience(after failures: Int) -> Duration {
    min(Limits.pushRetry * (1 << min(max(failures - 1, 0), 30)), Limits.pushRetryMax)
  }

  private static func owed(to user: UserID, _ reader: any StoreReader) throws -> Owed? {
    let rows = try reader.pushesOwed(to: user, limit: Limits.pushesOwedMax)
    guard let end = rows.last?.position, let found = try reader.user(user) else { return nil }
    let entries = try rows.compactMap { row -> Entry? in
      guard let entry = try reader.entry(row.position, in: row.dialog), entry.state?.retraction == nil
      else { return nil }
      // A client has it by now, or the user has read it.
      if entry.room == nil, row.position <= found.delivered { return nil }
      if let mark = try reader.mark(user, in: row.dialog), row.position <= mark.displayed { return nil }
      return entry
    }
    let requests = entries.isEmpty ? 0 : try reader.contacts(of: user).count { $0.subscription.pendingIn }
    return Owed(
      user: Party(id: found.id, realm: found.realm, address: found.address),
      registrations: found.state == .active ? try reader.pushRegistrations(of: user) : [],
      entries: entries, end: end, requests: requests)
  }
}
