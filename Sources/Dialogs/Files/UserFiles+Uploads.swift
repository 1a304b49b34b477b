import Basics

extension UserFiles {
  /// Begins the upload of a slot.
  ///
  /// - Parameters:
  ///   - key: the key of `Blobs.uploadURL`.
  ///   - name: the name in the URL.
  ///   - length: the announced number of bytes; the upload is refused if it is `nil` (`length-required`).
  ///   - mediaType: the announced media type.
  public func upload(
    _ id: BlobID, key: String, name: String, length: Int64?, mediaType: String?
  ) async throws(Problem) -> BlobUpload {
    let slot = try await slot(id, key: key, name: name)
    let blob = slot.blob
    try slot.isOpen(at: parley.clock.now)
    guard let length else {
      throw Problem(.malformed, "length-required", "Say with Content-Length how many bytes come.")
    }
    guard length == blob.size else { throw BlobUpload.wrongLength }
    let announced = mediaType.flatMap { MediaType.essence($0) }
    if let expected = blob.mediaType, let announced, expected != announced {
      throw Problem(
        .malformed, "media-type-mismatch", "The slot was asked for a file of type \(expected).", field: "mediaType")
    }
    let claim = try slot.blobs.claim(id, for: blob.owner)
    let store = slot.blobs.store
    return try await begin(slot, claim, as: announced) { () throws(BlobFailure) in
      try store.begin(BlobName(id), size: length)
    }
  }

  /// Resumes the upload of a resumable slot; one in progress ends.
  public func resumeUpload(_ id: BlobID, key: String, name: String) async throws(Problem) -> BlobUpload {
    let slot = try await slot(id, key: key, name: name)
    try slot.isOpen(at: parley.clock.now)
    try slot.isResumable()
    let claim = try await slot.blobs.takeOver(id, for: slot.blob.owner)
    let store = slot.blobs.store
    return try await begin(slot, claim, as: nil) { () throws(BlobFailure) in try store.resume(BlobName(id)) }
  }

  func begin(
    _ slot: BlobSlot, _ claim: BlobClaim, as announced: String?,
    _ open: @escaping @Sendable () throws(BlobFailure) -> any BlobWriter
  ) async throws(Problem) -> BlobUpload {
    let (id, blobs) = (slot.blob.id, slot.blobs)
    do throws(Problem) {
      // Checked again after claiming: another upload may just have been finished.
      guard try await parley.read({ try $0.blob(id, .server(.rules)) })?.state == .awaited else { throw .blobTaken }
      let writer = try await blobs.run(open)
      guard blobs.store.room >= slot.blob.size - writer.start else {
        try? await blobs.run { writer.cancel() }
        throw .blobsFull
      }
      return BlobUpload(
        slot.blob, of: Party(id: slot.owner.id, realm: slot.owner.realm, address: slot.owner.address),
        as: slot.blob.mediaType ?? announced ?? MediaType.of(name: slot.blob.name) ?? MediaType.unknown, claim,
        writer, blobs, parley)
    } catch {
      blobs.release(id, claim)
      throw error
    }
  }

  /// Returns the progress of a resumable slot; an upload in progress ends, so that the returned offset is final.
  public func uploadProgress(_ id: BlobID, key: String, name: String) async throws(Problem) -> BlobProgress {
    let slot = try await slot(id, key: key, name: name)
    let blob = slot.blob
    if blob.state == .stored {
      return BlobProgress(offset: blob.size, length: blob.size, isComplete: true, seconds: nil)
    }
    let upload = try await resumeUpload(id, key: key, name: name)
    return BlobProgress(
      offset: try await upload.suspend(), length: blob.size, isComplete: false, seconds: seconds(until: blob.slotEnd))
  }

  private func seconds(until time: Timestamp) -> Int {
    Int(clamping: max(0, time.milliseconds - parley.clock.now.milliseconds) / 1_000)
  }

  /// Cancels a slot, and removes its bytes.
  public func cancelUpload(_ id: BlobID, key: String, name: String) async throws(Problem) {
    let slot = try await slot(id, key: key, name: name)
    try slot.isOpen(at: parley.clock.now)
    let claim = try await slot.blobs.takeOver(id, for: slot.blob.owner)
    defer { slot.blobs.release(id, claim) }
    let store = slot.blobs.store
    try await slot.blobs.run { () throws(BlobFailure) in try store.remove(BlobName(id)) }
    try await parley.post(
      .blob(.cancelled(id)), by: Party(id: slot.owner.id, realm: slot.owner.realm, address: slot.owner.address))
  }

  private func slot(_ id: BlobID, key: String, name: String) async throws(Problem) -> BlobSlot {
    if let blobs = parley.blobs, !blobs.isKey(key, of: id) {
      throw Problem(.forbidden, "upload-key-wrong", "This is not where a slot of this server is filled.")
    }
    return try await slot(id, name: name)
  }

  /// - Parameter name: The name in the URL; `nil` where there is none.
  func slot(_ id: BlobID, name: String?) async throws(Problem) -> BlobSlot {
    guard let blobs = parley.blobs else { throw .uploadsOff }
    let (found, owner) = try await parley.read { reader -> (Blob?, User?) in
      guard let blob = try reader.blob(id, .server(.rules)) else { return (nil, nil) }
      return (blob, try reader.user(blob.owner))
    }
    guard let blob = found, name == nil || blob.name == name, let owner, owner.state == .active, blob.state != .gone
    else {
      throw .blobUnknown
    }
    return BlobSlot(blob: blob, owner: owner, blobs: blobs)
  }
}

/// A slot with its owner.
struct BlobSlot: Sendable {
  let blob: Blob
  let owner: User
  let blobs: Blobs

  func isOpen(at now: Timestamp) throws(Problem) {
    guard blob.state == .awaited else { throw blob.state == .refused ? .blobRefused : .blobTaken }
    guard now < blob.slotEnd else {
      throw Problem(.missing, "upload-late", "The time of this slot is over. Ask for another.")
    }
  }

  func isResumable() throws(Problem) {
    guard blob.isResumable else {
      throw Problem(.conflict, "upload-not-resumable", "This slot was asked for a file that comes at once, with PUT.")
    }
  }
}
