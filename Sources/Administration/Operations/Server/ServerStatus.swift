import Accounts
import Backends
import Basics
package import Dialogs
import ServerConfiguration

/// Reports the server's state; `parley health` uses it. It reads from the storage, so that a failure of that shows.
package enum ServerStatus: AdminOperation {
  package static let name = "server.status"
  package static let scope: AppKey.Scope? = .server
  package static let isReading = true

  package typealias Input = Empty

  package struct Reason: Codable, Hashable, Sendable {
    package let code: String
    package let text: String
  }

  /// Returns what an operator does about a server that does not work or is not ready (`Health`), by the code of the problem;
  /// nil for a problem of another kind.
  package static func nextStep(_ code: String) -> String? {
    switch code {
    case "starting": "try again in some seconds; the log has a line for each port that is open (journalctl -u parley)"
    case "stopping": "start it again when it has ended (systemctl start parley, or parley serve)"
    case "overloaded": "parley top shows its load; parley check --network measures the disk"
    case "storage-failed": "the log has the reason (journalctl -u parley); parley check looks at the data folder"
    default: nil
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let version: String
    package let uptimeSeconds: Int64
    package let domains: [String]
    package let users: Int
    package let usersOnline: Int
    package let sessions: Int
    /// The log's last position.
    package let position: Int64
    /// Whether the server accepts posts at present.
    package let accepting: Bool
    /// Whether the server takes new clients (`Health`), and the reason why not.
    package let isReady: Bool
    package let problem: Reason?
    /// The numbers of webhooks, of disabled ones, of those whose last attempt to deliver failed, of events that were given up,
    /// and of positions of the log by which the last failing webhook lags behind. An event of a user is at no position.
    package let webhooks: Int
    package let webhooksDisabled: Int
    package let webhooksFailing: Int
    package let webhookFailures: Int
    package let webhookBehind: Int64
    /// The time of the newest backup that the server has made by itself, and why the last attempt failed: for a caller
    /// over HTTP, where the log has the reason.
    package let lastBackupAt: String?
    package let backupFailure: String?
    /// The reason why no program replicates the database (`backup.replicated`).
    package let replicationFailure: String?
    /// The reason why the backend has not answered the last question about a message (`before_send`), with the effect.
    package let beforeSendFailure: String?
    /// The sentences about domains that have users and are not served; nil if there are none.
    package let unserved: [String]?
    /// The sentence about second factors that the server's key does not open; nil if there are none.
    package let lostSecondFactors: String?
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let parley = context.parley
    let realms = parley.realms
    let (users, position, unserved) = try await parley.read { reader in
      (
        try realms.reduce(0) { $0 + (try reader.userCount(in: $1.id)) }, try reader.head().position.number,
        try Accounts.unserved(besides: realms.map(\.domain), reader)
      )
    }
    let counts = parley.hub.counts
    var problem: Problem?
    do throws(Problem) { try await Health(parley).checkReady() } catch { problem = error }
    let hooks = try await context.hooks.counts()
    let backup = context.server?.backupStatus
    let lost = try await context.accounts.lostSecondFactors()
    return Output(
      version: Version.number,
      uptimeSeconds: max(0, parley.clock.now.milliseconds - context.startedAt.milliseconds) / 1_000,
      domains: realms.map(\.domain), users: users, usersOnline: counts.users, sessions: counts.sessions,
      position: position, accepting: !parley.isFull, isReady: problem == nil,
      problem: problem.map { .init(code: $0.code, text: $0.text) },
      webhooks: hooks.hooks, webhooksDisabled: hooks.disabled, webhooksFailing: hooks.failing,
      webhookFailures: hooks.failures, webhookBehind: hooks.behind, lastBackupAt: backup?.last?.description,
      backupFailure: backup?.failure.map { context.reason($0.explanation, logged: "no backup could be made") },
      replicationFailure: context.server?.replicationFailure, beforeSendFailure: context.server?.beforeSendFailure,
      unserved: unserved.isEmpty ? nil : unserved, lostSecondFactors: lost)
  }
}

extension ServerStatus.Output {
  /// The numbers of webhooks for people, and where the reason is if one does not get its events; nil if there are none.
  package var webhookState: String? {
    guard webhooks > 0 else { return nil }
    let failures = ProgressBar.counted(webhookFailures, "failed events")
    let behind = webhookBehind > 0 ? " and \(ProgressBar.counted(Int(webhookBehind), "positions")) behind" : ""
    return "\(webhooks) (\(webhooksDisabled) disabled, \(failures)"
      + (webhooksFailing > 0 ? ", \(webhooksFailing) FAILING\(behind): parley webhook list)" : ")")
  }
}
