import Addresses
import Dialogs
import XMLStream
import XMPP

/// Finds the address to which a remote domain wants reports about its users, and renders the message (`ReportForwarding`).
///
/// It is the domain's address for abuse (XEP-0157), or the domain itself if it supports reports (XEP-0377 2). An address of
/// another domain is not used: by naming it, anybody could have a third server flooded.
struct ReportDestination: Sendable {
  /// Asks a domain for its disco#info, in the name of a local domain; `nil` if it does not answer.
  typealias Ask = @Sendable (_ payload: [UInt8], _ domain: JID, _ from: Party) async -> Stanza?

  private let realms: [Realm]
  private let ask: Ask

  init(_ realms: [Realm], ask: @escaping Ask) {
    self.realms = realms
    self.ask = ask
  }

  func find(_ report: Report) async -> ReportForwarding.Way {
    guard let home = realms.first(where: { $0.id == report.realm }), let server = BareJID(parsing: home.domain),
      let domain = JID(parsing: report.reported).flatMap({ JID(parsing: $0.domain) })
    else { return .unaccepted }
    let asker = Party(id: UserID(0), realm: home.id, address: server)
    guard let answer = await ask(StanzaBytes.bytes { $0.element(.discoInfo) }, domain, asker) else { return .unreached }
    if let error = StanzaError(reportedBy: answer) {
      return [.remoteServerNotFound, .remoteServerTimeout].contains(error.condition) || error.type == .wait
        ? .unreached : .unaccepted
    }
    guard !answer.isError, let info = answer.element.first(.discoInfo),
      let destination = Self.destination(info, of: domain)
    else { return .unaccepted }
    return .found(
      destination, id: DoorContext.randomID(),
      extras: StanzaBytes.bytes { Reporting.writeForwarded(report, by: home.domain, into: &$0) })
  }

  /// Returns the address for reports about a domain's users, from its disco#info; `nil` if there is none.
  static func destination(_ info: Element, of domain: JID) -> JID? {
    let named = ContactAddresses.addresses(for: "abuse", in: info).first { $0.domain == domain.domain }
    if let named { return named }
    let knowsReports = info.children.contains { $0.is(.discoFeature) && $0["var"] == "\(NS.reporting)" }
    return knowsReports ? domain : nil
  }
}
