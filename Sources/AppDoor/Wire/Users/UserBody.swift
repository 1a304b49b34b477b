import Basics
import JSON

/// A user as others see them. In events `createdAt` and `lastSeenAt` are left
/// out: an event tells what changed, and those do not.
struct UserBody: Hashable, Sendable, JSONObjectWritable {
  /// The localpart of `jid`; never changes, never reused.
  var id: String
  var jid: String
  var name: String?
  var status: String?
  /// SHA-1 of the avatar's bytes in lower-case hex: changes when the avatar does.
  var avatarHash: String?
  /// A picture that is kept elsewhere, where there is none here.
  var avatarUrl: String?
  var metadata: RawObject = .empty
  /// What the user tells their contacts; absent for others.
  var contactsMetadata: RawObject?
  var createdAt: Timestamp?
  /// Absent where the viewer may not know.
  var lastSeenAt: Timestamp?
  /// Kilometres, rounded up; only in answers about nearby users.
  var distance: Int?
  /// Only ever true: the account is deleted.
  var deleted: Bool?
  /// Only ever true: a guest, who goes. Absent in events.
  var guest: Bool?

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
