import Addresses
import Dialogs
import Logging
import XMLStream
import XMPP

/// XEP-0377: users' reports about blocked users, for the server's operators, and those of other servers about users here.
/// `ReportForwarding` forwards users' reports to the domain of the reported address.
///
/// The XEP leaves the form of a forwarded report open. This is that of Prosody's `mod_report_forward`: a message from our
/// domain with a text for people, `<report/>` with the reported address in it, and the quoted messages beside it.
struct Reporting: Feature {
  static let xep = XEP(
    377, "0.4.1", "Spam Reporting",
    note: "Reports are stored for the operators, and forwarded to the server of the reported address if reporter and "
      + "operator agree. Reports of other servers are stored.")

  static let report = Name("report", NS.reporting)
  private static let text = Name("text", NS.reporting)
  /// The reported address of a forwarded report.
  private static let address = Name("jid", "urn:xmpp:jid:0")

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
      } else if child.is(text) {
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

  // MARK: Reports between servers

  /// Writes the content of the message that forwards a report.
  ///
  /// The quoted messages have no 'to': that is the one way to conceal the reporter that the XEP allows (3), and we always
  /// choose it, since the reporter has agreed that the report is forwarded and not that they are named. Quotes beyond
  /// `FederationLimits.forwardedReportBytesMax` are left out.
  static func writeForwarded(_ stored: Report, by domain: String, into writer: inout ElementWriter) {
    writer.element(.body) {
      $0.text(
        "A user of \(domain) reports \(stored.reported) (\(stored.reason.split(separator: ":").last ?? "abuse")).")
    }
    writer.element(report) { writer in
      writer.attribute("reason", stored.reason)
      writer.element(address) { $0.text(stored.reported) }
      if !stored.text.isEmpty { writer.element(text) { $0.text(stored.text) } }
    }
    var bytes = stored.text.utf8.count
    for quoted in stored.messages.compactMap(\.text) {
      bytes += quoted.utf8.count
      if bytes > FederationLimits.forwardedReportBytesMax { break }
      writer.element(.forwarded) { writer in
        writer.element(.message) { writer in
          writer.attribute("from", stored.reported)
          writer.attribute("type", MessageType.chat.text)
          writer.element(.body) { $0.text(quoted) }
        }
      }
    }
  }

  /// Returns the report about a user of `domain` in a message that another server has sent; `nil` if there is none.
  static func forwarded(in message: Element, about domain: String) -> RemoteReport? {
    guard let report = message.first(report), let reason = report["reason"], !reason.isEmpty,
      reason.utf8.count <= DoorLimits.reportReasonBytesMax,
      let reported = report.first(address).flatMap({ JID(parsing: $0.text) })?.bare, reported.local != nil,
      reported.domain == domain
    else { return nil }
    var found = RemoteReport(reported: reported, reason: reason, text: "", messages: [])
    found.text = report.children.filter { $0.is(text) }.map(\.text).joined(separator: "\n")
    for child in message.children where child.is(.forwarded) && found.messages.count < Limits.reportMessagesMax {
      guard let quoted = child.children.first(where: { $0.local == "message" }),
        quoted["from"].flatMap({ JID(parsing: $0) })?.bare == reported
      else { continue }
      let body = quoted.children.first { $0.local == "body" }?.text
      let id = quoted["id"].map { String($0.unicodeScalars.prefix(Limits.reportedIDCharactersMax)) } ?? ""
      found.messages.append(Report.Message(id: id, text: body))
    }
    return found
  }

  /// Takes a message to our domain from another one. Returns `false` if it is no report about a user here.
  static func received(_ arrival: RemoteArrival) -> Bool {
    let link = arrival.link
    guard arrival.from.isDomain, arrival.to.isDomain, arrival.stanza.messageType != .error, link is FederationLink,
      let report = forwarded(in: arrival.stanza.element, about: link.home.domain)
    else { return false }
    let (stanza, logger) = (arrival.stanza, link.door.logger)
    link.work?.post(.report(report), by: arrival.sender, for: stanza) { [weak link] result in
      switch result {
      case .failure(let problem): link?.refuse(stanza, problem)
      case .success(let receipt): log(receipt.value as? [Report] ?? [], by: arrival.sender.address, logger)
      }
    }
    return true
  }

  /// Logs the reports for the operator; `parley report show` shows their content.
  static func log(_ reports: [Report], by reporter: BareJID, _ logger: Logger) {
    for report in reports {
      logger.notice(
        "a user was reported",
        metadata: [
          "report": "\(report.id)", "reporter": "\(reporter)", "reported": "\(report.reported)",
          "reason": "\(report.reason.split(separator: ":").last ?? "")",
        ])
    }
  }
}
