import Basics
import Dialogs
import Glibc
package import ImportSources
import ServerConfiguration

/// An import from another server: accounts, then files, then rooms and messages in the order of their time, then everything
/// else. It reads the source once for each and sends batches; what is here already is passed over, so that it can be
/// broken off and repeated.
package struct RecordsImport {
  private let source: any ImportSource
  /// The name of the source in the audit.
  private let name: String
  private let takesHistory: Bool
  /// Draws the progress bar; nil without a terminal.
  private let show: ((String) -> Void)?
  /// Tells of one thing that was not taken.
  private let tell: (String) -> Void
  private let send: @Sendable ([ImportRecord]) async throws -> [RowOutcome]
  /// The batch that is on its way, while the next one is read: committing takes about as long as reading.
  private var sent: (batch: Batch, outcomes: Task<[RowOutcome], any Error>)?
  /// Sends a piece of a file; nil on a dry run, which does not read their content.
  private let sendPiece: ((ImportFile.Input) async throws -> RowOutcome)?
  /// Whether the import is to be broken off.
  private let isInterrupted: () -> Bool
  /// The files that are here, by the first halves of their ids.
  private var files: Set<UInt64> = []
  /// The records of domains that are not served here, by the reason, with the place of the first one.
  private var foreign: [String: (first: Place, count: Int)] = [:]

  /// The outcome of one kind of records.
  package struct Count: Codable, Hashable, Sendable {
    /// The number of those that were taken now.
    package var imported = 0
    /// The number of those that were here already.
    package var present = 0
    /// The number of those that were not taken; each is told with its place and reason.
    package var failed = 0
  }

  package struct Report: Codable, Hashable, Sendable {
    package var accounts = Count()
    package var files = Count()
    package var rooms = Count()
    package var messages = Count()
    package var records = Count()
    /// The number of things in the source that could not be read.
    package var unreadable = 0
    /// The number of files that are older than files get here, which are left out.
    package var expiredFiles = 0
    /// The number of messages that link to a file (XEP-0066) which has not come.
    package var links = 0
    /// The number of those that were here already, or were brought before, and are not as the source has them; each is
    /// reported.
    package var kept = 0
    /// The number of imported passwords that are shorter than users may choose; keys of passwords do not show it.
    package var shortPasswords = 0

    package init() {}

    /// Whether the source had nothing at all.
    package var isEmpty: Bool { self == RecordsImport.Report() }

    package var failed: Int {
      accounts.failed + files.failed + rooms.failed + messages.failed + records.failed + unreadable
    }

    /// The counts without those of what was here already.
    package var line: String {
      let taken = [(accounts, "accounts"), (files, "files"), (rooms, "rooms"), (messages, "messages")]
        .map { ProgressBar.counted($0.imported, $1) }
      return taken.joined(separator: ", ")
        + " and \(ProgressBar.counted(records.imported, "other records")); \(failed) failed"
    }

    package var text: String {
      func line(_ count: Count, _ noun: String) -> String {
        "\(ProgressBar.counted(count.imported, noun)) imported, \(ProgressBar.grouped(count.present)) already present"
          + ", \(ProgressBar.grouped(count.failed)) failed"
      }
      var left: [String] = []
      if expiredFiles > 0 {
        left.append("not imported, as older than uploads.days: \(ProgressBar.counted(expiredFiles, "files"))")
      }
      if kept > 0 { left.append("not imported, as changed or removed here: \(ProgressBar.counted(kept, "records"))") }
      if links > 0 { left.append("with a link to a file not imported: \(ProgressBar.counted(links, "messages"))") }
      let counts = [
        line(accounts, "accounts"), line(files, "files"), line(rooms, "rooms"), line(messages, "messages"),
        line(records, "other records"),
        "\(ProgressBar.grouped(unreadable)) not readable",
      ]
      return (counts + left).joined(separator: "\n")
    }
  }

  /// The number of failures that a command prints.
  package static let failuresShown = AdminLimits.importErrorsShown

  package private(set) var report = Report()

  package init(
    _ source: any ImportSource, name: String, takesHistory: Bool, show: ((String) -> Void)?,
    tell: @escaping (String) -> Void,
    send: @escaping @Sendable ([ImportRecord]) async throws -> [RowOutcome],
    sendPiece: ((ImportFile.Input) async throws -> RowOutcome)?, isInterrupted: @escaping () -> Bool
  ) {
    self.source = source
    self.name = name
    self.takesHistory = takesHistory
    self.show = show
    self.tell = tell
    self.send = send
    self.sendPiece = sendPiece
    self.isInterrupted = isInterrupted
  }

  /// - Throws: The errors of `send`, `Interrupted`, and a `StartupError` if the source cannot be read any further; what was sent
  ///   stays.
  package mutating func run() async throws {
    do {
      let stage = try HistoryStage()
      try await accounts(into: stage)
      if source.hasFiles { try await others(.files, "files", \.files) }
      try await history(stage)
      try await others(.settings, "records", \.records)
    } catch let failure as SourceFailure {
      try await settle()
      throw StartupError(failure.description)
    } catch let interrupted as Interrupted {
      try await settle()
      throw interrupted
    }
  }

  package struct Interrupted: Error {}

  /// A line for each domain in the source that is not served here, with the number of its records. They are not told one
  /// by one.
  package var unserved: [String] {
    foreign.sorted { $0.key < $1.key }.map { reason, found in
      let others = found.count == 1 ? "" : " and \(ProgressBar.counted(found.count - 1, "more records"))"
      return "\(Line.safe(found.first.description))\(others): \(Line.safe(reason))"
    }
  }

  private func goOn() throws {
    if isInterrupted() { throw Interrupted() }
  }

  private mutating func accounts(into stage: HistoryStage) async throws {
    var bar = ProgressBar("accounts")
    var batch = Batch()
    let reader = try source.reader(of: takesHistory ? [.accounts, .rooms, .copies] : [.accounts, .rooms])
    while let reading = try reader.next() {
      try goOn()
      switch reading {
      case .flaw(let place, let text): unreadable(place, text)
      case .record(.copy(let copy), let place): try stage.add(copy, place)
      case .record(.roomMessage(let message), let place): try stage.add(message, place)
      case .record(.room(let room), let place):
        if !stage.add(room, place) { unreadable(place, "these are too many rooms for one import") }
      case .record(let record, let place):
        batch.add(record, place)
        if batch.isFull { try await finish(&batch) }
      }
      draw(&bar, report.accounts.all, min(reader.fraction, 0.999))
    }
    try await finish(&batch)
    try await settle()
    draw(&bar, report.accounts.all, 1)
  }

  private mutating func history(_ stage: HistoryStage) async throws {
    guard stage.count > 0 else { return }
    var bar = ProgressBar("messages")
    var batch = Batch()
    while let (record, place) = try stage.next() {
      try goOn()
      batch.add(record, place)
      guard batch.isFull else { continue }
      try await finish(&batch)
      draw(&bar, report.messages.all + report.rooms.all, min(stage.fraction, 0.999))
    }
    try await finish(&batch)
    try await settle()
    draw(&bar, report.messages.all + report.rooms.all, 1)
  }

  private mutating func others(
    _ kinds: RecordKinds, _ noun: String, _ counted: KeyPath<Report, Count>
  ) async throws {
    var bar = ProgressBar(noun)
    var batch = Batch()
    let reader = try source.reader(of: kinds)
    while let reading = try reader.next() {
      try goOn()
      switch reading {
      case .flaw(let place, let text): unreadable(place, text)
      case .record(let record, let place):
        batch.add(record, place)
        if batch.isFull { try await finish(&batch) }
      }
      draw(&bar, report[keyPath: counted].all, min(reader.fraction, 0.999))
    }
    try await finish(&batch)
    try await settle()
    draw(&bar, report[keyPath: counted].all, 1)
  }

  /// Records that are sent together.
  private struct Batch {
    var records: [ImportRecord] = []
    var places: [Place] = []
    private var bytes = 0

    var isFull: Bool { records.count == AdminLimits.importBatchRecords || bytes >= AdminLimits.importBatchBytes }

    mutating func add(_ record: ImportRecord, _ place: Place) {
      records.append(record)
      places.append(place)
      switch record {
      case .vCard(let record), .privateXML(let record): bytes += record.xml.utf8.count
      case .item(let item): bytes += item.payload?.utf8.count ?? 0
      case .message(let message): bytes += message.xml.utf8.count
      case .roomMessage(let message): bytes += message.xml.utf8.count
      case .account, .contact, .request, .node, .block, .copy, .room, .roomPerson, .contactGroup, .file: bytes += 256
      }
    }
  }

  /// Sends a batch, when the one before it has arrived.
  private mutating func finish(_ batch: inout Batch) async throws {
    try await settle()
    if batch.records.isEmpty { return }
    let (records, send) = (batch.records, send)
    sent = (batch, Task { try await send(records) })
    batch = Batch()
  }

  /// Waits for the outcomes of the batch that is on its way.
  private mutating func settle() async throws {
    guard let (batch, task) = sent else { return }
    sent = nil
    let outcomes = try await task.value
    for (index, (record, place)) in zip(batch.records, batch.places).enumerated() where index < outcomes.count {
      var outcome = outcomes[index]
      if case .file(let file) = record {
        if outcome.status == .done, let sendPiece { outcome = try await sendBytes(file, place.file, sendPiece) }
        if outcome.code == Self.expired {
          report.expiredFiles += 1
          continue
        }
        if outcome.status != .failed, outcome.code != ImportRecords.kept { files.insert(file.id.value.high) }
      }
      report.count(record, outcome.status)
      if outcome.status == .done, case .account(let account) = record, let password = account.password,
        Passwords.flaw(of: password) != nil
      {
        report.shortPasswords += 1
      }
      if outcome.status == .done, let link = record.link {
        let isHere = BlobID(formerURL: link).map { files.contains($0.value.high) } ?? false
        if !isHere { report.links += 1 }
      }
      let isKept = outcome.code == ImportRecords.kept
      if isKept { report.kept += 1 }
      if outcome.code == ImportRecords.unserved, let reason = outcome.reason {
        foreign[reason, default: (record.named(at: place), 0)].count += 1
      } else if outcome.status == .failed || isKept {
        let named = record.named(at: place).description
        tell("\(Line.safe(named)): \(Line.safe(outcome.reason ?? "it could not be imported"))")
      }
    }
  }

  /// The code of the core for a file that is too old.
  private static let expired = "file-expired"

  /// Sends the bytes of a file, whose slot is there.
  private func sendBytes(
    _ file: FileRecord, _ path: String, _ sendPiece: (ImportFile.Input) async throws -> RowOutcome
  ) async throws -> RowOutcome {
    let bytes: SourceFile
    do throws(SourceFailure) { bytes = try SourceFile(path) } catch { return RowOutcome(.failed, error.text) }
    var offset: Int64 = 0
    repeat {
      try goOn()
      let piece: [UInt8]
      do throws(SourceFailure) { piece = try bytes.next(AdminLimits.importPieceBytes) } catch {
        return RowOutcome(.failed, error.text)
      }
      if piece.isEmpty { return RowOutcome(.failed, "the file is shorter than it was") }
      let outcome = try await sendPiece(ImportFile.Input(file: file, offset: offset, bytes: piece, source: name))
      if outcome.status == .failed { return outcome }
      offset += Int64(piece.count)
    } while offset < file.size
    return RowOutcome(.done)
  }

  private mutating func unreadable(_ place: Place, _ text: String) {
    report.unreadable += 1
    tell("\(Line.safe(place.description)): \(Line.safe(text))")
  }

  private func draw(_ bar: inout ProgressBar, _ done: Int, _ fraction: Double) {
    guard let show else { return }
    if let text = bar.update(done: done, fraction: fraction) { show(text) }
  }
}

extension RecordsImport.Count {
  fileprivate var all: Int { imported + present + failed }

  fileprivate mutating func add(_ status: RowOutcome.Status) {
    switch status {
    case .done: imported += 1
    case .exists: present += 1
    case .failed: failed += 1
    }
  }
}

extension RecordsImport.Report {
  fileprivate mutating func count(_ record: ImportRecord, _ status: RowOutcome.Status) {
    switch record {
    case .account: accounts.add(status)
    case .file: files.add(status)
    case .room: rooms.add(status)
    case .message, .roomMessage: messages.add(status)
    case .contact, .request, .vCard, .privateXML, .node, .item, .block, .copy, .roomPerson, .contactGroup:
      records.add(status)
    }
  }
}

extension ImportRecord {
  /// Returns the place of the record with the kind of the record, and with what tells it from others of its kind: the place
  /// alone may name no more than a user.
  fileprivate func named(at place: Place) -> Place {
    var place = place
    guard let key = place.key else {
      place.key = kind
      return place
    }
    // Some sources name the record themselves, in the same words.
    if !key.hasSuffix(kind) { place.key = "\(key), \(kind)" }
    return place
  }

  private var kind: String {
    switch self {
    case .account: "account"
    case .contact(let contact): "roster item \(contact.jid)"
    case .request(let request): "request of \(request.from)"
    case .vCard: "vCard"
    case .privateXML: "private data"
    case .node(let node): "node \(node.name)"
    case .item(let item): "node \(item.node), item \(item.id ?? "")"
    case .block: "blocks"
    case .copy, .message: "message"
    case .room: "room"
    case .roomPerson(let person): "affiliation of \(person.jid)"
    case .roomMessage: "message of a room"
    case .contactGroup(let group): "contact group \(group.name)"
    case .file(let file): "file \(file.name)"
    }
  }

  /// The URL of the file that a message links to (XEP-0066).
  fileprivate var link: String? {
    let xml: String
    switch self {
    case .message(let message): xml = message.xml
    case .roomMessage(let message): xml = message.xml
    case .account, .contact, .request, .vCard, .privateXML, .node, .item, .block, .copy, .room, .roomPerson,
      .contactGroup, .file:
      return nil
    }
    // Every message is searched, so this uses the C library.
    return xml.withCString { text in
      guard let file = strstr(text, "jabber:x:oob"), let tag = strstr(file, "<url>") else { return nil }
      let url = UnsafeRawPointer(tag + 5)
      return String(decoding: UnsafeRawBufferPointer(start: url, count: strcspn(tag + 5, "<")), as: UTF8.self)
    }
  }
}
