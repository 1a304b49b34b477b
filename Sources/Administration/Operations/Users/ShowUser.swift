import Accounts
import Basics
package import Dialogs
import HTTPPort

/// Shows all that an operator may know about a user: no message and no secret.
package enum ShowUser: AdminOperation {
  package static let name = "users.show"
  package static let routes = [
    AdminRoute(.get, "/users/{jid}", .usersRead)
  ]

  package struct Input: Codable, Sendable {
    let jid: String
    package init(jid: String) { self.jid = jid }
  }

  package struct Login: Codable, Hashable, Sendable {
    package let device: String
    package let client: String?
    package let usedAt: String
  }

  package struct Output: Codable, Hashable, Sendable {
    package let user: UserRow
    package let status: String?
    package let contacts: Int
    package let blocks: Int
    package let sessions: [SessionRow]
    package let logins: [Login]
    /// The user's identities by kind; nil if there is none.
    package let externalId: String?
    package let email: String?
    package let phone: String?
    /// All identities, such as `email someone@example.org`.
    package let identities: [String]
    package let password: Bool
    package let secondFactor: Bool
    package let lastLoginAt: String?
    /// The version of the terms that the user accepted last, and when.
    package let termsVersion: String?
    package let termsAcceptedAt: String?
    /// The operators' note; nil if there is none.
    package let note: String?
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    let (contacts, blocks, grants, account, terms, note) = try await context.parley.read { reader in
      (
        try reader.contacts(of: user.id).count { $0.subscription.isInRoster }, try reader.blocks(of: user.id).count,
        try reader.grants(of: user.id), try Account(of: user.id, reader),
        try reader.userSettings(of: user.id).terms, try reader.note(on: user.id)?.text
      )
    }
    let sessions = context.parley.hub.allSessions(of: user.id).map(SessionRow.init)
    return Output(
      user: UserRow(user, in: context), status: user.profile.status, contacts: contacts, blocks: blocks,
      sessions: sessions.sorted { $0.resource < $1.resource },
      logins: grants.sorted { $0.usedAt > $1.usedAt }.map {
        Login(device: $0.device, client: $0.client, usedAt: $0.usedAt.description)
      },
      externalId: account.identities.first { $0.identity.issuer == .external }?.identity.subject,
      email: account.identities.first { $0.identity.issuer == .email }?.identity.subject,
      phone: account.identities.first { $0.identity.issuer == .phone }?.identity.subject,
      identities: account.identities.map { "\($0.identity.issuer.word) \($0.identity.subject)" },
      password: account.hasPassword, secondFactor: account.hasSecondFactor,
      lastLoginAt: account.lastLogin.map(\.description), termsVersion: terms?.version,
      termsAcceptedAt: (terms?.time).map(\.description), note: note)
  }
}

extension Identity.Issuer {
  /// The name of the issuer in tables and JSON.
  var word: String {
    switch self {
    case .external: "external"
    case .email: "email"
    case .phone: "phone"
    case .provider(let name): name
    }
  }
}
