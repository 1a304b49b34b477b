import Basics
package import Dialogs

/// Ends an import, so that the audit has what it has taken. Where the importing process was killed there is no end, and the
/// beginning stands alone.
package enum EndImport: AdminOperation {
  package static let name = "records.import.end"

  package struct Input: Codable, Sendable {
    let source: String
    let report: RecordsImport.Report
    /// Whether the source was not read to its end.
    let isBrokenOff: Bool
    package init(source: String, report: RecordsImport.Report, isBrokenOff: Bool) {
      self.source = source
      self.report = report
      self.isBrokenOff = isBrokenOff
    }
  }

  package typealias Output = Empty

  /// The source comes last: its path may be long, and the audit cuts what is.
  package static func object(of input: Input) -> String {
    "\(input.isBrokenOff ? "broken off after " : "")\(input.report.line), of \(Line.safe(input.source))"
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    if let actor = context.actor { context.imports.end(OpenImports.Key(actor: actor, source: input.source)) }
    return Empty()
  }
}
