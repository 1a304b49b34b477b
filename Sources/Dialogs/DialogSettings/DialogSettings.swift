/// Of which messages of a dialog a user wants to be told while nobody looks (XEP-0492). Stored: never renumber.
public enum Alerts: UInt8, Hashable, Sendable, CaseIterable { case always = 1, onMention = 2, never = 3 }

/// What one user wants of one dialog or room. It stands in the user's row of the dialog, so that it goes when they leave.
///
/// A bookmark (XEP-0402) says some of it too, with more detail than matters here: what each kind of client is to do
/// (XEP-0492), and whether it is pinned (XEP-0469). `DialogSettings/DialogSettingsRules.swift` keeps the two in step.
public struct DialogSettings: Hashable, Sendable {
  /// nil: as is usual for such a dialog (`Pushes.usual`).
  public var alerts: Alerts?
  /// Until then nothing alerts, whatever `alerts` says; nil: no such time was set.
  public var mutedUntil: Timestamp?
  public var isPinned = false
  /// Out of the way; nothing but the user brings it back.
  public var isArchived = false
  /// Marked as unread while this was the last message the user had read (`.zero`: none): over once they read on.
  public var unreadAt: Position?
  /// Of the entry that tells of the last change; `.zero`: there is none.
  public var position = Position.zero

  public init() {}

  /// Whether it is marked as unread, for somebody who has read up to `displayed`.
  public func isMarkedUnread(displayed: Position) -> Bool { unreadAt == displayed }

  public func isMuted(at time: Timestamp) -> Bool { mutedUntil.map { time < $0 } ?? false }

  /// What applies at `time` where `usual` is what is usual.
  public func alerts(at time: Timestamp, usual: Alerts) -> Alerts { isMuted(at: time) ? .never : alerts ?? usual }
}

/// What is to change in the settings of a dialog; nil leaves as it is.
public struct DialogSettingsDraft: Sendable {
  /// `.some(nil)`: as is usual.
  public var alerts: Alerts??
  /// `.some(nil)`, or a time that has been: not muted.
  public var mutedUntil: Timestamp??
  public var isPinned: Bool?
  public var isArchived: Bool?
  public var isMarkedUnread: Bool?

  public init(
    alerts: Alerts?? = nil, mutedUntil: Timestamp?? = nil, isPinned: Bool? = nil, isArchived: Bool? = nil,
    isMarkedUnread: Bool? = nil
  ) {
    self.alerts = alerts
    self.mutedUntil = mutedUntil
    self.isPinned = isPinned
    self.isArchived = isArchived
    self.isMarkedUnread = isMarkedUnread
  }
}

/// What the settings of a dialog became (in the user's `self` dialog).
public struct DialogSettingsChange: Hashable, Sendable {
  public let dialog: DialogID
  /// As an entry without its `position`, which is that of the entry.
  public let settings: DialogSettings
  /// `DialogSettings.isMarkedUnread`, as it was then.
  public let isMarkedUnread: Bool

  public init(dialog: DialogID, settings: DialogSettings, isMarkedUnread: Bool) {
    self.dialog = dialog
    self.settings = settings
    self.isMarkedUnread = isMarkedUnread
  }
}
