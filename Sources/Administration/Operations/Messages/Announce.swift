import Basics
package import Dialogs
import HTTPPort

/// Sends a text from the domain to all users with an online XMPP session.
package enum Announce: AdminOperation {
  package static let name = "announce"
  package static let routes = [
    AdminRoute(.post, "/announcements", .announcements)
  ]
  package static let needsServer = true

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    let text: String
    package init(domain: String?, text: String) {
      self.domain = domain
      self.text = text
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let domain: String
    /// The number of sessions that received it.
    package let sessions: Int
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    return Output(domain: realm.domain, sessions: try Announcements(context.parley).send(input.text, in: realm))
  }
}

extension AdminContext {
  /// Returns a served realm; nil means the first.
  func realm(_ domain: String?) throws(Problem) -> Realm {
    let found = domain.map { parley.realm(domain: $0) } ?? realm ?? parley.realms.first
    guard let found, realm.map({ $0 == found }) ?? true else {
      throw Problem(
        .foreign, "domain-not-served", "\(Line.safe(domain ?? "")) is not served here.", field: "domain")
    }
    return found
  }
}
