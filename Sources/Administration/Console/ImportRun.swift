import Basics
import ServerConfiguration

/// An import that reads a CSV file in batches, reports progress and collects errors with their line numbers.
package struct ImportRun {
  /// The plural noun of the counted items, such as `users`.
  private let noun: String
  private let path: String
  private let skipsExisting: Bool
  /// Draws the progress bar; nil without a terminal.
  private let show: ((String) -> Void)?
  /// Prints one error.
  private let tell: (String) -> Void

  package private(set) var done = 0
  package private(set) var skipped = 0
  package private(set) var failed = 0

  package init(
    _ noun: String, path: String, skipsExisting: Bool, show: ((String) -> Void)?, tell: @escaping (String) -> Void
  ) {
    self.noun = noun
    self.path = path
    self.skipsExisting = skipsExisting
    self.show = show
    self.tell = tell
  }

  /// Runs the import.
  ///
  /// - Throws: The errors of `batch`, and a `StartupError` if the file cannot be read any further; completed batches
  ///   stay.
  package mutating func run(
    required: [String], optional: [String],
    batch: ([CSVTable.Record]) async throws -> [RowOutcome]
  ) async throws {
    let input: InputFile
    do throws(StartupError) { input = try InputFile(path) } catch {
      let columns = (required + optional).joined(separator: ", ")
      throw StartupError("\(error.lines.joined(separator: "; ")); a CSV file with the columns \(columns) is expected")
    }
    if path == "-", Terminal.inputIsTerminal {
      let columns = (required + optional).joined(separator: ",")
      Terminal.note(
        "Type the table with the columns \(columns), named by its first line; Control-D in an empty line ends it.")
    }
    var bar = ProgressBar(noun)
    do {
      var table = try CSVTable(
        CSVReader { () throws(Files.Failure) -> [UInt8] in try input.next() }, required: required, optional: optional)
      var rows: [Result<CSVTable.Record, CSVReader.Flaw>] = []
      while let next = try table.next() {
        rows.append(next)
        if rows.count == AdminLimits.importBatchRows {
          try await finish(&rows, batch)
          // The final state is drawn once, below.
          let fraction = input.size.map { Double(table.bytesRead) / Double($0) } ?? 0
          draw(bar.update(done: done + skipped, fraction: min(fraction, 0.999)))
        }
      }
      try await finish(&rows, batch)
      draw(bar.update(done: done + skipped, fraction: 1))
    } catch let flaw as CSVReader.Flaw {
      throw StartupError("\(path), line \(flaw.line): \(flaw.text)\(soFar)")
    } catch let failure as Files.Failure {
      throw StartupError("\(path) cannot be read: \(failure.reason)\(soFar)")
    }
  }

  private var soFar: String {
    done > 0 ? "; imported before it: \(ProgressBar.counted(done, noun))" : "; nothing was imported"
  }

  private mutating func finish(
    _ rows: inout [Result<CSVTable.Record, CSVReader.Flaw>], _ batch: ([CSVTable.Record]) async throws -> [RowOutcome]
  ) async throws {
    let records = rows.compactMap { try? $0.get() }
    var outcomes = records.isEmpty ? [] : try await batch(records)[...]
    // Errors of syntax and of content are reported together in the order of the file.
    for row in rows {
      switch row {
      case .failure(let flaw): fail(flaw.line, flaw.text)
      case .success(let record):
        let outcome = outcomes.popFirst() ?? RowOutcome(.failed)
        switch outcome.status {
        case .done: done += 1
        case .exists where skipsExisting: skipped += 1
        case .exists, .failed: fail(record.line, outcome.reason ?? "it could not be imported")
        }
      }
    }
    rows.removeAll(keepingCapacity: true)
  }

  private mutating func fail(_ line: Int, _ text: String) {
    failed += 1
    if failed <= AdminLimits.importErrorsShown { tell("line \(line): \(Line.safe(text))") }
    if failed == AdminLimits.importErrorsShown { tell("further errors are only counted") }
  }

  private mutating func draw(_ text: String?) {
    if let text { show?(text) }
  }

  /// The summary, such as `9,990 users imported, 5 skipped, 5 failed`.
  package var summary: String {
    var parts = ["\(ProgressBar.counted(done, noun)) imported"]
    if skipped > 0 { parts.append("\(ProgressBar.grouped(skipped)) skipped") }
    if failed > 0 { parts.append("\(ProgressBar.grouped(failed)) failed") }
    return parts.joined(separator: ", ")
  }

  /// Whether the file had nothing to import.
  package var isEmpty: Bool { done + skipped + failed == 0 }

  /// The summary for programs.
  package struct Report: Codable, Sendable {
    package let imported: Int
    package let skipped: Int
    package let failed: Int
  }

  package var report: Report { Report(imported: done, skipped: skipped, failed: failed) }
}
