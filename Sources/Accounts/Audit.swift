import Basics
public import Dialogs

extension Accounts {
  /// Records an administrative act or a call; it is durable when this returns.
  ///
  /// - Parameters:
  ///   - object: the names of what the act was about; no secret.
  ///   - code: the code of the refusal; empty for success.
  public func note(
    _ operation: String, on object: String, by actor: AuditActor, status: Int, code: String = ""
  ) async throws(Problem) {
    let now = parley.clock.now
    let record = AuditRecord(
      actor: actor, time: now, operation: operation,
      object: String(decoding: object.utf8.prefix(AccountLimits.auditObjectBytesMax), as: UTF8.self), status: status,
      code: code)
    let since = now + (.zero - AccountLimits.auditKept)
    try await parley.work(keepingCaches: true) {
      try $0.insert(record, keeping: AccountLimits.auditRecordsMax, since: since)
    }
  }

  /// Returns the records with ids below `before`, the newest first.
  ///
  /// - Parameter realm: those of this realm's keys; `nil` for all.
  public func audit(in realm: RealmID?, before: Int64, limit: Int) async throws(Problem) -> [AuditRecord] {
    try await parley.read { try $0.audit(in: realm, before: before, limit: limit) }
  }
}
