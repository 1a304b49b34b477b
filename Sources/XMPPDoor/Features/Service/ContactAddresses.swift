import Dialogs
import XMPP

/// XEP-0157: the contact addresses of this server, as extended information (XEP-0128) in its disco#info.
struct ContactAddresses: Feature {
  static let xep = XEP(157, "1.1.1", "Contact Addresses for XMPP Services")

  func register(in table: inout FeatureTable) {}

  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {
    let fields = options.contacts.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
    if fields.isEmpty { return }
    table.describe(
      DataForm(
        .result, formType: "http://jabber.org/network/serverinfo",
        fields: fields.map { DataForm.Field("\($0.key)-addresses", .listMulti, values: $0.value) }),
      on: .server)
  }
}
