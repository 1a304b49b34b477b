import XMLStream
import XMPP

/// XEP-0352: a client says whether anybody looks at it. What waits meanwhile is
/// in `DeferredSignals`; nobody else is told.
struct ClientState: Feature {
  static let xep = XEP(352, "1.0.0", "Client State Indication", note: "events of XEP-0163 do not wait")

  func register(in table: inout FeatureTable) {
    table.element(Name("active", NS.csi)) { $0.isInactive = false }
    table.element(Name("inactive", NS.csi)) { $0.isInactive = true }
    table.inline(Name("inactive", NS.csi), feature: "\(NS.csi)") { $0.isInactive = true }
  }
}
