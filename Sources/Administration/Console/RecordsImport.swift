import Basics
package import ImportSources
import ServerConfiguration

/// An import from another server: accounts, then messages in the order of their time, then everything else. It reads
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
    package var messages = Count()
    package var records = Count()
    /// The number of things in the source that could not be read.
    package var unreadable = 0

    package var failed: Int { accounts.failed + messages.failed + records.failed + unreadable }

    package var text: String {
      func line(_ count: Count, _ noun: String) -> String {
        "\(ProgressBar.grouped(count.imported)) \(noun) imported, \(ProgressBar.grouped(count.present)) here already, "
          + "\(ProgressBar.grouped(count.failed)) failed"
      }
      return [
        line(accounts, "accounts"), line(messages, "messages"), line(records, "other records"),
        "\(ProgressBar.grouped(unreadable)) not readable",
      ].joined(separator: "\n")
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
    let reader = try source.reader(of: takesHistory ? [.accounts, .copies] : .accounts)
    while let reading = try reader.next() {
      switch reading {
      case .flaw(let place, let text): unreadable(place, text)
      case .record(.copy(let copy), let place): try stage.add(copy, place)
      case .record(let record, let place):
        batch.add(record, place)
        if batch.isFull { try await finish(&batch, \.accounts) }
      }
      draw(&bar, report.accounts, min(reader.fraction, 0.999))
    }
    try await finish(&batch, \.accounts)
    draw(&bar, report.accounts, 1)
  }

  private mutating func history(_ stage: HistoryStage) async throws {
    guard stage.count > 0 else { return }
    var bar = ProgressBar("messages")
    var batch = Batch()
    while let (message, place) = try stage.next() {
      batch.add(.message(message), place)
      guard batch.isFull else { continue }
      try await finish(&batch, \.messages)
      let count = report.messages
      // Copies are counted before they become messages, so the end may come early.
      draw(
        &bar, count, min(Double(count.imported + count.present + count.failed) / Double(stage.count), 0.999))
    }
    try await finish(&batch, \.messages)
    draw(&bar, report.messages, 1)
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
        if batch.isFull { try await finish(&batch, \.records) }
      }
      draw(&bar, report.records, min(reader.fraction, 0.999))
    }
    try await finish(&batch, \.records)
    draw(&bar, report.records, 1)
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
      case .account, .contact, .request, .node, .block, .copy: bytes += 256
      }
    }
  }

  private mutating func finish(_ batch: inout Batch, _ count: WritableKeyPath<Report, Count>) async throws {
    if batch.records.isEmpty { return }
    let outcomes = try await send(batch.records)
    for (place, outcome) in zip(batch.places, outcomes) {
      switch outcome.status {
      case .done: report[keyPath: count].imported += 1
      case .exists: report[keyPath: count].present += 1
      case .failed:
        report[keyPath: count].failed += 1
        tell("\(Line.safe(place.description)): \(Line.safe(outcome.reason ?? "it could not be imported"))")
      }
    }
    batch = Batch()
  }

  private mutating func unreadable(_ place: Place, _ text: String) {
    report.unreadable += 1
    tell("\(Line.safe(place.description)): \(Line.safe(text))")
  }

  private func draw(_ bar: inout ProgressBar, _ count: Count, _ fraction: Double) {
    guard let show else { return }
    if let text = bar.update(done: count.imported + count.present + count.failed, fraction: fraction) { show(text) }
  }
}
