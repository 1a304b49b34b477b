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
  /// A picture that is kept elsewhere, where there is none here.
  public var avatarUrl: String?
  public var metadata: RawObject
  /// What the user tells their contacts; absent for others.
  public var contactsMetadata: RawObject?
  public var createdAt: WireTime?
  /// Absent where the viewer may not know.
  public var lastSeenAt: WireTime?
  /// Kilometres, rounded up; only in answers about nearby users.
  public var distance: Int?
  /// Only ever true: the account is deleted.
  public var deleted: Bool?
  /// Only ever true: a guest, who goes. Absent in events.
  public var guest: Bool?

  public init(
    id: String, jid: String, name: String? = nil, status: String? = nil, avatarHash: String? = nil,
    avatarUrl: String? = nil, metadata: RawObject = .empty, contactsMetadata: RawObject? = nil,
    createdAt: WireTime? = nil, lastSeenAt: WireTime? = nil, distance: Int? = nil, deleted: Bool? = nil,
    guest: Bool? = nil
  ) {
    self.avatarUrl = avatarUrl
    self.contactsMetadata = contactsMetadata
    self.distance = distance
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
    writeMembers(to: &writer)
    writer.endObject()
  }

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("jid", jid)
    writer.member("name", name)
    writer.member("status", status)
    writer.member("avatarHash", avatarHash)
    writer.member("avatarUrl", avatarUrl)
    writer.member("metadata", metadata)
    writer.member("contactsMetadata", contactsMetadata)
    writer.member("createdAt", createdAt)
    writer.member("lastSeenAt", lastSeenAt)
    writer.member("distance", distance)
    writer.member("deleted", deleted)
    writer.member("guest", guest)
  }
}
