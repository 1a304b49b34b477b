public import Basics
import Crypto
import Logging
import ServerMetrics
import Synchronization

/// An upload, used by one task, which must finish, suspend or cancel it.
///
///     let upload = try await UserFiles(parley).upload(
///       id, key: key, name: "rose.jpg", length: length, mediaType: "image/jpeg")
///     for try await piece in pieces { try await upload.append(piece) }
///     let blob = try await upload.finish()
public final class BlobUpload: Sendable {
  public let blob: Blob
  private let parley: Parley
  private let blobs: Blobs
  private let owner: Party
  private let claim: BlobClaim
  private let writer: any BlobWriter
  /// The announced media type.
  private let mediaType: String
  private struct Progress {
    /// The hash of all bytes so far; `nil` for a resumed upload, whose earlier bytes are not included.
    var hash: SHA256?
    var count: Int64
  }
  private let progress: Mutex<Progress>

  init(
    _ blob: Blob, of owner: Party, as mediaType: String, _ claim: BlobClaim, _ writer: any BlobWriter,
    _ blobs: Blobs, _ parley: Parley
  ) {
    self.blob = blob
    self.owner = owner
    self.mediaType = mediaType
    self.claim = claim
    self.writer = writer
    self.blobs = blobs
    self.parley = parley
    let start = writer.start
    progress = Mutex(Progress(hash: start == 0 ? SHA256() : nil, count: start))
  }

  /// The number of bytes received.
  public var offset: Int64 { progress.withLock { $0.count } }

  /// Appends bytes. Returns when they are written, so that the caller holds only these.
  public func append(_ bytes: [UInt8]) async throws(Problem) {
    let isOurs = try await blobs.run { [self] () throws(BlobFailure) in
      try claim.write { () throws(BlobFailure) in
        let count = progress.withLock { $0.count + Int64(bytes.count) }
        if count <= blob.size { try writer.append(bytes) }
        progress.withLock { progress in
          progress.count = count
          bytes.withUnsafeBytes { progress.hash?.update(bufferPointer: $0) }
        }
      }
    }
    guard isOurs else { throw .blobTaken }
    if offset > blob.size { throw Self.wrongLength }
  }

  /// Inspects the file, and returns when bytes and slot are durable: now the client may be told.
  ///
  /// - Parameter past: the time at which another server took the file, if it came from there.
  public func finish(past: Timestamp? = nil) async throws(Problem) -> Blob {
    do throws(Problem) {
      let stored = try await complete(past)
      parley.metrics.uploads.add(.stored)
      parley.metrics.uploadBytes.add(Int(clamping: stored.size))
      return stored
    } catch {
      parley.metrics.uploads.add(error.code == Problem.blobRefused.code ? .refused : .failed)
      throw error
    }
  }

  private func complete(_ past: Timestamp?) async throws(Problem) -> Blob {
    guard offset == blob.size else { throw Self.wrongLength }
    guard claim.beginFinishing() else { throw .blobTaken }
    let hash = try await digest()
    if let wanted = blob.sha256, wanted != hash {
      await discard()
      throw Problem(.foreign, "hash-mismatch", "The file is not the one whose sha256 was announced. Send it again.")
    }
    try await scan(hash)
    var findings = try await inspect(hash)
    findings.past = past
    try await blobs.finish(writer, sha256: hash)
    let receipt = try await parley.post(.blob(.stored(blob.id, findings)), by: owner)
    guard let stored = receipt.value as? Blob else { throw Problem.storage }
    blobs.store.settle(BlobName(blob.id))
    blobs.release(blob.id, claim)
    return stored
  }

  private func digest() async throws(Problem) -> [UInt8] {
    if let hash = progress.withLock({ $0.hash }) { return Array(hash.finalize()) }
    let (writer, size) = (writer, blob.size)
    return try await blobs.run { () throws(BlobFailure) in
      var hash = SHA256()
      var place: Int64 = 0
      while place < size {
        let bytes = try writer.read(at: place, count: Int(min(size - place, Int64(Limits.inspectedBytes))))
        if bytes.isEmpty { throw BlobFailure(isFull: false, "an upload is shorter than it was") }
        bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
        place += Int64(bytes.count)
      }
      return Array(hash.finalize())
    }
  }

  private func scan(_ hash: [UInt8]) async throws(Problem) {
    let tools = blobs.policy.tools
    guard let scanner = tools.scanner else { return }
    let path = writer.path
    let verdict: ScanVerdict
    do throws(ScanFailure) {
      verdict = try await blobs.inspect(for: owner.id) { () throws(ScanFailure) in try scanner.scan(path) }
    } catch {
      parley.logger.error(
        "a file was not scanned", metadata: ["reason": "\(error)", "taken": "\(!tools.isScanNeeded)"])
      if !tools.isScanNeeded { return }
      throw Problem(.overloaded, "scan-unavailable", "Files cannot be scanned at the moment.", retryAfter: 60)
    }
    guard case .refused(let name) = verdict else { return }
    parley.logger.warning(
      "a file was refused", metadata: ["user": "\(owner.address)", "found": "\(name)", "file": "\(blob.id)"])
    await discard()
    try await parley.post(.blob(.refused(blob.id)), by: owner)
    throw .blobRefused
  }

  /// Detects the kind of image from the bytes. A file announced as an image that browsers show, but which is none, gets
  /// the unknown type.
  private func inspect(_ hash: [UInt8]) async throws(Problem) -> BlobFindings {
    var findings = BlobFindings(sha256: hash, mediaType: mediaType)
    guard mediaType.hasPrefix("image/") else { return findings }
    let writer = writer
    let head = try await blobs.run { () throws(BlobFailure) in try writer.read(at: 0, count: Limits.inspectedBytes) }
    guard let found = Avatar.imageType(head) else {
      if Avatar.imageTypes.contains(mediaType) { findings.mediaType = MediaType.unknown }
      return findings
    }
    findings.mediaType = found
    findings.size = ImageSize(of: head)
    guard let size = findings.size, let small = await thumbnail(of: size) else { return findings }
    do throws(Problem) {
      let (store, name) = (blobs.store, BlobName(blob.id, .thumbnail))
      try await blobs.run { () throws(BlobFailure) in
        let writer = try store.begin(name, size: Int64(small.count))
        try writer.append(small)
        try writer.finish(sha256: Array(SHA256.hash(data: small)))
      }
    } catch {
      parley.logger.error("a thumbnail was not stored", metadata: ["reason": "\(error.text)"])
      return findings
    }
    findings.thumbnail = ImageSize(of: small)
    // The orientation of a photo is stored beside the pixels; the thumbnail is upright.
    if let turned = findings.thumbnail,
      size.width > size.height && turned.width < turned.height
        || size.width < size.height && turned.width > turned.height
    {
      findings.size = ImageSize(width: size.height, height: size.width)
    }
    return findings
  }

  private func thumbnail(of size: ImageSize) async -> [UInt8]? {
    guard let pictures = blobs.policy.tools.pictures, blob.size <= Limits.pictureBytesMax,
      size.width * size.height <= Limits.picturePixelsMax,
      max(size.width, size.height) > Limits.thumbnailSide || blob.size > Limits.unshrunkBytesMax
    else { return nil }
    let path = writer.path
    let small = await blobs.inspect(for: owner.id) { () throws(Never) in
      pictures.shrunk(.file(path), side: Limits.thumbnailSide, as: .jpeg)
    }
    return small.flatMap { $0.count <= Limits.thumbnailBytesMax ? $0 : nil }
  }

  /// Removes the bytes; the slot can be filled again until it ends.
  private func discard() async {
    let (writer, store, name) = (writer, blobs.store, BlobName(blob.id))
    try? await blobs.run { () throws(BlobFailure) in
      writer.cancel()
      try store.remove(name)
    }
    blobs.release(blob.id, claim)
  }

  /// Cancels a new upload, removing its bytes; the slot can be filled again until it ends.
  public func cancel() async {
    let writer = writer
    try? await blobs.run { writer.cancel() }
    blobs.release(blob.id, claim)
  }

  /// Keeps the received bytes, so that the upload can be resumed.
  /// - Returns: the number of durable bytes.
  @discardableResult
  public func suspend() async throws(Problem) -> Int64 {
    let writer = writer
    defer { blobs.release(blob.id, claim) }
    return try await blobs.run { () throws(BlobFailure) in try writer.suspend() }
  }

  static let wrongLength = Problem(
    .malformed, "length-mismatch", "The file has not as many bytes as the slot was asked for.")
}

/// The progress of an upload.
public struct BlobProgress: Hashable, Sendable {
  /// The durable bytes, and the expected ones.
  public let offset: Int64
  public let length: Int64
  public let isComplete: Bool
  /// The seconds until the slot ends; `nil` if it is filled.
  public let seconds: Int?
}
