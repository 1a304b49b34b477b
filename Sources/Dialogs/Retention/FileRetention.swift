import Basics
import ServerMetrics

/// The removal of files in messages, by their age and by the bytes of all of them. A file that has ended cannot be read any
/// more, and the next sweep removes it.
extension Retention {
  /// Ends the files that are older than the policy allows, as far as they would stay longer: those of a time with another
  /// policy. Ends early if its task is cancelled.
  public func endOldFiles(onlyCounting: Bool, _ report: inout RetentionReport) async throws(Problem) {
    guard parley.blobs != nil, let age = state.policy.files else { return }
    var after: BlobID?
    while !Task.isCancelled {
      let (from, now) = (after, parley.clock.now)
      let (page, ended) = try await parley.read { reader in
        let page = try reader.storedBlobs(after: from, limit: Limits.agingDialogsAtOnce)
        let ended = try page.filter { blob in
          let isOver = blob.createdAt + age <= now
          guard blob.purpose != .profile, isOver, blob.expiresAt.map({ now < $0 }) ?? true else { return false }
          return try !reader.isHeld(blob.id)
        }
        return (page, ended)
      }
      try await end(ended, onlyCounting: onlyCounting, &report) { $0.createdAt + age }
      guard page.count == Limits.agingDialogsAtOnce, let last = page.last else { return }
      after = last.id
    }
  }

  /// Ends the oldest files of each realm that has more bytes of them than the policy allows. Those that are too old count
  /// no more, and those that are held count, but stay. Ends early if its task is cancelled.
  public func endFilesBeyondBytes(onlyCounting: Bool, _ report: inout RetentionReport) async throws(Problem) {
    guard parley.blobs != nil else { return }
    let (policy, now) = (state.policy, parley.clock.now)
    // The first time that is not too old.
    let since = policy.files.map { now + (.milliseconds(1) - $0) } ?? .earliest
    for realm in parley.realms {
      guard let bytesMax = policy.bounds(of: realm.domain).fileBytes else { continue }
      let kept = FilesByAge(realm: realm.id, since: since, now: now)
      var excess = try await parley.read { try $0.bytes(of: kept) } - bytesMax
      var after: Blob?
      while excess > 0, !Task.isCancelled {
        let from = after
        let page = try await parley.read { reader in
          try reader.files(kept, after: from, limit: Limits.agingDialogsAtOnce).map {
            (blob: $0, isHeld: try reader.isHeld($0.id))
          }
        }
        var ended: [Blob] = []
        for (blob, isHeld) in page where !isHeld && excess > 0 {
          excess -= blob.size
          ended.append(blob)
        }
        try await end(ended, onlyCounting: onlyCounting, &report) { _ in now }
        guard page.count == Limits.agingDialogsAtOnce else { break }
        after = page.last?.blob
      }
    }
  }

  /// Ends files in pieces, or only counts them.
  private func end(
    _ blobs: [Blob], onlyCounting: Bool, _ report: inout RetentionReport,
    at end: @escaping @Sendable (Blob) -> Timestamp
  ) async throws(Problem) {
    report.files += blobs.count
    var rest = onlyCounting ? [] : blobs[...]
    while !rest.isEmpty, !Task.isCancelled {
      let piece = Array(rest.prefix(Limits.expiredAtOnce))
      rest = rest.dropFirst(piece.count)
      try await pausing { () throws(Problem) in
        try await parley.work(keepingCaches: true) { writer in
          for blob in piece {
            guard var blob = try writer.blob(blob.id, .server(.rules)), blob.state == .stored else { continue }
            blob.expiresAt = end(blob)
            try writer.put(blob)
          }
        }
      }
      parley.metrics.retained.add(.files, piece.count)
    }
  }
}
