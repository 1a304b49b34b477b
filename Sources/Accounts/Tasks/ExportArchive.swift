import Basics
import Crypto
public import Dialogs
import Synchronization

/// An archive that is being written: a tar file (POSIX.1-1988, ustar), which every system opens, and which can be
/// written sequentially without knowing its size.
public final class ExportArchive: Sendable {
  private struct Progress {
    var hash = SHA256()
    var size: Int64 = 0
    var othersBytes: Int64 = 0
    var leftOut = 0
  }
  private let blobs: Blobs
  private let writer: any BlobWriter
  private let time: Timestamp
  private let othersBytesMax: Int64
  private let progress = Mutex(Progress())

  init(_ blobs: Blobs, _ writer: any BlobWriter, time: Timestamp) {
    self.blobs = blobs
    self.writer = writer
    self.time = time
    // All exports that are being made together take no more than those that are kept.
    let share = AccountLimits.exportsDiskShare * Int64(AccountLimits.exportsAtOnce)
    othersBytesMax = min(AccountLimits.exportOthersBytesMax, max(0, blobs.store.room) / share)
  }

  /// Returns whether the export has room for a message of another user that takes `count` bytes. Once it has refused one, it refuses
  /// all later ones, so that the conversations have no gaps before that point. The user's own messages are always added.
  public func admits(othersBytes count: Int) -> Bool {
    progress.withLock { progress in
      guard progress.leftOut == 0, progress.othersBytes + Int64(count) <= othersBytesMax else {
        progress.leftOut += 1
        return false
      }
      progress.othersBytes += Int64(count)
      return true
    }
  }

  /// Adds a file that says how many messages are left out, if any are. Returns whether none is.
  func addOmissions() async throws(Problem) -> Bool {
    let (leftOut, bytes) = progress.withLock { ($0.leftOut, $0.othersBytes) }
    if leftOut == 0 { return true }
    let text = """
      This archive is incomplete: it contains \(bytes) bytes of messages of other users, and \(leftOut) further ones \
      are left out, as there is a bound. All messages of the user are in it.

      """
    try await add("incomplete.txt", Array(text.utf8))
    return false
  }

  /// Adds a complete file.
  public func add(_ name: String, _ bytes: [UInt8]) async throws(Problem) {
    let padding = (512 - bytes.count % 512) % 512
    // One after the other: a file is in memory once.
    try await append(Self.header(name, size: bytes.count, time: time))
    try await append(bytes)
    try await append([UInt8](repeating: 0, count: padding))
  }

  /// Adds lines, as files of about `AccountLimits.exportPartBytes` each: `name-1.jsonl` and so on. `next` returns
  /// further lines, or `nil` at the end.
  public func addLines(
    _ name: String, _ next: () async throws(Problem) -> [[UInt8]]?
  ) async throws(Problem) {
    var part: [UInt8] = []
    var number = 1
    while let lines = try await next() {
      for line in lines {
        part += line
        part.append(UInt8(ascii: "\n"))
      }
      if part.count < AccountLimits.exportPartBytes { continue }
      try await add("\(name)-\(number).jsonl", part)
      part.removeAll(keepingCapacity: true)
      number += 1
    }
    if number == 1 || !part.isEmpty { try await add("\(name)-\(number).jsonl", part) }
  }

  func end() async throws(Problem) -> (size: Int64, sha256: [UInt8]) {
    try await append([UInt8](repeating: 0, count: 1_024))
    let writer = writer
    let (size, sha256) = progress.withLock { ($0.size, Array($0.hash.finalize())) }
    try await blobs.run { () throws(BlobFailure) in try writer.finish(sha256: sha256) }
    return (size, sha256)
  }

  func cancel() async {
    let writer = writer
    try? await blobs.run { writer.cancel() }
  }

  private func append(_ bytes: [UInt8]) async throws(Problem) {
    guard blobs.store.room >= Int64(bytes.count) else { throw .blobsFull }
    try await blobs.run { [self] () throws(BlobFailure) in
      progress.withLock { progress in
        progress.size += Int64(bytes.count)
        bytes.withUnsafeBytes { progress.hash.update(bufferPointer: $0) }
      }
      try writer.append(bytes)
    }
  }

  /// Returns a header. Fields: name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1, link 100, magic
  /// 6, version 2.
  static func header(_ name: String, size: Int, time: Timestamp) -> [UInt8] {
    var block = [UInt8](repeating: 0, count: 512)
    func put(_ text: String, at place: Int) {
      for (index, byte) in text.utf8.enumerated() { block[place + index] = byte }
    }
    func octal(_ value: Int64, _ digits: Int) -> String {
      let text = String(value, radix: 8)
      return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
    precondition(name.utf8.count < 100, "a file's name in an archive is one of ours")
    put(name, at: 0)
    put(octal(0o600, 7), at: 100)
    put(octal(0, 7), at: 108)
    put(octal(0, 7), at: 116)
    put(octal(Int64(size), 11), at: 124)
    put(octal(time.milliseconds / 1_000, 11), at: 136)
    // The checksum is computed with blanks in its own place.
    put("        ", at: 148)
    put("0", at: 156)
    put("ustar", at: 257)
    put("00", at: 263)
    let sum = block.reduce(Int64(0)) { $0 + Int64($1) }
    put(octal(sum, 6), at: 148)
    block[154] = 0
    return block
  }
}
