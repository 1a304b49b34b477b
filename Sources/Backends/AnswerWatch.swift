import Basics
import Dialogs
import Logging
import Synchronization

/// Watches whether the backend answers `message.before_send`. The log has a line when it does not, at the pace of `BackendLimits`, and
/// one when it answers again; `parley health` shows why the last question was not answered.
final class AnswerWatch: Sendable {
  private struct State {
    var pace = LogPace(
      interval: BackendLimits.warningInterval, linesOfReasonMax: 1, linesMax: BackendLimits.warningsMax)
    /// The reason of the last failure, and the time of the first since the last answer.
    var failure: (reason: String, since: Timestamp)?
    /// Whether the log has a line about a failure since the last answer.
    var isLogged = false
  }

  private let host: String
  /// The effect on messages without an answer.
  private let effect: String
  private let logger: Logger
  private let state = Mutex(State())

  /// Creates a watch.
  ///
  /// - Parameters:
  ///   - url: The backend's URL, of which the log has the host and port alone: its user and path may be secrets.
  ///   - passes: Whether messages are sent without an answer.
  init(url: String, passes: Bool, logger: Logger) {
    let authority = url.drop { $0 != ":" }.drop { $0 == ":" || $0 == "/" }.prefix { !"/?#".contains($0) }
    host = authority.split(separator: "@").last.map { String($0) } ?? ""
    effect =
      passes
      ? "messages are sent unchecked (before_send.on_failure: allow)"
      : "messages are refused (before_send.on_failure: refuse)"
    self.logger = logger
  }

  /// The reason why the last question was not answered, since when none was, and the effect; `nil` if it was answered.
  var failure: String? {
    state.withLock { $0.failure }.map { "\($0.reason), since \($0.since); \(effect)" }
  }

  func answered() {
    let wasLogged = state.withLock { state in
      defer { (state.failure, state.isLogged) = (nil, false) }
      return state.isLogged
    }
    if wasLogged { logger.notice("before_send is answered again", metadata: ["host": "\(host)"]) }
  }

  func failed(_ reason: String, at now: Timestamp) {
    let unlogged: Int? = state.withLock { state in
      state.failure = (reason, state.failure?.since ?? now)
      guard let unlogged = state.pace.note(reason, now: .now) else { return nil }
      state.isLogged = true
      return unlogged
    }
    guard let unlogged else { return }
    logger.warning(
      "before_send was not answered; \(effect)",
      metadata: ["host": "\(host)", "reason": "\(reason)", "unlogged": "\(unlogged)"])
  }
}
