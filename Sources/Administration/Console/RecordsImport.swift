import Basics
package import ImportSources
import ServerConfiguration

/// An import from another server: accounts, then rooms and messages in the order of their time, then everything else. It reads
/// the source twice and sends batches; what is here already is passed over, so that it can be broken off and repeated.
package struct RecordsImport {
  private let source: any ImportSource
  private let takesHistory: Bool
  /// Draws the progress bar; nil without a terminal.
  private let show: ((String) -> Void)?
  /// Tells of one thing that was not taken.
  private let tell: (String) -> Void
  private let send: ([ImportRecord]) async throws -> [RowOutcome]

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
    package var rooms = Count()
    package var messages = Count()
    package var records = Count()
    /// The number of things in the source that could not be read.
    package var unreadable = 0
    /// The number of messages that link to a file (XEP-0066), which stays with the former server.
    package var links = 0

    package var failed: Int { accounts.failed + rooms.failed + messages.failed + records.failed + unreadable }

    package var text: String {
      func line(_ count: Count, _ noun: String) -> String {
        "\(ProgressBar.grouped(count.imported)) \(noun) imported, \(ProgressBar.grouped(count.present)) here already, "
          + "\(ProgressBar.grouped(count.failed)) failed"
      }
      let left = links == 0 ? [] : ["\(ProgressBar.grouped(links)) messages link to files, which stay where they are"]
      let counts = [
        line(accounts, "accounts"), line(rooms, "rooms"), line(messages, "messages"), line(records, "other records"),
        "\(ProgressBar.grouped(unreadable)) not readable",
      ]
      return (counts + left).joined(separator: "\n")
    }
  }

  /// The number of failures that a command prints.
  package static let failuresShown = AdminLimits.importErrorsShown

  package private(set) var report = Report()

  package init(
    _ source: any ImportSource, takesHistory: Bool, show: ((String) -> Void)?, tell: @escaping (String) -> Void,
    send: @escaping ([ImportRecord]) async throws -> [RowOutcome]
  ) {
    self.source = source
    self.takesHistory = takesHistory
    self.show = show
    self.tell = tell
    self.send = send
  }

  /// - Throws: The errors of `send`, and a `StartupError` if the source cannot be read any further; what was sent stays.
  package mutating func run() async throws {
    do {
      let stage = try HistoryStage()
      try await accounts(into: stage)
      try await history(stage)
      try await settings()
    } catch let failure as SourceFailure {
      throw StartupError("\(failure). What stands before it was imported; the import can be repeated.")
    }
  }

  private mutating func accounts(into stage: HistoryStage) async throws {
    var bar = ProgressBar("accounts")
    var batch = Batch()
    let reader = try source.reader(of: takesHistory ? [.accounts, .rooms, .copies] : [.accounts, .rooms])
    while let reading = try reader.next() {
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
    draw(&bar, report.accounts.all, 1)
  }

  private mutating func history(_ stage: HistoryStage) async throws {
    guard stage.count > 0 else { return }
    var bar = ProgressBar("messages")
    var batch = Batch()
    while let (record, place) = try stage.next() {
      batch.add(record, place)
      guard batch.isFull else { continue }
      try await finish(&batch)
      let count = report.messages.all + report.rooms.all
      // Copies are counted before they become messages, so the end may come early.
      draw(&bar, count, min(Double(count) / Double(stage.count), 0.999))
    }
    try await finish(&batch)
    draw(&bar, report.messages.all + report.rooms.all, 1)
  }

  private mutating func settings() async throws {
    var bar = ProgressBar("records")
    var batch = Batch()
    let reader = try source.reader(of: .settings)
    while let reading = try reader.next() {
      switch reading {
      case .flaw(let place, let text): unreadable(place, text)
      case .record(let record, let place):
        batch.add(record, place)
        if batch.isFull { try await finish(&batch) }
      }
      draw(&bar, report.records.all, min(reader.fraction, 0.999))
    }
    try await finish(&batch)
    draw(&bar, report.records.all, 1)
  }

  /// Records that are sent together.
  private struct Batch {
    var records: [ImportRecord] = []
    var places: [Place] = []
    private var bytes = 0

    var isFull: Bool { records.count == AdminLimits.importBatchRows || bytes >= AdminLimits.importBatchBytes }

    mutating func add(_ record: ImportRecord, _ place: Place) {
      records.append(record)
      places.append(place)
      switch record {
      case .vCard(let record), .privateXML(let record): bytes += record.xml.utf8.count
      case .item(let item): bytes += item.payload?.utf8.count ?? 0
      case .message(let message): bytes += message.xml.utf8.count
      case .roomMessage(let message): bytes += message.xml.utf8.count
      case .account, .contact, .request, .node, .block, .copy, .room, .roomPerson, .contactGroup: bytes += 256
      }
    }
  }

  private mutating func finish(_ batch: inout Batch) async throws {
    if batch.records.isEmpty { return }
    let outcomes = try await send(batch.records)
    for ((record, place), outcome) in zip(zip(batch.records, batch.places), outcomes) {
      report.count(record, outcome.status)
      if outcome.status == .failed {
        tell("\(Line.safe(place.description)): \(Line.safe(outcome.reason ?? "it could not be imported"))")
      }
    }
    batch = Batch()
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
    case .room: rooms.add(status)
    case .message(let message): count(message: message.xml, status)
    case .roomMessage(let message): count(message: message.xml, status)
    case .contact, .request, .vCard, .privateXML, .node, .item, .block, .copy, .roomPerson, .contactGroup:
      records.add(status)
    }
  }

  private mutating func count(message xml: String, _ status: RowOutcome.Status) {
    messages.add(status)
    if status == .done, xml.contains("jabber:x:oob") { links += 1 }
  }
}
