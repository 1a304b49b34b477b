import Addresses
public import Basics
public import Dialogs

/// A format of a user's data: each is a part of the archive, implemented by those who know the format.
public protocol ExportForm: Sendable {
  /// Writes its files, from a sequence of snapshots: it may contain concurrent changes or not.
  func write(_ user: User, _ parley: Parley, into archive: ExportArchive) async throws(Problem)
}

extension Accounts {
  /// Begins an export of all of the user's data.
  ///
  /// - Parameter isPaced: whether the rate is checked; not for an operator.
  /// - Returns: the task, to be completed by `finish(_:)`; or one that is pending already.
  /// - Throws: `.unsupported` if uploads are off; `.tooFast`; `.forbidden` for guests.
  public func beginExport(of user: Party, isPaced: Bool = true) async throws(Problem) -> AccountTask {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    guard parley.blobs != nil else {
      throw Problem(.unsupported, "attachments-unsupported", "This server keeps no files, and an export is one.")
    }
    if let pending = try await exports(of: user.id).first(where: { $0.state == .pending }) { return pending }
    if isPaced { try pace(.export(user.id)) }
    let now = parley.clock.now
    return try await parley.work(keepingCaches: true) { writer in
      let before = try writer.accountTasks(of: user.id).filter { $0.kind == .export }
      if let pending = before.first(where: { $0.state == .pending }) { return pending }
      let (kept, failed) = (before.filter { $0.state != .failed }, before.filter { $0.state == .failed })
      let max = AccountLimits.exportsPerUserMax
      for old in kept.dropFirst(max - 1) + failed.dropFirst(max) {
        if let blob = try old.blob.flatMap({ try writer.blob($0, .server(.rules)) }) {
          try writer.put(blob.over(at: now))
        }
        try writer.removeAccountTask(old.id)
      }
      return try writer.put(AccountTask(user: user.id, kind: .export, createdAt: now))
    }
  }

  /// Returns the user's exports, the newest first.
  public func exports(of user: UserID) async throws(Problem) -> [AccountTask] {
    try await parley.read { try $0.accountTasks(of: user).filter { $0.kind == .export } }
  }

  /// Returns the URL of an export, which needs no login; `nil` if it is not finished, or expired.
  public func exportURL(_ task: AccountTask) async throws(Problem) -> (url: String, expires: Timestamp?)? {
    guard let id = task.blob, let blobs = parley.blobs, let blob = try await UserFiles(parley).find(id) else {
      return nil
    }
    return (blobs.policy.links.url(of: blob), blob.expiresAt)
  }

  /// Writes the archive from its beginning, ignoring what an earlier process has written: the next start removes that
  /// file. An attempt is noted before it begins, so that one that ends the server does not end it at each start.
  func gather(_ task: AccountTask) async throws(Problem) {
    guard let blobs = parley.blobs, let user = try await parley.read({ try $0.user(task.user) }), user.state != .deleted
    else { return }
    guard task.attempts < AccountLimits.exportAttemptsMax else {
      try await fail(task)
      throw Problem(.internal, "export-failed", "The server has ended while it wrote the export, more than once.")
    }
    try await change(task) { $0.attempts += 1 }
    let id = BlobID.random()
    let now = parley.clock.now
    do throws(Problem) {
      let writer = try await blobs.run { () throws(BlobFailure) in try blobs.store.begin(BlobName(id), size: 0) }
      let archive = ExportArchive(blobs, writer, time: now)
      let made: (size: Int64, sha256: [UInt8])
      let isComplete: Bool
      do throws(Problem) {
        for form in options.exportForms { try await form.write(user, parley, into: archive) }
        isComplete = try await archive.addOmissions()
        made = try await archive.end()
      } catch {
        await archive.cancel()
        throw error
      }
      let ends = parley.clock.now
      try await parley.work(keepingCaches: true) { writer in
        guard var done = try writer.accountTask(task.id), done.state == .pending else { return }
        done.state = isComplete ? .done : .incomplete
        done.finishedAt = ends
        done.blob = id
        done.size = made.size
        try writer.put(
          Blob(
            id: id, realm: user.realm, owner: user.id, name: "export.tar", mediaType: "application/x-tar",
            size: made.size, purpose: .ephemeral, state: .stored, createdAt: ends,
            expiresAt: ends + AccountLimits.exportLifetime, sha256: made.sha256))
        try writer.replace(done)
      }
    } catch {
      // The server's own failure may be over with the next start; any other would recur.
      if error.kind == .overloaded {
        try? await change(task) { $0.attempts -= 1 }
        throw error
      }
      try await fail(task)
      throw error
    }
    try await removeOldExports(blobs, behind: task)
  }

  /// Removes the oldest exports of all users beyond their share of the disk, but not the one that was just made: its user may
  /// have more data than the share. Those of the last days may be thousands, and are read in pieces, the newest first.
  private func removeOldExports(_ blobs: Blobs, behind made: AccountTask) async throws(Problem) {
    let now = parley.clock.now
    var exports: [AccountTask] = []
    var reached = Int64.max
    var isEnd = false
    while !isEnd {
      let before = reached
      let page = try await parley.read {
        try $0.records(
          AccountTask.self, .below(.id, before), isDescending: true, limit: AccountLimits.exportsLookedAt)
      }
      exports += page.filter { export in
        export.blob != nil && export.finishedAt.map { now < $0 + AccountLimits.exportLifetime } == true
      }
      // An export may be finished some time after it was begun.
      isEnd =
        page.count < AccountLimits.exportsLookedAt
        || page.last.map { $0.createdAt + AccountLimits.exportLifetime * 2 < now } == true
      reached = page.last?.id ?? 0
    }
    let all = exports.reduce(Int64(0)) { $0 + ($1.size ?? 0) }
    let share = AccountLimits.exportsDiskShare
    let bytesMax = max(0, blobs.store.room) / share + all / share
    var sum: Int64 = 0
    for export in exports {
      sum += export.size ?? 0
      if sum <= bytesMax || export.id == made.id { continue }
      try await parley.work(keepingCaches: true) { writer in
        guard var old = try writer.accountTask(export.id), let id = old.blob else { return }
        if let blob = try writer.blob(id, .server(.rules)) { try writer.put(blob.over(at: now)) }
        old.blob = nil
        try writer.replace(old)
      }
    }
  }

  private func fail(_ task: AccountTask) async throws(Problem) {
    let ends = parley.clock.now
    try await change(task) { failed in
      failed.state = .failed
      failed.finishedAt = ends
    }
  }

  private func change(
    _ task: AccountTask, _ body: @escaping @Sendable (inout AccountTask) -> Void
  ) async throws(Problem) {
    try await parley.work(keepingCaches: true) { writer in
      guard var changed = try writer.accountTask(task.id) else { return }
      body(&changed)
      try writer.replace(changed)
    }
  }
}
