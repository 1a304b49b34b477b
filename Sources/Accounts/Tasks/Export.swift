import Addresses
public import Basics
public import Dialogs

/// One way of writing what is a user's own: each is a part of the archive. Those who know a format make one.
public protocol ExportForm: Sendable {
  /// Writes its files, from one snapshot after the other: what is said meanwhile may be in it or not.
  func write(_ user: User, _ parley: Parley, into archive: ExportArchive) async throws(Problem)
}

extension Accounts {
  /// Begins an export of all that is the user's.
  ///
  /// - Parameter isPaced: an operator's are not.
  /// - Returns: to be done with `finish(_:)`; one that is pending already.
  /// - Throws: `.unsupported` where no files are kept; `.tooFast`; `.forbidden` for guests.
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
      for old in before.dropFirst(Limits.exportsPerUserMax - 1) {
        if let blob = try old.blob.flatMap({ try writer.blob($0) }) { try writer.put(blob.over(at: now)) }
        try writer.removeAccountTask(old.id)
      }
      return try writer.insert(AccountTask(user: user.id, kind: .export, createdAt: now))
    }
  }

  /// The newest first.
  public func exports(of user: UserID) async throws(Problem) -> [AccountTask] {
    try await parley.read { try $0.accountTasks(of: user).filter { $0.kind == .export } }
  }

  /// Where an export may be fetched by whoever knows it; nil: not yet, or no longer.
  public func exportURL(_ task: AccountTask) async throws(Problem) -> (url: String, expires: Timestamp?)? {
    guard let id = task.blob, let blobs = parley.blobs, let blob = try await parley.blob(id) else { return nil }
    return (blobs.policy.links.url(of: blob), blob.expiresAt)
  }

  /// Writes the archive anew, whatever a process before has written of it: that file is nobody's, and goes with the next start.
  func gather(_ task: AccountTask) async throws(Problem) {
    guard let blobs = parley.blobs, let user = try await parley.read({ try $0.user(task.user) }), user.state != .deleted
    else { return }
    let id = BlobID.random()
    let now = parley.clock.now
    do throws(Problem) {
      let writer = try await blobs.run { () throws(BlobFailure) in try blobs.store.begin(BlobName(id), size: 0) }
      let archive = ExportArchive(blobs, writer, time: now)
      let made: (size: Int64, sha256: [UInt8])
      do throws(Problem) {
        for form in options.exportForms { try await form.write(user, parley, into: archive) }
        made = try await archive.end()
      } catch {
        await archive.cancel()
        throw error
      }
      let ends = parley.clock.now
      try await parley.work(keepingCaches: true) { writer in
        guard var done = try writer.accountTask(task.id), done.state == .pending else { return }
        done.state = .done
        done.finishedAt = ends
        done.blob = id
        done.size = made.size
        try writer.put(
          Blob(
            id: id, realm: user.realm, owner: user.id, name: "export.tar", mediaType: "application/x-tar",
            size: made.size, purpose: .ephemeral, state: .stored, createdAt: ends,
            expiresAt: ends + Limits.exportLifetime, sha256: made.sha256))
        try writer.update(done)
      }
    } catch {
      // The server's own trouble may be over with the next start; anything else would come again.
      if error.kind == .overloaded { throw error }
      let ends = parley.clock.now
      try await parley.work(keepingCaches: true) { writer in
        guard var failed = try writer.accountTask(task.id) else { return }
        failed.state = .failed
        failed.finishedAt = ends
        try writer.update(failed)
      }
      throw error
    }
  }
}
