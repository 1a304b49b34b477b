import XMLStream
import XMPP

/// XEP-0352: a client says whether it is in use. Signals that wait meanwhile are in `DeferredSignals`; other users are
/// not told.
struct ClientState: Feature {
  static let xep = XEP(352, "1.0.0", "Client State Indication", note: "Events of XEP-0163 are not delayed.")

  func register(in table: inout FeatureTable) {
    table.element(Name("active", NS.csi)) { $0.isInactive = false }
    table.element(Name("inactive", NS.csi)) { $0.isInactive = true }
    table.inline(Name("inactive", NS.csi), feature: "\(NS.csi)") { $0.isInactive = true }
  }
}
