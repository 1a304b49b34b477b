public import Basics

/// The messages of a dialog that notify a user (XEP-0492). Stored: never renumber.
public enum Alerts: UInt8, Hashable, Sendable, CaseIterable { case always = 1, onMention = 2, never = 3 }

/// A user's settings for a dialog or room. They are in the user's row of the dialog, so that they are removed when the
/// user leaves.
///
/// A bookmark (XEP-0402) contains some of them too, in more detail: the notifications of each kind of client
/// (XEP-0492), and whether it is pinned (XEP-0469). `DialogSettings/DialogSettingsRules.swift` keeps the two equal.
public struct DialogSettings: Hashable, Sendable {
  /// The notification setting; `nil` for the default of such a dialog (`Pushes.usual`).
  public var alerts: Alerts?
  /// The time until which nothing notifies, whatever `alerts` is; `nil` if the dialog is not muted.
  public var mutedUntil: Timestamp?
  public var isPinned = false
  /// Whether the dialog is archived; only the user changes this.
  public var isArchived = false
  /// The last message that the user had read when they marked the dialog as unread (`.zero` for none): the mark ends
  /// once they read on.
  public var unreadAt: Position?
  /// The days after which messages go from the user's own view; `nil`: they stay. What is so gone for all of a private
  /// dialog's users is removed (`Retention`).
  public var retentionDays: Int?
  /// The position of the entry of the last change; `.zero` if there is none.
  public var position = Position.zero

  public init() {}

  /// Returns whether it is marked as unread, for a user who has read up to `displayed`.
  public func isMarkedUnread(displayed: Position) -> Bool { unreadAt == displayed }

  public func isMuted(at time: Timestamp) -> Bool { mutedUntil.map { time < $0 } ?? false }

  /// Returns the setting in effect at `time`, where `usual` is the default.
  public func alerts(at time: Timestamp, usual: Alerts) -> Alerts { isMuted(at: time) ? .never : alerts ?? usual }
}

/// A change of a dialog's settings; `nil` leaves a field unchanged.
///
///     try await parley.post(.settings(dialog, DialogSettingsDraft(isPinned: true)), by: user)
public struct DialogSettingsDraft: Sendable {
  /// `.some(nil)` restores the default.
  public var alerts: Alerts??
  /// `.some(nil)`, or a past time, ends muting.
  public var mutedUntil: Timestamp??
  public var isPinned: Bool?
  public var isArchived: Bool?
  public var isMarkedUnread: Bool?
  /// `.some(nil)` lets messages stay.
  public var retentionDays: Int??

  public init(
    alerts: Alerts?? = nil, mutedUntil: Timestamp?? = nil, isPinned: Bool? = nil, isArchived: Bool? = nil,
    isMarkedUnread: Bool? = nil, retentionDays: Int?? = nil
  ) {
    self.retentionDays = retentionDays
    self.alerts = alerts
    self.mutedUntil = mutedUntil
    self.isPinned = isPinned
    self.isArchived = isArchived
    self.isMarkedUnread = isMarkedUnread
  }
}

/// The fact of changed settings, in the user's `self` dialog.
public struct DialogSettingsChange: Hashable, Sendable {
  public let dialog: DialogID
  /// The settings; in an entry without their `position`, which is that of the entry.
  public let settings: DialogSettings
  /// `DialogSettings.isMarkedUnread` at that time.
  public let isMarkedUnread: Bool

  public init(dialog: DialogID, settings: DialogSettings, isMarkedUnread: Bool) {
    self.dialog = dialog
    self.settings = settings
    self.isMarkedUnread = isMarkedUnread
  }
}
