import Basics
import JSON

/// A member of a group or public dialog, or a user who is banned from it.
struct MemberBody: Hashable, Sendable, JSONObjectWritable {
  /// The roles in descending order of power. A watcher reads and does not write; a banned user is no member and cannot
  /// become one.
  enum Role: String, Sendable, CaseIterable { case owner, admin, member, watcher, banned }

  /// The role of a user who has just left or was removed; only events contain it.
  static let gone = "none"

  /// The user's id. In a dialog that hides identities from the caller: an id that the member has in this dialog only.
  var userId: String
  /// The user's address; absent in a dialog that hides identities from the caller.
  var jid: String?
  /// A `Role`, or `gone`.
  var role: String
  /// The member's nickname in this dialog; `nil` for one who was added without and has not come yet.
  var nick: String?
  /// The user's profile name; absent in events. In a dialog that hides identities from the caller: the nickname.
  var name: String?
  /// The time of the join; absent in events and for banned users.
  var joinedAt: Timestamp?
  /// True for a member who was kicked and has not joined again, who reads and does not write; otherwise absent.
  var kicked: Bool?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("jid", jid)
    writer.member("role", role)
    writer.member("nick", nick)
    writer.member("name", name)
    writer.member("joinedAt", joinedAt)
    writer.member("kicked", kicked)
  }
}
