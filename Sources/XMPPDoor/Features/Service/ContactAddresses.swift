import Dialogs
import XMPP

/// XEP-0157: the contact addresses of this server, as extended information (XEP-0128) in its disco#info.
struct ContactAddresses: Feature {
  static let xep = XEP(157, "1.1.1", "Contact Addresses for XMPP Services")

  func register(in table: inout FeatureTable) {}

  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {
    if let form = form(options.contacts) { table.describe(form, on: .server) }
  }

  /// Returns the form (3); `nil` if there are no addresses.
  static func form(_ contacts: [String: [String]]) -> DataForm? {
    let fields = contacts.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
    if fields.isEmpty { return nil }
    return DataForm(
      .result, formType: "http://jabber.org/network/serverinfo",
      fields: fields.map { DataForm.Field("\($0.key)-addresses", .listMulti, values: $0.value) })
  }
}
