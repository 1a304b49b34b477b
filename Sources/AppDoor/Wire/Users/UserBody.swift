import Basics
import JSON

/// A user as others see them. Events omit `createdAt` and `lastSeenAt`: an event contains what changed, which they do
/// not.
struct UserBody: Hashable, Sendable, JSONObjectWritable {
  /// The localpart of `jid`, which never changes and is never reused.
  var id: String
  var jid: String
  var name: String?
  var status: String?
  /// The SHA-1 of the avatar's bytes in lower-case hex, which changes with the avatar.
  var avatarHash: String?
  /// The URL of an external image, for users without an avatar here.
  var avatarUrl: String?
  var metadata: RawObject = .empty
  /// The user's metadata for contacts; absent for others.
  var contactsMetadata: RawObject?
  var createdAt: Timestamp?
  /// The time of the last session's end; absent if the viewer may not see it.
  var lastSeenAt: Timestamp?
  /// Kilometres, rounded up; only in answers about nearby users.
  var distance: Int?
  /// True if the account is deleted; otherwise absent.
  var deleted: Bool?
  /// True for a guest, who is temporary; otherwise absent, as in events.
  var guest: Bool?
  /// True for a user of another server, whose `id` is the whole address; otherwise absent.
  var remote: Bool?

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
    writer.member("remote", remote)
  }
}
