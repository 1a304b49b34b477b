import Basics
import ServerMetrics

/// The removal of messages by their age. Theory:
///
/// Dialog by dialog, oldest entries first: what is gone of a dialog is everything up to one position, which its row
/// names, so that a later look begins there, and one that a crash interrupts is continued by the next.
///
/// A piece is a few entries in a transaction of their own, which is not synced: it is durable with the next commit of
/// others, at the latest after some hundred dialogs, and a loss of power before that is made good by the next run. After
/// a piece there is a pause (`RetentionPause`).
///
/// A member may want an age of their own for a dialog. It rules their view alone: what is older is hidden from them, as
/// if they had cleared the dialog up to there. In a private dialog what is older than all of its users want is seen by
/// nobody, and goes.
///
/// Nothing is told live. Who asks later learns that something is missing: an app's client whose cursor is further back
/// is told to resync, and an XMPP client's page by the id of a message that is gone is `item-not-found`.
public struct Retention: Sendable {
  let parley: Parley
  private let startedAt: Timestamp

  /// Creates a run, which begins now.
  public init(_ parley: Parley) {
    self.parley = parley
    startedAt = parley.clock.now
  }

  public var state: RetentionState { parley.registries.retention }

  /// Removes the messages that are older than the policy and their rooms allow, or only counts them, and adds them to the
  /// report. Ends early if its task is cancelled.
  public func removeMessages(onlyCounting: Bool, _ report: inout RetentionReport) async throws(Problem) {
    let (policy, now, parley) = (state.policy, parley.clock.now, parley)
    let bounds = Dictionary(uniqueKeysWithValues: parley.realms.map { ($0.id, policy.bounds(of: $0.domain)) })
    let onlyOwn = !bounds.values.contains(where: \.hasAges)
    var after = DialogID(0)
    while !Task.isCancelled {
      let from = after
      let (page, due) = try await parley.read { reader in
        let page = try reader.agingDialogs(after: from, limit: Limits.agingDialogsAtOnce, onlyOwn: onlyOwn)
        // Few ages are different.
        var ends: [Duration: Position] = [:]
        let due = try page.compactMap { dialog -> (id: DialogID, end: Position)? in
          guard let oldest = dialog.oldest, let bounds = bounds[parley.home(of: dialog.realm)],
            let age = bounds.age(of: dialog)
          else { return nil }
          let end =
            try ends[age] ?? reader.position(before: Timestamp(milliseconds: now.milliseconds - age.milliseconds))
          ends[age] = end
          return oldest <= end ? (dialog.id, end) : nil
        }
        return (page, due)
      }
      for dialog in due { try await remove(of: dialog.id, through: dialog.end, onlyCounting: onlyCounting, &report) }
      if !onlyCounting, !due.isEmpty { try await sync() }
      guard page.count == Limits.agingDialogsAtOnce, let last = page.last else { return }
      after = last.id
    }
  }

  /// Hides from members what is older than they want it. Ends early if its task is cancelled.
  public func hideMessages() async throws(Problem) {
    let (now, parley) = (parley.clock.now, parley)
    var after = (dialog: DialogID(0), user: UserID(0))
    while !Task.isCancelled {
      let from = after
      let (page, due) = try await parley.read { reader in
        let page = try reader.agingMembers(after: from, limit: Limits.agingDialogsAtOnce)
        var ends: [Int: Position] = [:]
        let due = try page.compactMap { member -> (member: AgingMember, end: Position)? in
          guard let oldest = member.oldest else { return nil }
          let age = Duration.days(member.days).milliseconds
          let end =
            try ends[member.days] ?? reader.position(before: Timestamp(milliseconds: now.milliseconds - age))
          ends[member.days] = end
          return oldest <= end ? (member, end) : nil
        }
        return (page, due)
      }
      for (member, end) in due {
        if Task.isCancelled { return }
        try await piece(in: member.dialog) { try $0.age(member.dialog, through: end, for: member.user) }
      }
      if !due.isEmpty { try await sync() }
      guard page.count == Limits.agingDialogsAtOnce, let last = page.last else { return }
      after = (last.dialog, last.user)
    }
  }

  private func remove(
    of dialog: DialogID, through end: Position, onlyCounting: Bool, _ report: inout RetentionReport
  ) async throws(Problem) {
    if onlyCounting {
      let (count, isHeld) = try await parley.read { try ($0.expiring(in: dialog, through: end), $0.isHeld(dialog)) }
      if isHeld {
        report.held += 1
      } else if count > 0 {
        report.messages += count
        report.dialogs += 1
      }
      return
    }
    let endsFiles = parley.blobs?.policy.endsWithMessages == true
    var messages = 0
    while !Task.isCancelled {
      let now = parley.clock.now
      // Most dialogs are gone in one piece, and there are many.
      let piece = try await piece(in: dialog) {
        try $0.expire(
          dialog, through: end, limit: Limits.expiredAtOnce, within: Limits.expiringTime,
          endingFiles: endsFiles ? now : nil)
      }
      messages += piece.messages
      parley.metrics.retained.add(.messages, piece.messages)
      if piece.isHeld { report.held += 1 }
      if !piece.isMore { break }
    }
    report.messages += messages
    if messages > 0 { report.dialogs += 1 }
  }

  /// Writes a piece in one dialog, and pauses.
  private func piece<Value: Sendable>(
    in dialog: DialogID, _ body: @escaping @Sendable (any StoreWriter) throws -> Value
  ) async throws(Problem) -> Value {
    let posts = parley.takenPosts
    let (value, duration) = try await parley.work(agingIn: dialog) { writer in
      let began = ContinuousClock.now
      let value = try body(writer)
      return (value, ContinuousClock.now - began)
    }
    await pause(after: duration, since: posts)
    return value
  }

  /// Makes the pieces durable.
  private func sync() async throws(Problem) { try await parley.work(keepingCaches: true) { _ in } }

  /// Does a piece of other work, and pauses.
  public func pausing<Value>(_ body: () async throws(Problem) -> Value) async throws(Problem) -> Value {
    let (began, posts) = (ContinuousClock.now, parley.takenPosts)
    let value = try await body()
    await pause(after: ContinuousClock.now - began, since: posts)
    return value
  }

  /// Leaves the committer to others, after a piece before which it had taken so many posts. Ends early in a task that is
  /// cancelled.
  private func pause(after duration: Duration, since posts: Int) async {
    var pause = RetentionPause(
      after: duration, since: posts, isLate: startedAt + Limits.retentionWaitingMax <= parley.clock.now)
    while !Task.isCancelled, let rest = pause.next(taken: parley.takenPosts) { try? await Task.sleep(for: rest) }
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 { components.seconds * 1_000 }
}
