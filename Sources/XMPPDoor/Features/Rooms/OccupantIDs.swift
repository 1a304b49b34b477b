/// XEP-0421: a stable and opaque id of the occupant in each presence and message.
struct OccupantIDs: Feature {
  static let xep = XEP(421, "1.0.1", "Occupant identifiers for semi-anonymous MUCs")
  func register(in table: inout FeatureTable) {}
}
