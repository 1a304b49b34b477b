/// XEP-0317: a hat shows what affiliation and role do not: that a user may only read.
struct Hats: Feature {
  static let xep = XEP(317, "0.3.1", "Hats", note: "one hat, for the app's watchers; hats are not given by hand")
  func register(in table: inout FeatureTable) {}
}
