/// XEP-0500: the seconds between two messages of a participant.
struct SlowMode: Feature {
  static let xep = XEP(500, "0.1.1", "MUC Slow Mode")
  func register(in table: inout FeatureTable) {}
}
