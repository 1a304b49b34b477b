import XMLStream
import XMPP

// Read for this folder: XEP-0045 1.35.5, XEP-0004 2.13.2, XEP-0077 2.4, XEP-0249 1.2, XEP-0317 0.3.1, XEP-0421 1.0.1,
// XEP-0433 0.1.0, XEP-0463 0.2.0, XEP-0486 0.1.0, XEP-0500 0.1.1.

/// The elements of rooms, by namespace (XEP-0045 19).
extension Name {
  // In a client's presence to a room (19.1).
  static let mucJoin = Name("x", NS.muc)
  static let mucJoinHistory = Name("history", NS.muc)
  static let mucJoinPassword = Name("password", NS.muc)
  /// XEP-0463: the versions of the member list.
  static let mucAffiliations = Name("mav", NS.mucAffiliations)

  // Descriptions of people, and invitations (19.2).
  static let mucUser = Name("x", NS.mucUser)
  static let mucUserContinue = Name("continue", NS.mucUser)
  static let mucUserDecline = Name("decline", NS.mucUser)
  static let mucUserInvite = Name("invite", NS.mucUser)
  static let mucUserItem = Name("item", NS.mucUser)
  static let mucUserReason = Name("reason", NS.mucUser)
  static let mucUserStatus = Name("status", NS.mucUser)

  // Lists of people and their changes (19.3).
  static let mucAdmin = Name("query", NS.mucAdmin)
  static let mucAdminItem = Name("item", NS.mucAdmin)
  static let mucAdminReason = Name("reason", NS.mucAdmin)

  // Configuration and destruction (19.4).
  static let mucOwner = Name("query", NS.mucOwner)
  static let mucOwnerDestroy = Name("destroy", NS.mucOwner)
  static let mucOwnerPassword = Name("password", NS.mucOwner)
  static let mucOwnerReason = Name("reason", NS.mucOwner)

  /// A request for an unused room name: not in XEP-0045 since 1.25, but old clients send it.
  static let mucUnique = Name("unique", NS.mucUnique)

  /// XEP-0249: an invitation from user to user.
  static let conference = Name("x", NS.conference)

  /// XEP-0421.
  static let occupantID = Name("occupant-id", NS.occupantID)

  // XEP-0317.
  static let hat = Name("hat", NS.hats)
  static let hats = Name("hats", NS.hats)
}
