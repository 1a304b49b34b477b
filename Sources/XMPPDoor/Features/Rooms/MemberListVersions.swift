import XMPP

/// XEP-0463: the versions of a room's member list, for clients that keep it. The core computes the changes
/// (`Rooms/MemberLists.swift`); their versions are in the presences and messages that announce them anyway.
struct MemberListVersions: Feature {
  static let xep = XEP(
    463, "0.2.0", "MUC Affiliations Versioning",
    note: """
      who was not there at a version, or saw less, gets the whole list for it and no error (6); of lists of more than \
      5,000 people no version is told
      """)

  func register(in table: inout FeatureTable) { table.advertise("\(NS.mucAffiliations)", on: [.room]) }
}
