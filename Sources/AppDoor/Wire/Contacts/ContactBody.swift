import JSON

/// A contact of the caller: a roster item.
struct ContactBody: Hashable, Sendable, JSONObjectWritable {
  /// The nine subscription states of RFC 6121 for apps; the table is in `docs/app-protocol.md`.
  enum State: String, Sendable, CaseIterable {
    case none, pendingOut, pendingIn, following, followedBy, mutual
  }
  /// The contact's `User.id`; for one of another domain the complete JID.
  var userId: String
  var jid: String
  var name: String?
  var groups: [String]
  var state: State
  /// Whether it is a contact by a contact group of the operators: then it cannot be removed.
  var shared: Bool

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("groups", groups)
    writer.member("state", state.rawValue)
    writer.member("shared", shared)
  }
}

struct PutContactInput: Decodable, Hashable, Sendable {
  var userId: String
  var name: String?
}
