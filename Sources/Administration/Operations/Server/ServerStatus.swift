import Basics
package import Dialogs
import ServerConfiguration

/// How the server is; also what `parley health` asks. Reads from the storage, so that a server which cannot says so.
package enum ServerStatus: AdminOperation {
  package static let name = "server.status"

  package typealias Input = Empty

  package struct Output: Codable, Hashable, Sendable {
    package let version: String
    package let uptimeSeconds: Int64
    package let domains: [String]
    package let users: Int
    package let usersOnline: Int
    package let sessions: Int
    /// The last position of the log.
    package let position: Int64
    /// Whether the server takes posts just now.
    package let accepting: Bool
    /// Webhooks, those that are disabled, what they did not take, and how many positions behind the last failing one is.
    package let webhooks: Int
    package let webhooksDisabled: Int
    package let webhookFailures: Int
    package let webhookBehind: Int64
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let parley = context.parley
    let realms = parley.realms
    let (users, position) = try await parley.read { reader in
      (try realms.reduce(0) { $0 + (try reader.userCount(in: $1.id)) }, try reader.head().position.number)
    }
    let counts = parley.hub.counts
    let hooks = try await parley.hookCounts()
    return Output(
      version: Version.number,
      uptimeSeconds: max(0, parley.clock.now.milliseconds - context.startedAt.milliseconds) / 1_000,
      domains: realms.map(\.domain), users: users, usersOnline: counts.users, sessions: counts.sessions,
      position: position, accepting: !parley.isFull,
      webhooks: hooks.hooks, webhooksDisabled: hooks.disabled, webhookFailures: hooks.failures,
      webhookBehind: hooks.behind)
  }
}
