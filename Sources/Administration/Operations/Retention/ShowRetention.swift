package import Basics
package import Dialogs
import HTTPPort

/// Shows the ages at which messages and accounts go, and the last run.
package enum ShowRetention: AdminOperation {
  package static let name = "retention.show"
  package static let routes = [AdminRoute(.get, "/retention", .server)]

  package typealias Input = Empty

  /// The bounds of one domain; nil: there is none.
  package struct Domain: Codable, Hashable, Sendable {
    package let domain: String
    /// The ages of messages, in days.
    package let privateDays: Int64?
    package let roomDays: Int64?
    /// The bytes of files in messages beyond which the oldest go.
    package let fileBytes: Int64?
  }

  package struct Output: Codable, Hashable, Sendable {
    package let domains: [Domain]
    /// The days without use after which an account is deleted; nil: none is.
    package let accountDays: Int64?
    /// The days that files in messages are kept; nil: for ever, or there are none.
    package let fileDays: Int64?
    package let holds: Int
    package let isRunning: Bool
    /// The last run of the server that is running; nil if there was none.
    package let last: RetentionRow?
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let (state, parley) = (context.parley.registries.retention, context.parley)
    let policy = state.policy
    let holds = try await parley.read { try $0.holds(in: nil).count }
    return Output(
      domains: parley.realms.map { realm in
        let bounds = policy.bounds(of: realm.domain)
        return Domain(
          domain: realm.domain, privateDays: days(bounds.privately), roomDays: days(bounds.rooms),
          fileBytes: bounds.fileBytes)
      }, accountDays: days(policy.accounts), fileDays: days(policy.files), holds: holds, isRunning: state.isRunning,
      last: state.last.map(RetentionRow.init))
  }

  private static func days(_ age: Duration?) -> Int64? { age?.days }
}

/// A run of retention in the operators' view.
package struct RetentionRow: Codable, Hashable, Sendable {
  package let startedAt: Timestamp
  package let finishedAt: Timestamp
  package let messages: Int
  /// The dialogs of these messages.
  package let dialogs: Int
  package let files: Int
  package let accounts: Int
  /// The dialogs and accounts of which something stays because of a hold.
  package let held: Int
  /// The reason why it ended early; nil if it did not.
  package let failure: String?

  init(_ report: RetentionReport) {
    startedAt = report.startedAt
    finishedAt = report.finishedAt
    messages = report.messages
    dialogs = report.dialogs
    files = report.files
    accounts = report.accounts
    held = report.held
    failure = report.failure
  }
}
