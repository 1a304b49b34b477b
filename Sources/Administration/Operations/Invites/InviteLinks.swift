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

  init(_ new: Invites.New, in context: AdminContext) {
    id = new.invite.id
    uri = new.uri
    page = context.publicURL.map { "\($0)/invite/\(new.token)" }
    expires = new.invite.expires.description
  }
}
