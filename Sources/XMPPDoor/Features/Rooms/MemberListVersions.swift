import XMPP

/// XEP-0463: the versions of a room's member list, for clients that keep it. The core computes the changes
/// (`Rooms/MemberLists.swift`); their versions are in the presences and messages that announce them anyway.
struct MemberListVersions: Feature {
  static let xep = XEP(
    463, "0.2.0", "MUC Affiliations Versioning",
    note: """
      A client gets the whole list, and no error (6), for a version at which the user was no member or saw less. \
      Lists of more than 5,000 users have no version.
      """)

  func register(in table: inout FeatureTable) { table.advertise("\(NS.mucAffiliations)", on: [.room]) }
}
