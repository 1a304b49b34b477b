import Addresses
package import Dialogs

/// What users of a domain have reported (XEP-0377), without what was quoted.
package enum ListReports: AdminOperation {
  package static let name = "reports.list"

  package struct Input: Codable, Sendable {
    /// nil: the first.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package typealias Output = [ReportRow]

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [ReportRow] {
    let reports = try await context.parley.reports(in: try context.realm(input.domain).id)
    return try await context.parley.read { reader in try reports.map { try ReportRow($0, reader) } }
  }
}

/// A report as operators see it in a list.
package struct ReportRow: Codable, Hashable, Sendable {
  package let id: Int64
  package let reporter: String
  package let reported: String
  /// `spam`, `abuse`, or a URN.
  package let reason: String
  package let text: String
  package let messages: Int
  package let createdAt: String

  init(_ report: Report, _ reader: any StoreReader) throws {
    id = report.id
    reporter = try reader.party(report.reporter)?.address.description ?? ""
    reported = report.reported
    switch report.reason {
    case "urn:xmpp:reporting:spam": reason = "spam"
    case "urn:xmpp:reporting:abuse": reason = "abuse"
    default: reason = report.reason
    }
    text = report.text
    messages = report.messages.count
    createdAt = Moment.text(report.createdAt)
  }
}
