/// XEP-0317: a hat shows what affiliation and role do not: that a user may only read.
struct Hats: Feature {
  static let xep = XEP(
    317, "0.3.1", "Hats", note: "One hat, for watchers of the app protocol. Clients cannot assign hats.")
  func register(in table: inout FeatureTable) {}
}
