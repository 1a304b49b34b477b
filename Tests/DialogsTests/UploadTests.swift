import Basics
import Crypto
import DialogsFixtures
import Dispatch
import Logging
import Synchronization
import Testing

@testable import Dialogs

/// A store of files in memory, with what a process that died would leave.
private final class MemoryBlobs: BlobStore {
  struct Kept {
    var whole: [BlobName: [UInt8]] = [:]
    var parts: [BlobName: [UInt8]] = [:]
  }
  let kept = Mutex(Kept())
  let isRemote = false
  let room: Int64 = .max
  var unsettled: [BlobID] { kept.withLock { $0.parts.keys.map(\.id) } }

  func begin(_ name: BlobName, size: Int64) -> any BlobWriter {
    discard(name)
    return Writer(self, name, start: nil)
  }
  func resume(_ name: BlobName) -> any BlobWriter {
    Writer(self, name, start: kept.withLock { $0.parts[name] ?? [] })
  }
  /// What every reader gets in place of bytes.
  let failure = Mutex<BlobFailure?>(nil)
  func open(_ name: BlobName) throws(BlobFailure) -> (any BlobReader)? {
    if let failure = failure.withLock({ $0 }) { throw failure }
    return kept.withLock { $0.whole[name] }.map { Reader(bytes: $0) }
  }
  func remove(_ name: BlobName) {
    discard(name)
    kept.withLock { $0.whole[name] = nil }
  }
  func settle(_ name: BlobName) { discard(name) }
  private func discard(_ name: BlobName) { kept.withLock { $0.parts[name] = nil } }

  struct Reader: BlobReader {
    let bytes: [UInt8]
    func read(at offset: Int64, count: Int) -> [UInt8] { Array(bytes.dropFirst(Int(offset)).prefix(count)) }
  }

  final class Writer: BlobWriter {
    let path = "/dev/null"
    let start: Int64
    private let store: MemoryBlobs
    private let name: BlobName
    private let isResumed: Bool
    private let bytes: Mutex<[UInt8]>

    init(_ store: MemoryBlobs, _ name: BlobName, start: [UInt8]?) {
      self.store = store
      self.name = name
      isResumed = start != nil
      self.start = Int64(start?.count ?? 0)
      bytes = Mutex(start ?? [])
    }
    func read(at offset: Int64, count: Int) -> [UInt8] {
      bytes.withLock { Array($0.dropFirst(Int(offset)).prefix(count)) }
    }
    func append(_ more: [UInt8]) {
      bytes.withLock { $0 += more }
      keep()
    }
    private func keep() {
      guard isResumed else { return }
      let all = bytes.withLock { $0 }
      store.kept.withLock { $0.parts[name] = all }
    }
    func finish(sha256: [UInt8]) {
      let all = bytes.withLock { $0 }
      store.kept.withLock { $0.whole[name] = all }
    }
    func suspend() -> Int64 { bytes.withLock { Int64($0.count) } }
    func cancel() {}
  }
}

private struct Opinion: BlobScanner {
  let verdict: Result<ScanVerdict, ScanFailure>
  func scan(_ path: String) throws(ScanFailure) -> ScanVerdict { try verdict.get() }
}

@Suite struct UploadTests {
  private let bytes = Array("O happy dagger, this is thy sheath".utf8)

  private func scene(
    _ tools: BlobTools = BlobTools(), lifetime: Duration? = nil
  ) async throws -> (parley: Parley, romeo: Party, files: MemoryBlobs, stage: Stage) {
    let files = MemoryBlobs()
    let stage = try Stage(
      blobs: (BlobPolicy(links: BlobLinks(base: "https://files.example"), lifetime: lifetime, tools: tools), files))
    return (stage.parley, try await stage.user("romeo"), files, stage)
  }

  private func slot(
    _ parley: Parley, _ owner: Party, sha256: [UInt8]? = nil, isResumable: Bool = true, type: String = "text/plain"
  ) async throws -> (id: BlobID, key: String) {
    let receipt = try await parley.post(
      .blob(
        .request(
          BlobDraft(
            name: "a", mediaType: type, size: Int64(bytes.count), sha256: sha256, isResumable: isResumable))),
      by: owner)
    let blob = try #require(receipt.value as? Blob)
    let url = try #require(parley.blobs).uploadURL(of: blob)
    return (blob.id, String(url.split(separator: "=")[1]))
  }

  private func refusal(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch { return (error as? Problem)?.code ?? "\(error)" }
  }

  /// It names buckets, folders and keys.
  @Test func usersAreNotToldWhyTheStoreFails() async throws {
    let (parley, romeo, files, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo)
    let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    try await upload.append(bytes)
    _ = try await upload.finish()
    let reason = "the bucket b at https://s3.example answers with 403 to HEAD k"
    files.failure.withLock { $0 = BlobFailure(isFull: false, reason) }
    do throws(Problem) {
      _ = try await UserFiles(parley).open(id, .file, name: "a")
      Issue.record("It was opened.")
    } catch {
      #expect((error.kind, error.code) == (.internal, "blob-failed"))
      #expect(error.text == "The server cannot use its store of files at the moment." && error.reason == reason)
    }
  }

  @Test func aFileUploadedInPartsIsWholeInTheEnd() async throws {
    let (parley, romeo, files, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo, sha256: Array(SHA256.hash(data: bytes)))
    let first = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    try await first.append(Array(bytes[..<5]))
    #expect(try await first.suspend() == 5)
    let progress = try await UserFiles(parley).uploadProgress(id, key: key, name: "a")
    #expect((progress.offset, progress.length, progress.isComplete) == (5, Int64(bytes.count), false))
    let second = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    #expect(second.offset == 5)
    try await second.append(Array(bytes[5...]))
    let blob = try await second.finish()
    #expect(blob.sha256 == Array(SHA256.hash(data: bytes)))
    #expect(files.kept.withLock { $0.whole[BlobName(id)] == bytes && $0.parts.isEmpty })
    #expect(try await UserFiles(parley).uploadProgress(id, key: key, name: "a").isComplete)
    #expect(await refusal { _ = try await UserFiles(parley).resumeUpload(id, key: key, name: "a") } == "upload-taken")
  }

  @Test func aBackendIsAskedWithTheDescriptionOfAFileThatItsAuthorCanSend() async throws {
    let (parley, romeo, _, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo)
    func described(_ attachment: Dialogs.Attachment, isFromApp: Bool = true) async -> Content {
      await UserFiles(parley).described(
        BeforeSendQuestion(
          author: romeo, recipient: nil, room: nil, dialog: nil,
          content: Content(kind: .image, attachments: [attachment]),
          reference: nil, id: nil, isFromApp: isFromApp, due: nil, forward: nil))
    }
    // Its bytes have not come.
    let bare = Dialogs.Attachment(blob: id, url: "")
    #expect(await described(bare).attachments == [bare])
    let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    try await upload.append(bytes)
    _ = try await upload.finish()
    let url = "https://files.example/uploads/\(id)/a"
    for (attachment, isFromApp) in [(bare, true), (Dialogs.Attachment(blob: id, url: url), false)] {
      let content = await described(attachment, isFromApp: isFromApp)
      let file = try #require(content.attachments.first)
      #expect(file.blob == id && file.url == url && file.name == "a")
      #expect(file.mediaType == "text/plain" && file.size == Int64(bytes.count))
      // The kind is what an app says, and for XMPP that of the file.
      #expect(content.kind == (isFromApp ? .image : .file))
    }
    let elsewhere = Dialogs.Attachment(blob: nil, url: "https://else.example/a.png", name: "a.png")
    #expect(await described(elsewhere, isFromApp: false).attachments == [elsewhere])
  }

  /// The connection of the first is lost, and the server has not noticed yet.
  @Test func aReturningClientTakesTheUploadOver() async throws {
    let (parley, romeo, files, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo)
    let first = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    try await first.append(Array(bytes[..<5]))
    let second = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    #expect(second.offset == 5)
    #expect(await refusal { try await first.append([0]) } == "upload-taken")
    _ = try? await first.suspend()
    try await second.append(Array(bytes[5...]))
    _ = try await second.finish()
    #expect(files.kept.withLock { $0.whole[BlobName(id)] } == bytes)
  }

  @Test func anotherFileIsRefused() async throws {
    let (parley, romeo, files, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo, sha256: [UInt8](repeating: 0, count: 32), isResumable: false)
    let upload = try await UserFiles(parley).upload(
      id, key: key, name: "a", length: Int64(bytes.count), mediaType: "text/plain")
    try await upload.append(bytes)
    #expect(await refusal { _ = try await upload.finish() } == "hash-mismatch")
    #expect(files.kept.withLock { $0.whole.isEmpty })
    #expect(try await UserFiles(parley).find(id) == nil)
    // It can be tried again.
    let again = try await UserFiles(parley).upload(id, key: key, name: "a", length: Int64(bytes.count), mediaType: nil)
    await again.cancel()
    #expect(
      await refusal { _ = try await UserFiles(parley).resumeUpload(id, key: key, name: "a") } == "upload-not-resumable")
  }

  @Test func tooMuchIsNoFile() async throws {
    let (parley, romeo, _, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo)
    let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    #expect(await refusal { _ = try await upload.finish() } == "length-mismatch")
    try await upload.append(bytes)
    #expect(await refusal { try await upload.append([1]) } == "length-mismatch")
  }

  @Test func aFileThatAScannerRefusesIsGone() async throws {
    let (parley, romeo, files, stage) = try await scene(
      BlobTools(scanner: Opinion(verdict: .success(.refused("Dagger")))))
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo)
    let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    try await upload.append(bytes)
    #expect(await refusal { _ = try await upload.finish() } == "file-refused")
    #expect(files.kept.withLock { $0.whole.isEmpty && $0.parts.isEmpty })
    #expect(await refusal { _ = try await UserFiles(parley).resumeUpload(id, key: key, name: "a") } == "file-refused")
    #expect(try await UserFiles(parley).find(id) == nil)
    // It counts for the day.
    #expect(try await UserFiles(parley).use(of: romeo.id)?.use.recentBytes == Int64(bytes.count))
  }

  @Test func withoutAVerdictItIsTheOperatorsChoice() async throws {
    for isNeeded in [true, false] {
      let (parley, romeo, files, stage) = try await scene(
        BlobTools(scanner: Opinion(verdict: .failure(ScanFailure("asleep"))), isScanNeeded: isNeeded))
      defer { withExtendedLifetime(stage) {} }
      let (id, key) = try await slot(parley, romeo)
      let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
      try await upload.append(bytes)
      #expect(await refusal { _ = try await upload.finish() } == (isNeeded ? "scan-unavailable" : nil))
      #expect(files.kept.withLock { $0.whole.isEmpty } == isNeeded)
      guard isNeeded else { continue }
      // All of it is there: only the end has to be tried again.
      try await upload.suspend()
      #expect(try await UserFiles(parley).uploadProgress(id, key: key, name: "a").offset == Int64(bytes.count))
    }
  }

  @Test func anAbandonedUploadFreesTheSlotAndNotTheDaysQuota() async throws {
    let (parley, romeo, files, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (id, key) = try await slot(parley, romeo)
    let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
    try await upload.append(Array(bytes[..<5]))
    try await UserFiles(parley).cancelUpload(id, key: key, name: "a")
    #expect(files.kept.withLock { $0.parts.isEmpty })
    #expect(await refusal { try await upload.append([1]) } == "upload-taken")
    #expect(
      await refusal { _ = try await UserFiles(parley).uploadProgress(id, key: key, name: "a") } == "upload-unknown")
    let use = try await UserFiles(parley).use(of: romeo.id)?.use
    #expect(use?.awaited == 0 && use?.bytes == 0 && use?.recentBytes == Int64(bytes.count))
  }

  @Test func uploadsOfADeadProcessAreSettled() async throws {
    let (parley, romeo, files, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (waiting, _) = try await slot(parley, romeo)
    let (done, key) = try await slot(parley, romeo)
    let upload = try await UserFiles(parley).resumeUpload(done, key: key, name: "a")
    try await upload.append(bytes)
    _ = try await upload.finish()
    files.kept.withLock { kept in
      for id in [waiting, done, .random()] { kept.parts[BlobName(id)] = [1] }
    }
    try await UserFiles(parley).settle()
    #expect(files.unsettled == [waiting])
    #expect(files.kept.withLock { $0.whole[BlobName(done)] } == bytes)
  }

  private final class Inspections: Sendable {
    private let state = Mutex((underWay: 0, most: 0))
    var most: Int { state.withLock { $0.most } }
    func begin() {
      state.withLock {
        $0.underWay += 1
        $0.most = max($0.most, $0.underWay)
      }
    }
    func end() { state.withLock { $0.underWay -= 1 } }
  }

  /// A user's second file waits for the first, and those of others do not.
  @Test(.timeLimit(.minutes(1))) func oneFileOfAUserIsInspectedAtATime() async throws {
    let (parley, romeo, _, stage) = try await scene()
    defer { withExtendedLifetime(stage) {} }
    let (blobs, juliet) = (try #require(parley.blobs), try await stage.user("juliet"))
    let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let inspections = Inspections()
    await withTaskGroup(of: Void.self) { group in
      for _ in 1...Limits.inspectionsMax {
        group.addTask {
          await blobs.inspect(for: romeo.id) { () throws(Never) -> Void in
            inspections.begin()
            isBegun.yield()
            gate.wait()
            inspections.end()
          }
        }
      }
      for await _ in begun { break }
      let other = await blobs.inspect(for: juliet.id) { () throws(Never) -> Int in 7 }
      #expect(other == 7)
      for _ in 1...Limits.inspectionsMax { gate.signal() }
    }
    #expect(inspections.most == 1)
  }

  /// The bytes of a file determine its type, whatever was announced.
  @Test func picturesAreWhatTheyAre() async throws {
    let png: [UInt8] =
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 0, 7, 0, 0, 0, 5]
      + [8, 2, 0, 0, 0]
    for (announced, content, found) in [
      ("image/jpeg", png, "image/png"), ("image/png", Array("<script>".utf8), "application/octet-stream"),
      ("image/avif", Array("whatever".utf8), "image/avif"), ("text/plain", png, "text/plain"),
    ] {
      let (parley, romeo, _, stage) = try await scene()
      defer { withExtendedLifetime(stage) {} }
      let padded = content + [UInt8](repeating: 0, count: bytes.count - content.count)
      let (id, key) = try await slot(parley, romeo, type: announced)
      let upload = try await UserFiles(parley).resumeUpload(id, key: key, name: "a")
      try await upload.append(padded)
      let blob = try await upload.finish()
      #expect(blob.mediaType == found)
      #expect(blob.shape.width == (found == "image/png" ? 7 : nil))
    }
  }
  /// A file of another server is found by its former URL, is as old as it was there, and counts for its owner, but not for
  /// the owner's day.
  @Test func aFileMovesIn() async throws {
    let (parley, romeo, files, stage) = try await scene(lifetime: .seconds(100 * 86_400))
    let now = stage.clock.now
    let past = now + .seconds(-86_400 * 99)
    let id = try #require(BlobID(formerURL: "https://old.example:5281/file_share/Zt5bq0hn%2D/a%20rose.txt?x#y"))
    #expect(id == BlobID(former: "Zt5bq0hn-", name: "a rose.txt"))
    #expect(BlobID(formerURL: "/short/a.txt") == nil)
    func wish(_ id: BlobID, from time: Timestamp, size: Int? = nil) -> Intent {
      .imported(
        .file(
          ImportedFile(
            id: id, name: "a rose.txt", mediaType: "text/plain", size: Int64(size ?? bytes.count), time: time)))
    }
    #expect(try await !parley.post(wish(id, from: past), by: romeo).isRepeat)
    try await UserFiles(parley).takeImported(id, at: 0, Array(bytes[..<9]), from: past)
    // Broken off, and begun anew.
    #expect(try await !parley.post(wish(id, from: past), by: romeo).isRepeat)
    try await UserFiles(parley).takeImported(id, at: 0, Array(bytes[..<5]), from: past)
    #expect(
      await refusal { try await UserFiles(parley).takeImported(id, at: 7, Array(bytes[7...]), from: past) }
        == "offset-mismatch")
    try await UserFiles(parley).takeImported(id, at: 5, Array(bytes[5...]), from: past)
    #expect(try await parley.post(wish(id, from: past), by: romeo).isRepeat)

    let file = try #require(try await UserFiles(parley).open(formerPath: "/anywhere/Zt5bq0hn-/a%20rose.txt"))
    #expect((file.blob.createdAt, file.blob.expiresAt) == (past, now + .seconds(86_400)))
    #expect(try await file.read(at: 0, count: 99) == bytes)
    let use = try await parley.read { try $0.blobUse(of: romeo.id, at: now) }
    #expect((use.bytes, use.recentBytes) == (Int64(bytes.count), 0))

    // A message that links to it has it, for apps by its URL here; when it is retracted, the file goes as any other.
    let juliet = try await stage.user("juliet")
    let old = "https://old.example:5281/file_share/Zt5bq0hn%2D/a%20rose.txt"
    var content = Content(kind: .file, extras: Array("<body>\(old)</body>".utf8))
    content.attachments = [Attachment(blob: id, url: old), Attachment(blob: .random(), url: "https://else.example/a")]
    let said = try await parley.post(
      .imported(
        .message(
          ImportedMessage(
            time: past, peer: juliet.address, isInbound: false,
            draft: MessageDraft(
              to: juliet.address, content: content, envelope: Envelope(type: .chat, id: "1"), traits: [.archived],
              key: nil),
            isInArchive: (author: true, addressee: true), isOffline: false))), by: romeo)
    guard case .message(let message)? = said.entry?.fact else {
      Issue.record("no message")
      return
    }
    #expect(message.content.attachments.map(\.blob) == [id, nil])
    #expect(message.content.attachments[0].url == "https://files.example/uploads/\(id)/a%20rose.txt")
    #expect(message.content.attachments[0].size == Int64(bytes.count))
    #expect(message.content.attachments[1].url == "https://else.example/a")

    #expect(await refusal { try await parley.post(wish(id, from: past), by: juliet) } == "file-of-another")
    #expect(
      await refusal { try await parley.post(wish(.random(), from: now + .seconds(-86_400 * 101)), by: romeo) }
        == "file-expired")
    #expect(
      await refusal { try await parley.post(wish(.random(), from: past, size: 1 << 30), by: romeo) }
        == "blob-too-large")
    #expect(files.kept.withLock { $0.whole.count } == 1)
  }

  // MARK: Quotas

  /// A stage on which a user may keep 1,000 bytes, and add 3,000 a day.
  private func narrowStage(lifetime: Duration? = nil) throws -> Stage {
    let policy = BlobPolicy(
      links: BlobLinks(base: "https://files.example"), userBytesMax: 1_000, userDayBytesMax: 3_000, lifetime: lifetime)
    return try Stage(blobs: (policy, MemoryBlobs()))
  }

  private func request(_ size: Int64, isResumable: Bool = false) -> Intent {
    .blob(.request(BlobDraft(name: "a", mediaType: nil, size: size, isResumable: isResumable)))
  }

  @Test func theFilesOfAUserAreCountedOnce() async throws {
    let stage = try narrowStage()
    defer { withExtendedLifetime(stage) {} }
    let (parley, romeo, now) = (stage.parley, try await stage.user("romeo"), stage.clock.now)
    try await parley.post(request(100), by: romeo)
    // Nobody else writes such a row: it shows whether the files are counted.
    let hidden = Blob(
      id: .random(), realm: romeo.realm, owner: romeo.id, name: "a", mediaType: nil, size: 800, purpose: .message,
      state: .stored, createdAt: now, expiresAt: nil)
    try await parley.work(keepingCaches: true) { try $0.put(hidden) }
    for _ in 0..<4 { try await parley.post(request(200), by: romeo) }
    // Within a second of a count they are not counted again, and then before a refusal alone.
    #expect(await refusal { try await parley.post(request(101), by: romeo) } == "blob-quota")
    try await parley.post(request(50), by: romeo)
    stage.clock.set(now.milliseconds + 1_000)
    try await parley.post(request(1), by: romeo)
    #expect(await refusal { try await parley.post(request(50), by: romeo) } == "blob-quota")
    #expect(await refusal { try await parley.post(request(1), by: romeo) } == "blob-quota")
  }

  /// What is kept of the use gives and refuses slots as counting the files would, whatever has become of them.
  @Test func theKeptUseIsThatOfTheFiles() async throws {
    let stage = try narrowStage(lifetime: .seconds(40_000))
    let (parley, romeo) = (stage.parley, try await stage.user("romeo"))
    var random: UInt64 = 17
    func draw(_ count: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % count
    }
    let spans: [Int64] = [1_000, 20_000, 400_000, 5_000_000]
    var open: [BlobID] = []
    var (given, refused) = (0, 0)
    for step in 0..<400 {
      stage.clock.set(stage.clock.now.milliseconds + spans[draw(spans.count)])
      let now = stage.clock.now
      switch draw(4) {
      case 0 where !open.isEmpty:
        let id = open.remove(at: draw(open.count))
        let findings = BlobFindings(sha256: [1], mediaType: "text/plain")
        let ends: [BlobIntent] = [.stored(id, findings), .stored(id, findings), .refused(id), .cancelled(id)]
        try await parley.post(.blob(ends[draw(ends.count)]), by: romeo)
      case 1:
        let due = try await parley.read { try $0.dueBlobs(at: now, limit: 100) }
        try await parley.post(.blob(.swept(due)), by: Parley.nobody)
        open.removeAll { due.contains($0) }
      default:
        let (size, isResumable) = (Int64(1 + draw(300)), draw(3) == 0)
        let use = try await parley.read { try $0.blobUse(of: romeo.id, at: now) }
        let isFull =
          isResumable
          ? use.resumable >= Limits.resumableSlotsPerUserMax
          : use.awaited - use.resumable >= Limits.slotsPerUserMax
        let fits = !isFull && use.bytes + size <= 1_000 && use.recentBytes + size <= 3_000
        let receipt = try? await parley.post(request(size, isResumable: isResumable), by: romeo)
        #expect((receipt != nil) == fits, "step \(step)")
        if let blob = receipt?.value as? Blob { open.append(blob.id) }
        if fits { given += 1 } else { refused += 1 }
      }
    }
    #expect(given > 20 && refused > 20, "\(given) and \(refused)")
  }

  /// Whoever retracts a message with a file has its bytes back at once.
  @Test func aRetractedFileLeavesRoomAtOnce() async throws {
    let stage = try narrowStage()
    defer { withExtendedLifetime(stage) {} }
    let (parley, romeo, juliet) = (stage.parley, try await stage.user("romeo"), try await stage.user("juliet"))
    let blob = try #require(try await parley.post(request(900), by: romeo).value as? Blob)
    try await parley.post(.blob(.stored(blob.id, BlobFindings(sha256: [1], mediaType: "text/plain"))), by: romeo)
    #expect(await refusal { try await parley.post(request(101), by: romeo) } == "blob-quota")
    try await sendAndRetract(blob.id, by: romeo, to: juliet, parley)
    try await parley.post(request(1_000), by: romeo)
    #expect(await refusal { try await parley.post(request(1), by: romeo) } == "blob-quota")
  }

  /// An export counts only once the files are counted again: until then its end leaves no room either.
  @Test func aRetractedExportLeavesNoRoom() async throws {
    let stage = try narrowStage()
    defer { withExtendedLifetime(stage) {} }
    let (parley, romeo, juliet) = (stage.parley, try await stage.user("romeo"), try await stage.user("juliet"))
    try await parley.post(request(900), by: romeo)
    let now = stage.clock.now
    let export = Blob(
      id: .random(), realm: romeo.realm, owner: romeo.id, name: "export.tar", mediaType: nil, size: 500,
      purpose: .ephemeral, state: .stored, createdAt: now, expiresAt: now + .seconds(3_600))
    try await parley.work(keepingCaches: true) { try $0.put(export) }
    try await sendAndRetract(export.id, by: romeo, to: juliet, parley)
    #expect(try await parley.read { try $0.blob(export.id, .server(.rules))?.expiresAt } == now)
    #expect(await refusal { try await parley.post(request(101), by: romeo) } == "blob-quota")
  }

  /// Sends a message with a file, and retracts it.
  private func sendAndRetract(_ id: BlobID, by author: Party, to peer: Party, _ parley: Parley) async throws {
    var content = Content(kind: .file)
    content.attachments = [Dialogs.Attachment(blob: id, url: "https://files.example/a")]
    let said = try await parley.post(
      .message(
        MessageDraft(
          to: peer.address, content: content, envelope: Envelope(type: .chat),
          traits: [.counts, .archived, .fromApp], key: nil)), by: author)
    let entry = try #require(said.entry)
    let retraction = MessageDraft(
      to: peer.address, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: .fromApp, key: nil,
      reference: ReferenceDraft(kind: .retraction(reason: nil), target: .entry(entry.id)))
    try await parley.post(.message(retraction), by: author)
  }
}
