import Basics
import JSON

/// What the caller wants of a dialog: what `PATCH /v1/dialogs/{dialogId}/me` answers and `settings.updated` tells. It is
/// their own, and the same in all their clients.
struct DialogSettingsBody: Hashable, Sendable, JSONObjectWritable {
  /// Of which messages the user is told while nobody looks.
  enum Notify: String, Sendable, CaseIterable { case always, mentions, never }

  var dialogId: String
  /// A `Notify`; absent: what is usual (`docs/app-protocol.md`).
  var notify: String?
  /// Nothing until then, whatever `notify` says; absent: not muted.
  var mutedUntil: Timestamp?
  var pinned: Bool
  var archived: Bool
  var markedUnread: Bool

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialogId", dialogId)
    writeSettings(to: &writer)
  }

  func writeSettings(to writer: inout JSONWriter) {
    writer.member("notify", notify)
    writer.member("mutedUntil", mutedUntil)
    writer.member("pinned", pinned)
    writer.member("archived", archived)
    writer.member("markedUnread", markedUnread)
  }
}
