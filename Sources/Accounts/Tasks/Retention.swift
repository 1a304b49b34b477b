import Addresses
import Basics
public import Dialogs
import Logging
import ServerMetrics

/// The runs of retention: messages and files (`Retention`), then accounts that nobody has used for long.
extension Accounts {
  /// Removes what the policy says is old enough, or only counts it.
  ///
  /// - Returns: what was removed; less than everything if the task was cancelled.
  /// - Throws: `.conflict` if a run that removes is under way; a failure of the storage.
  @discardableResult
  public func retain(onlyCounting: Bool = false) async throws(Problem) -> RetentionReport {
    let retention = Retention(parley)
    var report = RetentionReport(startedAt: parley.clock.now)
    if onlyCounting {
      try await retention.removeMessages(onlyCounting: true, &report)
      try await retention.endOldFiles(onlyCounting: true, &report)
      try await retention.endFilesBeyondBytes(onlyCounting: true, &report)
      try await removeIdleAccounts(retention, onlyCounting: true, &report)
      report.finishedAt = parley.clock.now
      return report
    }
    guard retention.state.begin() else {
      throw Problem(.conflict, "retention-running", "A run of retention is under way.")
    }
    do throws(Problem) {
      try await retention.hideMessages()
      try await retention.removeMessages(onlyCounting: false, &report)
      try await retention.endOldFiles(onlyCounting: false, &report)
      try await retention.endFilesBeyondBytes(onlyCounting: false, &report)
      try await removeIdleAccounts(retention, onlyCounting: false, &report)
    } catch {
      report.finishedAt = parley.clock.now
      report.failure = error.text
      retention.state.end(report)
      throw error
    }
    report.finishedAt = parley.clock.now
    retention.state.end(report)
    if report.messages + report.files + report.accounts > 0 {
      parley.logger.notice(
        "retention",
        metadata: [
          "messages": "\(report.messages)", "dialogs": "\(report.dialogs)", "files": "\(report.files)",
          "accounts": "\(report.accounts)", "held": "\(report.held)",
          "seconds": "\((report.finishedAt.milliseconds - report.startedAt.milliseconds) / 1_000)",
        ])
    }
    return report
  }

  /// Deletes the accounts without a sign of use for as long as the policy says, as an operator would: their messages
  /// remain with the others. Administrators, accounts that are disabled, and guests stay; the latter have a time of their
  /// own.
  ///
  /// In the first day of a process none is deleted: who was online when the one before was killed has no later sign.
  private func removeIdleAccounts(
    _ retention: Retention, onlyCounting: Bool, _ report: inout RetentionReport
  ) async throws(Problem) {
    let (now, administrators) = (parley.clock.now, parley.registries.administrators)
    guard let age = parley.registries.retention.policy.accounts else { return }
    guard onlyCounting || startedAt + AccountLimits.idleAccountsAfterStart <= now else { return }
    for realm in parley.realms {
      var after: String?
      while !Task.isCancelled {
        let from = after
        let page = try await parley.read { reader in
          try reader.users(in: realm.id, matching: nil, after: from, limit: AccountLimits.idleLookedAtMax).map { user in
            (user, isIdle: try Self.lastUse(of: user, reader) + age <= now, isHeld: try reader.isHeld(user.id))
          }
        }
        for (user, isIdle, isHeld) in page where isIdle {
          guard user.state == .active, !user.isGuest, !administrators.contains(user.party),
            !parley.hub.isOnline(user.id)
          else { continue }
          if isHeld {
            report.held += 1
            continue
          }
          report.accounts += 1
          if onlyCounting { continue }
          try await retention.pausing { () throws(Problem) in try await setState(of: user.id, .deleted) }
          parley.metrics.retained.add(.accounts)
        }
        guard page.count == AccountLimits.idleLookedAtMax, let last = page.last else { break }
        after = last.0.localpart
      }
    }
  }

  /// Returns the time of the last sign that somebody has used an account.
  private static func lastUse(of user: User, _ reader: any StoreReader) throws -> Timestamp {
    var times = [user.createdAt]
    times += [user.lastSeenAt, try reader.lastLogin(of: user.id)].compactMap { $0 }
    times += try reader.grants(of: user.id).map(\.usedAt)
    times += try reader.clients(of: user.id).map(\.usedAt)
    times += try reader.appPasswords(of: user.id).compactMap(\.usedAt)
    return times.max() ?? user.createdAt
  }

  // MARK: Holds

  /// Puts a hold on a user or dialog, or changes its note.
  public func hold(_ hold: Hold) async throws(Problem) {
    guard hold.note?.utf8.count ?? 0 <= Limits.userNoteBytesMax else {
      throw Problem(.tooLarge, "note-too-long", "A note has at most \(Limits.userNoteBytesMax) bytes.", field: "note")
    }
    let isStored = try await parley.work(keepingCaches: true) { writer in
      let holds = try writer.holds(in: nil)
      let before = holds.first { $0.subject == hold.subject }
      if before == nil, holds.count >= AccountLimits.holdsMax { return false }
      try writer.put(Hold(hold.subject, in: hold.realm, note: hold.note, since: before?.since ?? hold.since))
      return true
    }
    guard isStored else {
      throw Problem(.tooLarge, "too-many-holds", "There are \(AccountLimits.holdsMax) holds already.")
    }
  }

  /// Removes a hold: what waits for it goes with the next run, and deletions and erasures continue.
  public func removeHold(of subject: Hold.Subject) async throws(Problem) {
    let isRemoved = try await parley.work(keepingCaches: true) { writer in
      guard let hold = try writer.holds(in: nil).first(where: { $0.subject == subject }) else { return false }
      try writer.remove(hold)
      return true
    }
    guard isRemoved else { throw Problem(.missing, "hold-unknown", "There is no hold on it.") }
    // The content of rooms that have ended meanwhile.
    parley.submitSurely(
      Post(author: Parley.nobody, intent: .room(.endEmpty(after: DialogID(0))), completion: .none))
  }
}
