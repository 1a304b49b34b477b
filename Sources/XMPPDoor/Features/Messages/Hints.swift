import XMLStream
import XMPP

/// XEP-0334: the sender's hints on storing and copying a message. Hints on errors are ignored (5): `Inbound` passes
/// errors on without asking drafts.
struct Hints: Feature {
  static let xep = XEP(334, "1.0.0", "Message Processing Hints")

  private static let store = Name("store", NS.hints)

  static func writeStore(into writer: inout ElementWriter) {
    writer.element(store)
  }

  private static let noStore = Name("no-store", NS.hints)

  static func writeNoStore(into writer: inout ElementWriter) {
    writer.element(noStore)
  }

  func register(in table: inout FeatureTable) {
    table.read(Self.store) { _, draft in draft.isStored = true }
    table.read(Self.noStore) { _, draft in draft.isUnstored = true }
    table.read(Name("no-permanent-store", NS.hints)) { _, draft in draft.isTransient = true }
    table.read(Name("no-copy", NS.hints)) { _, draft in draft.isUncopied = true }
  }
}
