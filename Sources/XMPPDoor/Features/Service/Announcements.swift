import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0133 4.23, 4.24: a domain's announcements to its users, as headlines (RFC 6121 5.2.2). They are made by ad-hoc
/// commands (`AdHocCommands`).
struct Announcements: Feature {
  static let xep = XEP(
    133, "1.3.1", "Service Administration",
    note: "No block lists of the service (4.11, 4.12) and no restart (4.31). App clients do not receive announcements.")

  func register(in table: inout FeatureTable) {}

  static func tell(_ announcement: Announcement, to session: XMPPSession) {
    session.send { writer in
      writer.element(.message) { writer in
        writer.attribute("from", announcement.domain)
        writer.attribute("to", session.jid.description)
        writer.attribute("type", "headline" as StaticString)
        writer.attribute("id", DoorContext.randomID())
        writer.element("body") { $0.text(announcement.text) }
      }
    }
  }

  /// Sends the message of the day to a user who has not got it. This is committed first: a user with two clients gets
  /// it once.
  static func greet(_ session: XMPPSession) {
    guard let message = Dialogs.Announcements(session.parley).messageOfTheDay(in: session.party.realm) else { return }
    let user = session.party.id
    let claim = WriteTransaction(keepsCaches: true) { try Dialogs.Announcements.claim(message, for: user, $0) }
    session.post(.work(claim)) { [weak session] result in
      guard let session, case .success(let receipt) = result, receipt.value as? Bool == true else { return }
      tell(message, to: session)
    }
  }
}
