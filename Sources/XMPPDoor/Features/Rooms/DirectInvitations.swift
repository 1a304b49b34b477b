import XMLStream
import XMPP

/// XEP-0249: invitations from user to user are messages like any other.
struct DirectInvitations: Feature {
  static let xep = XEP(249, "1.2", "Direct MUC Invitations")
  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.conference)", on: [.session])
    table.read(.conference) { _, draft in draft.isKept = true }
  }
}
