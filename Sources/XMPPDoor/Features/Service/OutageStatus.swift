import Dialogs
import XMPP

/// XEP-0455: where clients that cannot connect learn of an outage, as extended information (XEP-0128) in the server's
/// disco#info.
struct OutageStatus: Feature {
  static let xep = XEP(455, "0.4.0", "Service Outage Status", note: "If `outage.addresses` is set.")

  func register(in table: inout FeatureTable) {}

  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {
    guard !options.outageAddresses.isEmpty else { return }
    table.describe(form(options.outageAddresses), on: .server)
  }

  static func form(_ addresses: [String]) -> DataForm {
    let field = DataForm.Field("external-status-addresses", .listMulti, values: addresses)
    return DataForm(.result, formType: "urn:xmpp:sos:0", fields: [field])
  }
}
