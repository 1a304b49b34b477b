/// XEP-0410: a client checks whether it is still in a room by pinging itself there; the room answers for it (3.3), so a
/// client that sleeps is not removed.
struct SelfPing: Feature {
  static let xep = XEP(410, "1.1.0", "MUC Self-Ping (Schrödinger's Chat)")
  static let optimization = "http://jabber.org/protocol/muc#self-ping-optimization"
  func register(in table: inout FeatureTable) { table.advertise(Self.optimization, on: [.room]) }
}
