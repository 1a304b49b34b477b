package import Dialogs
import HTTPPort

/// Shows a report with the quoted messages and the reporter's permissions.
package enum ShowReport: AdminOperation {
  package static let name = "reports.show"
  package static let routes = [
    AdminRoute(.get, "/reports/{id}", .reports)
  ]

  package struct Input: Codable, Sendable {
    let id: Int64
    package init(id: Int64) { self.id = id }
  }

  package struct Message: Codable, Hashable, Sendable {
    package let id: String
    /// nil if the reporter may not read it or it is encrypted.
    package let text: String?
  }

  package struct Output: Codable, Hashable, Sendable {
    package let report: ReportRow
    /// Whether the reporter allows forwarding to the origin server; `mayTellThirdParties` to maintainers of block lists
    /// (XEP-0377 3).
    package let mayTellOrigin: Bool
    package let mayTellThirdParties: Bool
    /// What has become of it on the way to the origin server: `waiting`, `forwarded`, `unaccepted` (that server takes no
    /// reports), `unreached` or `limited` (too many in that hour); nil if it is not to be forwarded.
    package let forwarding: String?
    package let messages: [Message]
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let report = try await context.report(input.id)
    return Output(
      report: try await context.parley.read { try ReportRow(report, $0) },
      mayTellOrigin: report.consent.contains(.origin), mayTellThirdParties: report.consent.contains(.thirdParty),
      forwarding: report.forwarding.map { "\($0.state)" },
      messages: report.messages.map { Message(id: $0.id, text: $0.text) })
  }
}
