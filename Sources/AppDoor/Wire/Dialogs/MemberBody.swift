import Basics
import JSON

/// Somebody in a group or public dialog, or somebody who is kept out of it.
struct MemberBody: Hashable, Sendable, JSONObjectWritable {
  /// From the mightiest down. A watcher reads and does not write; who is banned is
  /// no member and cannot become one.
  enum Role: String, Sendable, CaseIterable { case owner, admin, member, watcher, banned }

  /// Of somebody who has just gone: only events say it.
  static let gone = "none"

  /// Where the dialog does not show the caller who its people are: an id that the member
  /// has in this dialog only.
  var userId: String
  /// Absent where the dialog does not show the caller who its people are.
  var jid: String?
  /// A `Role`, or `gone`.
  var role: String
  /// What they are called in this dialog.
  var nick: String?
  /// What they call themselves everywhere; absent in events. Where the dialog does not
  /// show the caller who its people are: the nick.
  var name: String?
  /// Absent in events, and of banned people.
  var joinedAt: Timestamp?
  /// True of a member who was put out and has not joined again: they read, and do not
  /// write. Else absent.
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
