/// What the caller wants of a dialog: what `PATCH /v1/dialogs/{dialogId}/me` answers and `settings.updated` tells. It is
/// their own, and the same in all their clients.
public struct DialogSettingsBody: Codable, Hashable, Sendable, JSONWritable {
  /// Of which messages the user is told while nobody looks.
  public enum Notify: String, Codable, Sendable, CaseIterable { case always, mentions, never }

  public var dialogId: String
  /// A `Notify`; absent: what is usual (`docs/app-protocol.md`).
  public var notify: String?
  /// Nothing until then, whatever `notify` says; absent: not muted.
  public var mutedUntil: WireTime?
  public var pinned: Bool
  public var archived: Bool
  public var markedUnread: Bool

  public init(
    dialogId: String, notify: String?, mutedUntil: WireTime?, pinned: Bool, archived: Bool, markedUnread: Bool
  ) {
    self.dialogId = dialogId
    self.notify = notify
    self.mutedUntil = mutedUntil
    self.pinned = pinned
    self.archived = archived
    self.markedUnread = markedUnread
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("dialogId", dialogId)
    writer.member("notify", notify)
    writer.member("mutedUntil", mutedUntil)
    writer.member("pinned", pinned)
    writer.member("archived", archived)
    writer.member("markedUnread", markedUnread)
    writer.endObject()
  }
}
