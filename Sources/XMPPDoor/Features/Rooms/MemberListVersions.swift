import XMPP

/// XEP-0463: who belongs to a room, told by version to who enters and keeps the
/// list. Which changes there are the core knows (`Rooms/MemberLists.swift`); they are
/// told by the presences and messages that tell of them anyway.
struct MemberListVersions: Feature {
  static let xep = XEP(
    463, "0.2.0", "MUC Affiliations Versioning",
    note: """
      who was not there at a version, or saw less, gets the whole list for it and no error (6); of lists of more than \
      5,000 people no version is told
      """)

  func register(in table: inout FeatureTable) { table.advertise("\(NS.mucAffiliations)", on: [.room]) }
}
