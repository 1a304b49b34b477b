import Basics
import Dialogs

/// The links with an invitation's token, for the guest. They are returned only once, at creation.
package struct InviteLinks: Codable, Hashable, Sendable {
  package let id: Int64
  /// The URI of XEP-0401 4.1.2 and 4.2.2.
  package let uri: String
  /// The URL of the landing page; nil if no HTTP port is open.
  package let page: String?
  package let expires: String

  init(_ new: Invites.New, in context: AdminContext) async throws(Problem) {
    guard let open = try await Invites(context.parley).find(token: new.token) else {
      throw Problem(.missing, "invitation-unknown", "The invitation was taken back.")
    }
    id = new.invite.id
    uri = open.uri(token: new.token)
    page = context.publicURL.map { "\($0)/invite/\(new.token)" }
    expires = new.invite.expires.description
  }
}
