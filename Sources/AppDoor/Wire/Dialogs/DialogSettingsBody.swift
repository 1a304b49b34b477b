import Basics
import JSON

/// The caller's settings of a dialog: the answer of `PATCH /v1/dialogs/{dialogId}/me` and the data of
/// `settings.updated`. They are private, and shared by all their clients.
struct DialogSettingsBody: Hashable, Sendable, JSONObjectWritable {
  /// The messages that notify the user.
  enum Notify: String, Sendable, CaseIterable { case always, mentions, never }

  var dialogId: String
  /// A `Notify`; absent for the default (`docs/app-protocol.md`).
  var notify: String?
  /// The time until which nothing notifies, whatever `notify` is; absent if not muted.
  var mutedUntil: Timestamp?
  var pinned: Bool
  var archived: Bool
  var markedUnread: Bool
  /// The days after which messages go from the caller's view; absent: they stay.
  var retentionDays: Int?

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
    writer.member("retentionDays", retentionDays)
  }
}
