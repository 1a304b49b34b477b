/// A user as others see them. In events `createdAt` and `lastSeenAt` are left
/// out: an event tells what changed, and those do not.
public struct UserBody: Codable, Hashable, Sendable, JSONWritable {
  /// The localpart of `jid`; never changes, never reused.
  public var id: String
  public var jid: String
  public var name: String?
  public var status: String?
  /// SHA-1 of the avatar's bytes in lower-case hex: changes when the avatar does.
  public var avatarHash: String?
  public var metadata: RawObject
  public var createdAt: WireTime?
  public var lastSeenAt: WireTime?
  /// Only ever true: the account is deleted.
  public var deleted: Bool?
  // What is only shown to the user, in `/v1/users/me`.
  public var email: String?
  public var phone: String?
  /// There is a password that somebody may know.
  public var hasPassword: Bool?
  /// A second factor is asked for.
  public var secondFactor: Bool?
  /// When they last signed in with an app.
  public var lastLoginAt: WireTime?
  /// Only ever true: a guest, who goes. Absent in events.
  public var guest: Bool?

  public init(
    id: String, jid: String, name: String? = nil, status: String? = nil, avatarHash: String? = nil,
    metadata: RawObject = .empty, createdAt: WireTime? = nil, lastSeenAt: WireTime? = nil, deleted: Bool? = nil,
    guest: Bool? = nil
  ) {
    self.id = id
    self.jid = jid
    self.name = name
    self.status = status
    self.avatarHash = avatarHash
    self.metadata = metadata
    self.createdAt = createdAt
    self.lastSeenAt = lastSeenAt
    self.deleted = deleted
    self.guest = guest
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("status", status)
    writer.member("avatarHash", avatarHash)
    writer.member("metadata", metadata)
    writer.member("createdAt", createdAt)
    writer.member("lastSeenAt", lastSeenAt)
    writer.member("deleted", deleted)
    writer.member("email", email)
    writer.member("phone", phone)
    writer.member("hasPassword", hasPassword)
    writer.member("secondFactor", secondFactor)
    writer.member("lastLoginAt", lastLoginAt)
    writer.member("guest", guest)
    writer.endObject()
  }
}
