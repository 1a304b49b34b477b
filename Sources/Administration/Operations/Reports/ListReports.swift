import Addresses
import Basics
package import Dialogs
import HTTPPort

/// Lists the reports by users of a domain (XEP-0377), with the first of the quoted messages.
package enum ListReports: AdminOperation {
  package static let name = "reports.list"
  package static let routes = [
    AdminRoute(.get, "/reports", .reports)
  ]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  /// All reports (at most `Limits.reportsMax`), newest first.
  package typealias Output = AdminPage<ReportRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let reports = try await Reports(context.parley).all(in: try context.realm(input.domain).id)
    return Output(items: try await context.parley.read { reader in try reports.map { try ReportRow($0, reader) } })
  }
}

/// A report in the operators' list.
package struct ReportRow: Codable, Hashable, Sendable {
  package let id: Int64
  package let reporter: String
  package let reported: String
  /// `spam`, `abuse` or a URN.
  package let reason: String
  package let text: String
  package let messages: Int
  /// The text of the first message that has one; nil if there is none.
  package let quote: String?
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
    quote = report.messages.lazy.compactMap(\.text).first
    createdAt = report.createdAt.description
  }
}

extension AdminContext {
  /// Returns a report of the caller's realm.
  func report(_ id: Int64) async throws(Problem) -> Report {
    let report = try await Reports(parley).find(id)
    guard realm.map({ $0.id == report.realm }) ?? true else {
      throw Problem(.missing, "report-unknown", "There is no report \(id).")
    }
    return report
  }
}
