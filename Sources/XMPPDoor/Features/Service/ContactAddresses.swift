import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0157: the contact addresses of this server, as extended information (XEP-0128) in its disco#info, and those of other
/// servers in theirs.
struct ContactAddresses: Feature {
  static let xep = XEP(157, "1.1.1", "Contact Addresses for XMPP Services")

  func register(in table: inout FeatureTable) {}

  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {
    if let form = form(options.contacts) { table.describe(form, on: .server) }
  }

  private static let formType = "http://jabber.org/network/serverinfo"

  /// Returns the XMPP addresses (RFC 5122) for a purpose in a service's disco#info.
  static func addresses(for purpose: String, in info: Element) -> [JID] {
    for element in info.children where element.is(.dataForm) {
      guard let form = try? DataForm(element), form.formType == formType else { continue }
      return form.values("\(purpose)-addresses").compactMap { JID(uri: $0) }
    }
    return []
  }

  /// Returns the form (3); `nil` if there are no addresses.
  static func form(_ contacts: [String: [String]]) -> DataForm? {
    let fields = contacts.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
    if fields.isEmpty { return nil }
    return DataForm(
      .result, formType: formType,
      fields: fields.map { DataForm.Field("\($0.key)-addresses", .listMulti, values: $0.value) })
  }
}
