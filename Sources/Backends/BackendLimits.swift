/// The bounds of this target, each with its number, its reason, and what happens at it.
enum BackendLimits {
  /// Hooks of a realm; each reads the log. The next is refused with `too-many-webhooks`.
  static let hooksMax = 20
  /// Bytes of a hook's URL; a longer one is `url-malformed`.
  static let hookURLBytesMax = 2_048
  /// Names in one hook's list of events; more are `events-malformed`.
  static let hookEventsMax = 64
  /// Events that a hook sends before it notes its progress, and as many of the dialogs behind it; so many may be sent again after a
  /// crash.
  static let hookPage = 64
  /// Events of one dialog among them. A dialog with more gets a position of its own, so that it delays no other by more than these.
  static let hookDialogPage = 8
  /// Dialogs of a hook with positions of their own. At the bound a page ends with the next dialog that has too many events, so that this
  /// one delays others: a user who writes into more dialogs than these at the permitted pace has few events in each.
  static let hookLanesMax = 64
  /// Entries that are looked at for one page, and as many for the dialogs behind it: most may be no events for the hook, or be left out.
  /// They are read at once, by a thread that others wait for.
  static let hookScanMax = 1_024
  /// Requests to one hook at the same time.
  static let hookRequestsMax = 8
  /// The wait before it is tried again, doubled each time up to the second (Standard Webhooks 1.0.0, "Deliverability
  /// and reliability").
  static let hookRetry: Duration = .seconds(5)
  static let hookRetryMax: Duration = .seconds(3_600)
  /// Attempts for one event, with the waits above some two hours; then it is recorded as a failure.
  static let hookAttemptsMax = 12
  /// The time without any success after which the hook is disabled, keeping its position.
  static let hookPatience: Duration = .seconds(3 * 86_400)
  /// Failures of one hook that are recorded, the newest.
  static let hookFailuresMax = 1_000
  /// Positions without events for a hook after which its position is stored again.
  static let hookNoteEvery: Int64 = 1_000
  /// The time for which a replaced secret still signs too.
  static let hookSecretOverlap: Duration = .seconds(86_400)
  /// The timeout of one request (Standard Webhooks 1.0.0, "Request timeouts": 15 to 30 s).
  static let hookTimeout: Duration = .seconds(15)
  /// The maximum length of a webhook's answer in bytes, whose content is ignored. A longer one is a failure.
  static let hookAnswerBytesMax = 1_048_576

  /// The maximum length of an answer to `message.before_send` in bytes: the longest text fits. A longer one counts as
  /// no answer.
  static let beforeSendAnswerBytesMax = 131_072
  /// The time between two log lines with the same reason why `message.before_send` was not answered, and between two about failures of one
  /// webhook: otherwise every message could log one.
  static let warningInterval: Duration = .seconds(60)
  /// The lines with different reasons in that time; further ones are counted in the next line.
  static let warningsMax = 8
  /// The maximum length of a refusal's code in bytes, and of its text in characters, which is truncated.
  static let refusalCodeBytesMax = 64
  static let refusalCharactersMax = 500
}
