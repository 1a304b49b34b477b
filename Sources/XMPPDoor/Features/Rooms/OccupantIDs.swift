/// XEP-0421: who an occupant is, stable and opaque, in each presence and message.
struct OccupantIDs: Feature {
  static let xep = XEP(421, "1.0.1", "Occupant identifiers for semi-anonymous MUCs")
  func register(in table: inout FeatureTable) {}
}
