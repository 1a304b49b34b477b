import Accounts
import Addresses
package import Dialogs

/// Lists why the operator should look at the addresses and domains that a configuration names, for `parley check`: the
/// configuration that is checked need not be the running server's. It also reports second factors that the server's key does
/// not open.
package enum CheckNames: AdminOperation {
  package static let name = "names.check"
  package static let isReading = true

  package struct Input: Codable, Sendable {
    /// The addresses, each with the key that names it.
    let names: [String: String]
    let domains: [String]
    package init(names: [String: String], domains: [String]) {
      self.names = names
      self.domains = domains
    }
  }

  /// The sentences: by address, by domain, and about second factors.
  package typealias Output = [String]

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [String] {
    var names: [BareJID: String] = [:]
    for (jid, key) in input.names { names[try AdminContext.account(jid)] = key }
    let lost = try await context.accounts.lostSecondFactors()
    return try await context.accounts.doubts(about: names).map(\.text)
      + context.parley.read { try Accounts.unserved(besides: input.domains, $0) } + (lost.map { [$0] } ?? [])
  }
}
