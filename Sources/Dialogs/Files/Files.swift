import Addresses
import Basics

/// The quotas of files, and the files of messages.
extension Judge {
  mutating func blob(_ post: Post, _ intent: BlobIntent) throws {
    guard let (policy, store) = blobs else {
      throw Problem.uploadsOff
    }
    var receipt = Receipt(position: head)
    switch intent {
    case .request(let draft):
      try require(.uploads, of: post.author)
      receipt.value = try slot(draft, for: post.author, policy, room: store.room)
    case .stored(let id, let findings):
      try checkOwner(post.author)
      let slot = try awaited(id, of: post.author)
      var blob = slot
      blob.state = .stored
      blob.sha256 = findings.sha256
      blob.mediaType = findings.mediaType
      if let size = findings.size { (blob.shape.width, blob.shape.height) = (size.width, size.height) }
      blob.thumbnail = findings.thumbnail
      if let past = findings.past { (blob.createdAt, blob.expiresAt) = (past, ending(of: past)) }
      try end(slot, as: blob)
      receipt.value = blob
    case .refused(let id):
      let slot = try awaited(id, of: post.author)
      var blob = slot
      blob.state = .refused
      try end(slot, as: blob)
    case .cancelled(let id):
      let slot = try awaited(id, of: post.author)
      var blob = slot
      // It counts for the day: otherwise cancelling would allow endless uploads.
      blob.state = .gone
      try end(slot, as: blob)
    case .swept(let ids):
      for id in ids {
        guard var blob = try writer.blob(id, .server(.rules)) else { continue }
        // A slot requested today still counts for its owner's day.
        if blob.state == .stored, time < blob.createdAt + Limits.blobDay {
          blob.state = .gone
          try writer.put(blob)
        } else {
          try writer.removeBlob(id)
        }
      }
    }
    settle(post, receipt)
  }

  private func awaited(_ id: BlobID, of author: Party) throws -> Blob {
    guard let blob = try writer.blob(id, .server(.rules)), blob.owner == author.id else { throw Problem.blobUnknown }
    guard blob.state == .awaited else { throw blob.state == .refused ? Problem.blobRefused : .blobTaken }
    return blob
  }

  /// Stores what has become of a slot.
  private mutating func end(_ slot: Blob, as blob: Blob) throws {
    try writer.put(blob)
    blobUses[slot.owner]?.end(slot, as: blob)
  }

  private func checkOwner(_ author: Party) throws {
    guard try writer.user(author.id)?.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
  }

  private mutating func slot(
    _ draft: BlobDraft, for author: Party, _ policy: BlobPolicy, room: Int64
  ) throws -> Blob {
    try checkOwner(author)
    try checkSize(
      draft.size, draft.purpose == .profile ? min(policy.bytesMax, Limits.profileBlobBytesMax) : policy.bytesMax)
    let requestedAt = time
    try checkBlobUse(of: author.id) { use throws(Problem) in
      try use.checkSlot(draft, policy, at: requestedAt)
      try use.checkQuota(draft.size, policy, room: room)
    }
    var expires = draft.purpose == .profile ? nil : ending(of: time)
    if draft.purpose == .ephemeral {
      guard let before = draft.expiresBefore, time < before else {
        throw Problem(.malformed, "expiry-malformed", "This file would be over before it is here.")
      }
      expires = min(before, expires ?? before)
    }
    let blob = Blob(
      id: .random(), realm: author.realm, owner: author.id, name: BlobLinks.name(draft.name),
      mediaType: draft.mediaType.flatMap { MediaType.essence($0) }, size: draft.size, purpose: draft.purpose,
      createdAt: time, expiresAt: expires, sha256: draft.sha256, shape: draft.shape, isResumable: draft.isResumable)
    try writer.put(blob)
    blobUses[author.id]?.add(blob)
    return blob
  }

  func checkSize(_ size: Int64, _ bytesMax: Int64) throws(Problem) {
    guard size > 0 else {
      throw Problem(.malformed, "size-malformed", "A file has at least one byte.", field: "size")
    }
    guard size <= bytesMax else {
      throw Problem(.tooLarge, "blob-too-large", "A file has at most \(bytesMax) bytes.", field: "size")
    }
  }

  /// Returns the time until which a file of a message is kept; `nil` for ever.
  func ending(of time: Timestamp) -> Timestamp? { retention.policy.files.map { time + $0 } }

  // MARK: Messages

  /// Returns a message's content as stored, and the blobs it refers to: its attachments and those whose URLs are in its
  /// text. An app's attachments must exist; an unknown one of XMPP is an ordinary link.
  func attached(
    _ content: Content, by author: Party, isApp: Bool
  ) throws -> (content: Content, blobs: Set<BlobID>) {
    let policy = blobs?.policy
    var content = content
    var found = try content.describeFiles(policy, by: author, isApp: isApp, at: time, writer)
    for (index, attachment) in content.attachments.enumerated() {
      guard let id = attachment.blob, !found.contains(id) else { continue }
      guard !isApp else {
        throw Problem(
          .missing, "attachment-unknown", "There is no such attachment, or its file has not come yet.",
          field: "content.attachments")
      }
      content.attachments[index].blob = nil
    }
    if let policy, !content.text.isEmpty {
      for id in policy.links.ids(in: content.text, limit: Limits.attachmentsMax)
      where try writer.blob(id, .server(.rules)) != nil {
        found.insert(id)
      }
    }
    return (content, found)
  }

  func refer(to blobs: Set<BlobID>, by entry: Entry) throws {
    for id in blobs { try writer.insertBlobReference(to: id, by: entry.position) }
  }

  /// Releases the files of a retracted message: its author's own files are removed if nothing else refers to them.
  /// Those of others are not: otherwise anyone who knows a file could remove it by a message of their own.
  mutating func releaseBlobs(of target: Entry, _ state: MessageState) throws {
    guard state.retraction != nil else { return }
    let now = time
    let bytes = try writer.releaseBlobs(
      of: target.position, by: target.author.id, ending: blobs?.policy.endsWithMessages == true ? now : nil)
    if bytes > 0 { blobUses[target.author.id]?.release(bytes: bytes, at: now) }
  }
}

extension BlobUse {
  /// Checks that a user may have another slot now.
  fileprivate func checkSlot(_ draft: BlobDraft, _ policy: BlobPolicy, at time: Timestamp) throws(Problem) {
    let waiting = draft.isResumable ? resumable : awaited - resumable
    if waiting >= (draft.isResumable ? Limits.resumableSlotsPerUserMax : Limits.slotsPerUserMax) {
      throw Problem(
        .tooFast, "slots-too-many", "\(waiting) slots wait to be filled. Fill them first, or cancel them.",
        retryAfter: Int(Limits.slotTime.components.seconds))
    }
    if recentBytes + draft.size > policy.userDayBytesMax, let oldestRecent {
      let free = (oldestRecent + Limits.blobDay).milliseconds - time.milliseconds
      throw Problem(
        .tooFast, "blob-day-quota",
        """
        At most \(policy.userDayBytesMax) bytes of files are taken of one user a day; \
        \(max(0, policy.userDayBytesMax - recentBytes)) are left.
        """,
        retryAfter: max(1, Int((free + 999) / 1_000)))
    }
  }

  /// Checks that a file has a place among its owner's, and on the disk.
  func checkQuota(_ size: Int64, _ policy: BlobPolicy, room: Int64) throws(Problem) {
    if count >= Limits.blobsPerUserMax || bytes + size > policy.userBytesMax {
      throw Problem(
        .tooLarge, "blob-quota",
        """
        At most \(policy.userBytesMax) bytes of files are kept for one user, in \(Limits.blobsPerUserMax) files. \
        \(max(0, policy.userBytesMax - bytes)) bytes and \(max(0, Limits.blobsPerUserMax - count)) files are left.
        """, field: "size")
    }
    if size > room { throw Problem.blobsFull }
  }
}

extension Content {
  /// Sets what is stored of the attachments that their author can send, and the kind that follows from an XMPP client's file.
  ///
  /// - Returns: The blobs of these attachments.
  mutating func describeFiles(
    _ policy: BlobPolicy?, by author: Party, isApp: Bool, at time: Timestamp, _ reader: any StoreReader
  ) throws -> Set<BlobID> {
    var found: Set<BlobID> = []
    for index in attachments.indices {
      guard let policy, let id = attachments[index].blob, let blob = try reader.blob(id, .holder(author)),
        blob.isReadable(at: time)
      else { continue }
      found.insert(id)
      attachments[index].describe(blob, policy.links, isApp: isApp)
    }
    if !isApp, kind.isFile, let first = attachments.first {
      kind = Kind(mediaType: first.mediaType ?? MediaType.of(name: first.name ?? first.url))
    }
    return found
  }
}

extension Attachment {
  fileprivate mutating func describe(_ blob: Blob, _ links: BlobLinks, isApp: Bool) {
    // The URL of a former server stays in the stanza, and is no good for an app.
    if isApp || links.id(in: url) == nil { url = links.url(of: blob) }
    name = blob.name
    mediaType = blob.mediaType
    size = blob.size
    sha256 = blob.sha256
    // Measured values precede announced ones.
    shape.width = blob.shape.width ?? shape.width
    shape.height = blob.shape.height ?? shape.height
    shape.milliseconds = shape.milliseconds ?? blob.shape.milliseconds
    if let size = blob.thumbnail {
      thumbnail = Thumbnail(
        url: links.thumbnailURL(of: blob), mediaType: "image/jpeg", width: size.width, height: size.height)
    }
  }
}
