public import Basics
import Crypto

/// A file that another server kept for the post's author, without its bytes (docs/decisions/0036).
public struct ImportedFile: Sendable {
  public var id: BlobID
  public var name: String
  /// The media type as the former server kept it; an invalid one is ignored.
  public var mediaType: String?
  /// Bytes.
  public var size: Int64
  /// The time at which the former server took it, from which its age counts.
  public var time: Timestamp

  public init(id: BlobID, name: String, mediaType: String?, size: Int64, time: Timestamp) {
    self.id = id
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.time = time
  }
}

extension BlobID {
  /// The bytes that the random part of a former server's URL has at least: no server makes shorter ones.
  private static let secretBytesMin = 8

  /// Creates the id of a file that came from another server: a hash of the end of its URL's path, where a random text
  /// precedes the name. So its former URL leads to it without a table, and it is as hard to guess as that.
  public init(former secret: String, name: String) {
    self.init(PublicID(bytes: Array(SHA256.hash(data: Array("parley former file \(secret)/\(name)".utf8)))))
  }

  /// Creates the id that the file of a URL, or of its path, would have if it came from another server; `nil` if no file's
  /// URL is like that.
  ///
  ///     BlobID(formerURL: "https://upload.example.org/file_share/Zt5bq0hnGPU4TYbX/rose.jpg")
  public init?(formerURL url: some StringProtocol) {
    let parts = url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").suffix(2)
    guard parts.count == 2, let secret = parts.first.flatMap({ PercentEncoding.decode(String($0)) }),
      let name = parts.last.flatMap({ PercentEncoding.decode(String($0)) }), secret.utf8.count >= Self.secretBytesMin
    else { return nil }
    self.init(former: secret, name: name)
  }
}

/// The rules of files that come from another server: they count for their owner, but not for the owner's day.
extension Judge {
  /// Makes the slot of an imported file. `Receipt.isRepeat` tells that there is, or was, a file in it.
  mutating func importFile(_ post: Post, _ imported: ImportedFile) throws {
    guard let (policy, store) = blobs else { throw Problem.uploadsOff }
    var receipt = Receipt(position: head)
    if var known = try writer.blob(imported.id, .server(.rules)) {
      guard known.owner == post.author.id else {
        throw Problem(.conflict, "file-of-another", "Another user has this file here.", field: "owner")
      }
      if known.state == .refused { throw Problem.blobRefused }
      receipt.isRepeat = known.state != .awaited
      if known.state == .awaited {
        // An import that was broken off goes on.
        let slot = known
        known.createdAt = time
        try writer.put(known)
        blobUses[known.owner]?.reopen(slot)
      }
      return settle(post, receipt)
    }
    if let end = ending(of: imported.time), end <= time {
      throw Problem(
        .missing, "file-expired", "The file is of \(imported.time): it would be over here (uploads.days).",
        field: "time")
    }
    try checkSize(imported.size, policy.bytesMax)
    try checkBlobUse(of: post.author.id) { use throws(Problem) in
      try use.checkQuota(imported.size, policy, room: store.room)
    }
    // It is a slot of now until its bytes have come, so that it is not swept before.
    let slot = Blob(
      id: imported.id, realm: post.author.realm, owner: post.author.id, name: BlobLinks.name(imported.name),
      mediaType: imported.mediaType.flatMap { MediaType.essence($0) }, size: imported.size, purpose: .message,
      createdAt: time, expiresAt: nil, isResumable: true)
    try writer.put(slot)
    blobUses[slot.owner]?.add(slot)
    settle(post, receipt)
  }
}

extension UserFiles {
  /// Opens a file by the path of its URL at the server that it came from; `nil` if there is none.
  public func open(formerPath path: String) async throws(Problem) -> OpenBlob? {
    guard let id = BlobID(formerURL: path) else { return nil }
    return try await open(id, .file, name: nil)
  }

  /// Takes the next bytes of an imported file, for which `ImportIntent.file` has made a slot. With its last byte the file
  /// is inspected and stored, as every upload is.
  ///
  /// - Parameters:
  ///   - offset: The place of the bytes in the file; 0 begins anew.
  ///   - time: The time at which the former server took it.
  public func takeImported(
    _ id: BlobID, at offset: Int64, _ bytes: [UInt8], from time: Timestamp
  ) async throws(Problem) {
    let slot = try await slot(id, name: nil)
    try slot.isOpen(at: parley.clock.now)
    let claim = try await slot.blobs.takeOver(id, for: slot.blob.owner)
    let store = slot.blobs.store
    let upload = try await begin(slot, claim, as: nil) { () throws(BlobFailure) in
      if offset == 0 { try store.remove(BlobName(id)) }
      return try store.resume(BlobName(id))
    }
    do throws(Problem) {
      guard upload.offset == offset else {
        throw Problem(.conflict, "offset-mismatch", "\(upload.offset) bytes of this file are here.", field: "offset")
      }
      try await upload.append(bytes)
      if upload.offset == slot.blob.size {
        _ = try await upload.finish(past: time)
      } else {
        try await upload.suspend()
      }
    } catch {
      await upload.cancel()
      throw error
    }
  }
}
