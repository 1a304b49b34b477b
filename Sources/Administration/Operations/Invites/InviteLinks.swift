import Addresses
import Basics
package import Dialogs

/// What goes to whoever is invited: the token in two links. Told once, by whoever made the invitation.
package struct InviteLinks: Codable, Hashable, Sendable {
  package let id: Int64
  /// XEP-0401 4.1.2 and 4.2.2.
  package let uri: String
  /// The landing page; nil: no HTTP port is open.
  package let page: String?
  package let expires: String

  init(_ new: Parley.NewInvite, in context: AdminContext) async throws(Problem) {
    guard let open = try await context.parley.invite(token: new.token) else {
      throw Problem(.missing, "invitation-unknown", "The invitation was taken back.")
    }
    id = new.invite.id
    uri = Self.uri(open, token: new.token)
    page = context.publicURL.map { "\($0)/invite/\(new.token)" }
    expires = new.invite.expires.description
  }

  package static func uri(_ open: Parley.OpenInvite, token: String) -> String {
    if open.invite.kind == .contact, let inviter = open.inviter {
      return "xmpp:\(escaped("\(inviter.address)"))?roster;preauth=\(token)" + (open.makesAccount ? ";ibr=y" : "")
    }
    let name = open.invite.name.map { escaped($0) + "@" } ?? ""
    return "xmpp:\(name)\(escaped(open.realm.domain))?register;preauth=\(token)"
  }

  /// RFC 5122 2.2: what is not unreserved, and is not the @, is percent-encoded.
  private static func escaped(_ text: String) -> String { PercentEncoding.encode(text, keeping: "@") }
}
