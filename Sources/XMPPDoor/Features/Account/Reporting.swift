import Dialogs
import Logging
import XMLStream
import XMPP

/// XEP-0377: users' reports about blocked users, for the server's operators. They are not forwarded; the reporter's
/// consent to it is stored.
struct Reporting: Feature {
  static let xep = XEP(377, "0.4.1", "Spam Reporting", note: "Reports are stored for the operators and not forwarded.")

  static let report = Name("report", NS.reporting)

  func register(in table: inout FeatureTable) { table.advertise("\(NS.reporting)") }

  /// Returns the report in an item of a block request; `nil` if there is none.
  static func draft(in item: Element, of reported: BlockPattern) throws(StanzaError) -> ReportDraft? {
    guard let report = item.first(report) else { return nil }
    var draft = ReportDraft(reported: reported, reason: try report.requiredNonEmpty("reason"))
    guard draft.reason.utf8.count <= DoorLimits.reportReasonBytesMax else {
      throw StanzaError(.notAcceptable, "a reason has at most \(DoorLimits.reportReasonBytesMax) bytes")
    }
    var texts: [String] = []
    for child in report.children {
      if child.is(.stanzaID), let id = child["id"] {
        if draft.messages.count < Limits.reportMessagesMax { draft.messages.append(id) }
      } else if child.is(Name("text", NS.reporting)) {
        texts.append(child.text)
      } else if child.is(Name("report-origin", NS.reporting)) {
        draft.consent.insert(.origin)
      } else if child.is(Name("third-party", NS.reporting)) {
        draft.consent.insert(.thirdParty)
      }
    }
    draft.text = texts.joined(separator: "\n")
    return draft
  }

  /// Logs the reports for the operator; `parley report show` shows their content.
  static func log(_ reports: [Report], by turn: Turn) {
    for report in reports {
      turn.session.door.logger.notice(
        "a user was reported",
        metadata: [
          "report": "\(report.id)", "reporter": "\(turn.party.address)", "reported": "\(report.reported)",
          "reason": "\(report.reason.split(separator: ":").last ?? "")",
        ])
    }
  }
}
