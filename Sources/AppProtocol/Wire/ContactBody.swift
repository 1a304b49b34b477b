/// One contact of the caller: a roster item.
public struct ContactBody: Codable, Hashable, Sendable, JSONWritable {
  /// RFC 6121's nine subscription states as an app tells them apart; the table
  /// is in `docs/app-protocol.md`.
  public enum State: String, Codable, Sendable, CaseIterable {
    case none, pendingOut, pendingIn, following, followedBy, mutual
  }
  /// The contact's `User.id`; for one of another domain the whole JID.
  public var userId: String
  public var jid: String
  public var name: String?
  public var groups: [String]
  public var state: State

  public init(userId: String, jid: String, name: String?, groups: [String], state: State) {
    self.userId = userId
    self.jid = jid
    self.name = name
    self.groups = groups
    self.state = state
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("userId", userId)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("groups", groups)
    writer.member("state", state.rawValue)
    writer.endObject()
  }
}
