/// The decision that a stored file may be read.
public struct FileAccess: Hashable, Sendable {
  /// The realm whose files may be read; `nil` for all realms.
  public let realm: RealmID?

  /// Returns the access of someone who knows a file's id, which is as good as its URL; a user reads only in their own
  /// realm.
  ///
  /// - Parameter viewer: the user; `nil` for a request by URL.
  static func holder(_ viewer: Party?) -> FileAccess { FileAccess(realm: viewer?.realm) }

  /// Returns the access of the server itself to any file.
  public static func server(_: ServerReason) -> FileAccess { FileAccess(realm: nil) }
}
