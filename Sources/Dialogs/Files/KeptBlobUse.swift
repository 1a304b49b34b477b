import Basics

/// A user's use of file storage as the judge remembers it, so that a slot does not read all files of its owner. Theory:
///
/// The judge adds what its posts change. Time alone lowers the use of files that nobody changes: slots and files end, and a day passes.
/// So the kept use is no less than the real one, and a slot that it leaves room for is given. Before a slot is refused the files are
/// counted again (`Limits.blobRecount`). Others that write metadata of files end them, with one exception: an export, for which no
/// quota is asked, counts from the next count on. A message may refer to it, so that the end of ephemeral files lowers nothing here.
struct KeptBlobUse {
  private(set) var use: BlobUse
  /// The time at which the files were counted.
  let countedAt: Timestamp

  init(_ use: BlobUse, countedAt time: Timestamp) {
    self.use = use
    countedAt = time
  }

  /// Adds a new slot.
  mutating func add(_ slot: Blob) {
    count(slot)
    use.awaited += 1
    if slot.isResumable { use.resumable += 1 }
  }

  /// Adds a slot that has been opened again.
  ///
  /// - Parameter slot: the slot as it was.
  mutating func reopen(_ slot: Blob) {
    if !isCounted(slot) { add(slot) }
  }

  /// Takes account of a slot that has become a stored file, or nothing.
  ///
  /// - Parameters:
  ///   - slot: the slot as it was.
  ///   - blob: what has become of it.
  mutating func end(_ slot: Blob, as blob: Blob) {
    if isCounted(slot) {
      use.awaited -= 1
      if slot.isResumable { use.resumable -= 1 }
    } else {
      // A slot that has ended counts again with what has become of it.
      count(slot)
    }
    if blob.state != .stored { use.bytes -= slot.size }
    // A file that came from another server is as old as it was there.
    if blob.createdAt + Limits.blobDay <= countedAt { use.recentBytes -= slot.size }
  }

  /// Takes account of stored files that have ended at a time.
  mutating func release(bytes: Int64, at time: Timestamp) {
    // Files that had ended before the count, as an imported retraction finds, were not counted.
    if time >= countedAt { use.bytes -= bytes }
  }

  private mutating func count(_ slot: Blob) {
    use.count += 1
    use.bytes += slot.size
    use.recentBytes += slot.size
    use.oldestRecent = use.oldestRecent ?? slot.createdAt
  }

  /// Returns whether an awaited slot is in the kept use: it was open when the files were counted, or is newer.
  private func isCounted(_ slot: Blob) -> Bool { slot.slotEnd > countedAt }
}

extension Judge {
  /// Checks a new slot of a user by the use of file storage beside it.
  ///
  /// - Parameter check: throws the refusal.
  mutating func checkBlobUse(of owner: UserID, _ check: (BlobUse) throws(Problem) -> Void) throws {
    if let kept = blobUses[owner] {
      do throws(Problem) {
        return try check(kept.use)
      } catch {
        if time < kept.countedAt + Limits.blobRecount { throw error }
      }
    }
    let use = try writer.blobUse(of: owner, at: time)
    blobUses[owner] = KeptBlobUse(use, countedAt: time)
    try check(use)
  }
}
