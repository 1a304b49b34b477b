import Basics
package import Dialogs

/// Lists the accounts that have reached a bound of what they may send: in the last minute, or today that of the bytes
/// that are stored.
package enum ListBoundAccounts: AdminOperation {
  package static let name = "sending.list"
  package static let scope: AppKey.Scope? = .server
  package static let isReading = true
  /// The bounds are in the memory of the running server.
  package static let needsServer = true

  package typealias Input = Empty
  package typealias Output = AdminPage<BoundAccountRow, String>

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let now = context.parley.clock.now
    return Output(items: context.parley.sending.bound(now: now).map { BoundAccountRow($0) })
  }
}

/// An account at a bound in the operators' view.
package struct BoundAccountRow: Codable, Hashable, Sendable {
  /// The address of a user, of a room or of a network of clients (that of IPv4, or the first half of one of IPv6), the domain of another
  /// server or of a component, or the last two labels of other servers' domains.
  package let account: String
  /// `user`, `network`, `domain`, `zone`, `knownZone`, `component` or `room`. A known zone is all domains with the same last two labels
  /// from which acquaintances of a user here were heard since the start, and a zone the other ones.
  package let kind: String
  /// `stanzas`, `bytes`, `deliveries` to sessions in large rooms, or `day` for the bytes of messages that are stored in a day.
  package let bound: String
  /// The last time at which something was held back or refused.
  package let at: String

  init(_ account: BoundAccount) {
    self.account = account.account.description
    kind =
      switch account.account {
      case .user: "user"
      case .network: "network"
      case .domain, .peer: "domain"
      case .zone(_, let isKnown): isKnown ? "knownZone" : "zone"
      case .component: "component"
      case .room: "room"
      }
    bound = account.bound.rawValue
    at = account.at.description
  }
}
