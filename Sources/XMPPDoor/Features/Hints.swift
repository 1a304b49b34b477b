import XMLStream
import XMPP

/// XEP-0334: what the sender would like to happen to a message's copies. Hints
/// on errors are ignored (5): `Inbound` passes errors on without asking drafts.
struct Hints: Feature {
  static let xep = XEP(334, "1.0.0", "Message Processing Hints")

  func register(in table: inout FeatureTable) {
    table.read(Name("store", NS.hints)) { _, draft in draft.isKept = true }
    table.read(Name("no-store", NS.hints)) { _, draft in draft.isUnstored = true }
    table.read(Name("no-permanent-store", NS.hints)) { _, draft in draft.isTransient = true }
    table.read(Name("no-copy", NS.hints)) { _, draft in draft.isUncopied = true }
  }
}
