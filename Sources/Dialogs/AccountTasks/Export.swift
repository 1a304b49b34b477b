import Addresses
public import Basics
import Crypto
import Synchronization

/// One way of writing what is a user's own: each is a part of the archive. Those who know a format make one.
public protocol ExportForm: Sendable {
  /// Writes its files, from one snapshot after the other: what is said meanwhile may be in it or not.
  func write(_ user: User, _ parley: Parley, into archive: ExportArchive) async throws(Problem)
}

/// An archive that is being written: a tar file (POSIX.1-1988, ustar), which every system opens, and which is written from its
/// beginning to its end without knowing its size.
public final class ExportArchive: Sendable {
  private struct Progress {
    var hash = SHA256()
    var size: Int64 = 0
  }
  private let blobs: Blobs
  private let writer: any BlobWriter
  private let time: Timestamp
  private let progress = Mutex(Progress())

  init(_ blobs: Blobs, _ writer: any BlobWriter, time: Timestamp) {
    self.blobs = blobs
    self.writer = writer
    self.time = time
  }

  /// One file, whole.
  public func add(_ name: String, _ bytes: [UInt8]) async throws(Problem) {
    let padding = (512 - bytes.count % 512) % 512
    try await append(Self.header(name, size: bytes.count, time: time) + bytes + [UInt8](repeating: 0, count: padding))
  }

  /// Many lines, as files of about `Limits.exportPartBytes` each: `name-1.jsonl` and on. Returns what `next` has not given yet.
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
      if part.count < Limits.exportPartBytes { continue }
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

  /// Fields: name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1, link 100, magic 6, version 2.
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
    // The checksum counts with blanks in its own place.
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

extension Parley {
  /// Begins an export of all that is the user's.
  ///
  /// - Parameter isPaced: an operator's are not.
  /// - Returns: to be done with `finish(_:)`; one that is pending already.
  /// - Throws: `.unsupported` where no files are kept; `.tooFast`; `.forbidden` for guests.
  public func beginExport(of user: Party, isPaced: Bool = true) async throws(Problem) -> AccountTask {
    if isGuest(user.id) { throw Problem.guestLimited }
    guard blobs != nil else {
      throw Problem(.unsupported, "attachments-unsupported", "This server keeps no files, and an export is one.")
    }
    if let pending = try await exports(of: user.id).first(where: { $0.state == .pending }) { return pending }
    if isPaced { try pace(.export(user.id)) }
    let now = clock.now
    return try await work(keepingCaches: true) { writer in
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
    try await read { try $0.accountTasks(of: user).filter { $0.kind == .export } }
  }

  /// Where an export may be fetched by whoever knows it; nil: not yet, or no longer.
  public func exportURL(_ task: AccountTask) async throws(Problem) -> (url: String, expires: Timestamp?)? {
    guard let id = task.blob, let blobs, let blob = try await blob(id) else { return nil }
    return (blobs.policy.links.url(of: blob), blob.expiresAt)
  }

  /// Writes the archive anew, whatever a process before has written of it: that file is nobody's, and goes with the next start.
  func gather(_ task: AccountTask) async throws(Problem) {
    guard let blobs, let user = try await read({ try $0.user(task.user) }), user.state != .deleted else { return }
    let id = BlobID.random()
    let now = clock.now
    do throws(Problem) {
      let writer = try await blobs.run { () throws(BlobFailure) in try blobs.store.begin(BlobName(id), size: 0) }
      let archive = ExportArchive(blobs, writer, time: now)
      let made: (size: Int64, sha256: [UInt8])
      do throws(Problem) {
        for form in exportForms.all { try await form.write(user, self, into: archive) }
        made = try await archive.end()
      } catch {
        await archive.cancel()
        throw error
      }
      let ends = clock.now
      try await work(keepingCaches: true) { writer in
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
      let ends = clock.now
      try await work(keepingCaches: true) { writer in
        guard var failed = try writer.accountTask(task.id) else { return }
        failed.state = .failed
        failed.finishedAt = ends
        try writer.update(failed)
      }
      throw error
    }
  }
}

/// The parts of an export, as the process is put together.
public final class ExportForms: Sendable {
  private let forms = Mutex<[any ExportForm]>([])
  var all: [any ExportForm] { forms.withLock { $0 } }
  public func set(_ forms: [any ExportForm]) { self.forms.withLock { $0 = forms } }
}
