/// Somebody in a group or public dialog, or somebody who is kept out of it.
public struct MemberBody: Codable, Hashable, Sendable, JSONWritable {
  /// From the mightiest down. A watcher reads and does not write; who is banned is
  /// no member and cannot become one.
  public enum Role: String, Codable, Sendable, CaseIterable { case owner, admin, member, watcher, banned }

  /// Of somebody who has just gone: only events say it.
  public static let gone = "none"

  /// Where the dialog does not show the caller who its people are: an id that the member
  /// has in this dialog only.
  public var userId: String
  /// Absent where the dialog does not show the caller who its people are.
  public var jid: String?
  /// A `Role`, or `gone`.
  public var role: String
  /// What they are called in this dialog.
  public var nick: String?
  /// What they call themselves everywhere; absent in events. Where the dialog does not
  /// show the caller who its people are: the nick.
  public var name: String?
  /// Absent in events, and of banned people.
  public var joinedAt: WireTime?
  /// True of a member who was put out and has not joined again: they read, and do not
  /// write. Else absent.
  public var kicked: Bool?

  public init(
    userId: String, jid: String?, role: String, nick: String?, name: String? = nil, joinedAt: WireTime? = nil,
    kicked: Bool? = nil
  ) {
    self.userId = userId
    self.jid = jid
    self.role = role
    self.nick = nick
    self.name = name
    self.joinedAt = joinedAt
    self.kicked = kicked
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("userId", userId)
    writer.member("jid", jid)
    writer.member("role", role)
    writer.member("nick", nick)
    writer.member("name", name)
    writer.member("joinedAt", joinedAt)
    writer.member("kicked", kicked)
    writer.endObject()
  }
}
