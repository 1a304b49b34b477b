import Addresses
import Basics

/// The quotas of files, and the files of messages.
extension Judge {
  mutating func blob(_ post: Post, _ intent: BlobIntent) throws {
    guard let (policy, store) = blobs else {
      throw Problem(.unsupported, "uploads-off", "This server takes no files.")
    }
    var receipt = Receipt(position: head)
    switch intent {
    case .request(let draft):
      try require(.uploads, of: post.author)
      receipt.value = try slot(draft, for: post.author, policy, room: store.room)
    case .stored(let id, let findings):
      try checkOwner(post.author)
      var blob = try awaited(id, of: post.author)
      blob.state = .stored
      blob.sha256 = findings.sha256
      blob.mediaType = findings.mediaType
      if let size = findings.size { (blob.shape.width, blob.shape.height) = (size.width, size.height) }
      blob.thumbnail = findings.thumbnail
      try writer.put(blob)
      receipt.value = blob
    case .refused(let id):
      var blob = try awaited(id, of: post.author)
      blob.state = .refused
      try writer.put(blob)
    case .cancelled(let id):
      var blob = try awaited(id, of: post.author)
      // It counts for the day: otherwise cancelling would allow endless uploads.
      blob.state = .gone
      try writer.put(blob)
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

  private func checkOwner(_ author: Party) throws {
    guard try writer.user(author.id)?.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
  }

  private func slot(
    _ draft: BlobDraft, for author: Party, _ policy: BlobPolicy, room: Int64
  ) throws -> Blob {
    try checkOwner(author)
    guard draft.size > 0 else {
      throw Problem(.malformed, "size-malformed", "A file has at least one byte.", field: "size")
    }
    let bytesMax =
      draft.purpose == .profile ? min(policy.bytesMax, Limits.profileBlobBytesMax) : policy.bytesMax
    guard draft.size <= bytesMax else {
      throw Problem(.tooLarge, "blob-too-large", "A file has at most \(bytesMax) bytes.", field: "size")
    }
    let use = try writer.blobUse(of: author.id, at: time)
    let waiting = draft.isResumable ? use.resumable : use.awaited - use.resumable
    if waiting >= (draft.isResumable ? Limits.resumableSlotsPerUserMax : Limits.slotsPerUserMax) {
      throw Problem(
        .tooFast, "slots-too-many", "\(waiting) slots wait to be filled. Fill them first, or cancel them.",
        retryAfter: Int(Limits.slotTime.components.seconds))
    }
    if use.recentBytes + draft.size > policy.userDayBytesMax, let oldest = use.oldestRecent {
      let free = (oldest + Limits.blobDay).milliseconds - time.milliseconds
      throw Problem(
        .tooFast, "blob-day-quota",
        """
        At most \(policy.userDayBytesMax) bytes of files are taken of one user a day; \
        \(max(0, policy.userDayBytesMax - use.recentBytes)) are left.
        """,
        retryAfter: max(1, Int((free + 999) / 1_000)))
    }
    if use.count >= Limits.blobsPerUserMax || use.bytes + draft.size > policy.userBytesMax {
      throw Problem(
        .tooLarge, "blob-quota",
        """
        At most \(policy.userBytesMax) bytes of files are kept for one user, in \(Limits.blobsPerUserMax) files. \
        \(max(0, policy.userBytesMax - use.bytes)) bytes and \(max(0, Limits.blobsPerUserMax - use.count)) files are left.
        """, field: "size")
    }
    if draft.size > room { throw Problem.blobsFull }
    var expires = draft.purpose == .profile ? nil : retention.policy.files.map { time + $0 }
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
    return blob
  }

  // MARK: Messages

  /// Returns a message's content as stored, and the blobs it refers to: its attachments and those whose URLs are in its
  /// text. An app's attachments must exist; an unknown one of XMPP is an ordinary link.
  func attached(
    _ content: Content, by author: Party, isApp: Bool
  ) throws -> (content: Content, blobs: Set<BlobID>) {
    let policy = blobs?.policy
    var content = content
    var found: Set<BlobID> = []
    for (index, attachment) in content.attachments.enumerated() {
      var attachment = attachment
      if let id = attachment.blob {
        if let policy, let blob = try writer.blob(id, .holder(author)), blob.isReadable(at: time) {
          found.insert(id)
          attachment.url = isApp ? policy.links.url(of: blob) : attachment.url
          attachment.name = blob.name
          attachment.mediaType = blob.mediaType
          attachment.size = blob.size
          attachment.sha256 = blob.sha256
          // Measured values precede announced ones.
          attachment.shape.width = blob.shape.width ?? attachment.shape.width
          attachment.shape.height = blob.shape.height ?? attachment.shape.height
          attachment.shape.milliseconds = attachment.shape.milliseconds ?? blob.shape.milliseconds
          if let size = blob.thumbnail {
            attachment.thumbnail = Attachment.Thumbnail(
              url: policy.links.thumbnailURL(of: blob), mediaType: "image/jpeg", width: size.width, height: size.height)
          }
        } else if isApp {
          throw Problem(
            .missing, "attachment-unknown", "There is no such attachment, or its file has not come yet.",
            field: "content.attachments")
        } else {
          attachment.blob = nil
        }
      }
      content.attachments[index] = attachment
    }
    if !isApp, content.kind.isFile, let first = content.attachments.first {
      content.kind = Content.Kind(mediaType: first.mediaType ?? MediaType.of(name: first.name ?? first.url))
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
  func releaseBlobs(of target: Entry, _ state: MessageState) throws {
    guard state.retraction != nil else { return }
    try writer.releaseBlobs(
      of: target.position, by: target.author.id, ending: blobs?.policy.endsWithMessages == true ? time : nil)
  }
}
