import Basics
import Logging

/// The files of users: their upload, their reading, and their end.
public struct UserFiles: Sendable {
  let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// Returns the blob if it may be read; otherwise `nil`.
  public func find(_ id: BlobID, for viewer: Party? = nil) async throws(Problem) -> Blob? {
    guard parley.blobs != nil, let blob = try await parley.read({ try $0.blob(id, .holder(viewer)) }),
      blob.isReadable(at: parley.clock.now)
    else {
      return nil
    }
    return blob
  }

  /// Returns the content of a message that is about to be sent, with what is stored of its files, as it will be committed. An
  /// attachment that its author cannot send stays as it is: the message is refused, or the attachment is an ordinary link.
  public func described(_ question: BeforeSendQuestion) async -> Content {
    let content = question.content
    guard let policy = parley.blobs?.policy, !content.attachments.isEmpty else { return content }
    let time = parley.clock.now
    let described = try? await parley.read { reader in
      var content = content
      _ = try content.describeFiles(policy, by: question.author, isApp: question.isFromApp, at: time, reader)
      return content
    }
    // The store cannot be read: the commit will fail as well.
    return described ?? content
  }

  /// Opens a blob; `nil` if it may not be read.
  public func open(_ id: BlobID, name: String) async throws(Problem) -> OpenBlob? {
    try await open(id, .file, name: name)
  }

  /// Opens a blob's thumbnail; `nil` if there is none, or it may not be read.
  public func openThumbnail(_ id: BlobID, name: String) async throws(Problem) -> OpenBlob? {
    try await open(id, .thumbnail, name: name)
  }

  /// - Parameter name: The name in the URL; `nil` if the id is already made of it.
  func open(_ id: BlobID, _ part: BlobName.Part, name: String?) async throws(Problem) -> OpenBlob? {
    guard let blobs = parley.blobs, let blob = try await find(id), name == nil || blob.name == name,
      part == .file || blob.thumbnail != nil
    else {
      return nil
    }
    let reader = try await blobs.run { () throws(BlobFailure) in try blobs.store.open(BlobName(id, part)) }
    return reader.map { OpenBlob(blob: blob, reader: $0, blobs: blobs) }
  }

  /// Settles the uploads of the previous process. Called once, before the first upload.
  public func settle() async throws(Problem) {
    guard let blobs = parley.blobs else { return }
    for id in blobs.store.unsettled {
      let state = try await parley.read { try $0.blob(id, .server(.rules))?.state }
      switch state {
      case .awaited: break
      case .stored: blobs.store.settle(BlobName(id))
      case .gone, .refused, nil:
        do throws(Problem) {
          try await blobs.run { () throws(BlobFailure) in try blobs.store.remove(BlobName(id)) }
        } catch {
          // The next start tries again.
          parley.logger.error("a file could not be removed", metadata: ["reason": "\(error.text)"])
        }
      }
    }
  }

  /// Returns the user's use of storage; `nil` if uploads are off.
  public func use(of user: UserID) async throws(Problem) -> (use: BlobUse, policy: BlobPolicy)? {
    guard let blobs = parley.blobs else { return nil }
    let now = parley.clock.now
    return (try await parley.read { try $0.blobUse(of: user, at: now) }, blobs.policy)
  }

  /// Returns an avatar made from an image that may be larger; `nil` if this fails.
  ///
  /// It is a PNG, which every client can show (XEP-0084 4.2.1), unless that has too many bytes.
  public func avatar(of bytes: [UInt8], for user: UserID) async -> [UInt8]? {
    guard let blobs = parley.blobs, let pictures = blobs.policy.tools.pictures else { return nil }
    return await blobs.inspect(for: user) { () throws(Never) -> [UInt8]? in
      for form in [PictureForm.png, .jpeg] {
        if let small = pictures.shrunk(.bytes(bytes), side: Limits.avatarSide, as: form),
          small.count <= Limits.avatarBytesMax
        {
          return small
        }
      }
      return nil
    }
  }

  /// Removes expired blobs, a page at a time. The bytes are removed before the row: after a crash the row still tells
  /// that they have to be.
  ///
  /// - Returns: the number of removed blobs.
  @discardableResult
  public func sweep() async throws(Problem) -> Int {
    guard let blobs = parley.blobs else { return 0 }
    var count = 0
    while true {
      let now = parley.clock.now
      let due = try await parley.read { try $0.dueBlobs(at: now, limit: Limits.sweptBlobsMax) }
      var claimed = due.filter { blobs.claimRemoval($0) }
      defer { for id in claimed { blobs.releaseRemoval(id) } }
      // Checked again after claiming: an upload may have been finished in between.
      let (looked, isNow) = (claimed, now)
      let spared = try await parley.read { reader in
        try looked.filter { try reader.blob($0, .server(.rules))?.isReadable(at: isNow) == true }
      }
      for id in spared { blobs.releaseRemoval(id) }
      claimed.removeAll { spared.contains($0) }
      var removed: [BlobID] = []
      for id in claimed {
        do throws(Problem) {
          try await blobs.run { () throws(BlobFailure) in
            for part in BlobName.Part.allCases { try blobs.store.remove(BlobName(id, part)) }
          }
          removed.append(id)
        } catch {
          parley.logger.error("a file could not be removed", metadata: ["reason": "\(error.text)"])
        }
      }
      if removed.isEmpty { return count }
      try await parley.post(.blob(.swept(removed)), by: Parley.nobody)
      count += removed.count
      if due.count < Limits.sweptBlobsMax { return count }
    }
  }
}

/// A blob open for reading.
public struct OpenBlob: Sendable {
  public let blob: Blob
  let reader: any BlobReader
  let blobs: Blobs

  /// Returns bytes; fewer than `count` only at the end of the blob.
  public func read(at offset: Int64, count: Int) async throws(Problem) -> [UInt8] {
    let reader = reader
    return try await blobs.run { () throws(BlobFailure) in try reader.read(at: offset, count: count) }
  }
}
