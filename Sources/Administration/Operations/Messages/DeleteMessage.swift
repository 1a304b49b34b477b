import Accounts
import Addresses
package import Dialogs
import HTTPPort

/// Deletes a message for everybody; deleting it again succeeds. In a group or public dialog it is the owner who does it
/// (XEP-0425); in a private dialog the message is taken back as its author would.
package enum DeleteMessage: AdminOperation {
  package static let name = "messages.delete"
  package static let routes = [AdminRoute(.delete, "/dialogs/{dialog}/messages/{message}", .messagesModerate)]

  package struct Input: Codable, Sendable {
    /// The id of any dialog, or the address of a group or public one.
    let dialog: String
    let message: String
    /// A reason that the members see.
    let reason: String?
    package init(dialog: String, message: String, reason: String?) {
      self.dialog = dialog
      self.message = message
      self.reason = reason
    }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    guard Content.isText(input.reason ?? "") else {
      throw Problem(.malformed, "reason-malformed", "reason must not contain control characters.", field: "reason")
    }
    if let (dialog, realm) = try await context.privateDialog(input.dialog) {
      try await takeBack(input, in: dialog, realm, context)
    } else {
      try await moderate(input, in: try await context.dialog(input.dialog), context)
    }
    return Empty()
  }

  private static func takeBack(
    _ input: Input, in dialog: Dialog, _ realm: RealmID, _ context: AdminContext
  ) async throws(Problem) {
    let entry = try await entry(input.message, in: dialog.id, realm, context)
    let author = entry.author
    // The other user of the dialog is of the caller's realm; the author may be of another one of this server.
    if let own = context.realm, author.realm != own.id, context.parley.realms.contains(where: { $0.id == author.realm })
    {
      throw Problem(
        .forbidden, "author-of-another-domain",
        "Its author belongs to \(author.address.domain): only that domain can delete it.", field: "message")
    }
    try await context.accounts.takeBack(entry.position, in: dialog.id, by: author, reason: input.reason)
  }

  private static func moderate(_ input: Input, in room: Room, _ context: AdminContext) async throws(Problem) {
    let entry = try await entry(input.message, in: room.id, room.name.realm, context)
    if entry.state?.retraction != nil { return }
    let owner = try await context.owner(of: room)
    let kind: Reference.Kind =
      entry.author.id == owner.id ? .retraction(reason: input.reason) : .moderation(reason: input.reason)
    let draft = RoomMessageDraft(
      content: Content(kind: .none), envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp], key: nil,
      reference: ReferenceDraft(kind: kind, target: .entry(entry.id)))
    do throws(Problem) {
      try await context.parley.post(.room(.say(.dialog(room.id), draft)), by: owner, isFromBackend: true)
    } catch  where error.code == "message-deleted" {
      // Another deletion came first.
    }
  }

  /// Returns a message by its id.
  private static func entry(
    _ text: String, in dialog: DialogID, _ realm: RealmID, _ context: AdminContext
  ) async throws(Problem) -> Entry {
    guard let position = PublicID(text).flatMap({ context.parley.position(of: $0, in: realm) }),
      let entry = try await context.parley.read({ try $0.entry(position, in: .server(dialog, .administration)) }),
      case .message(let message) = entry.fact, message.sequence > 0
    else { throw Problem(.missing, "message-unknown", "There is no such message in this dialog.", field: "message") }
    return entry
  }
}

extension AdminContext {
  /// Returns the private dialog with an id of the caller's realm, and that realm; nil if the text is no such id.
  func privateDialog(_ text: String) async throws(Problem) -> (dialog: Dialog, realm: RealmID)? {
    guard let id = PublicID(text) else { return nil }
    let (parley, realms) = (parley, realm.map { [$0] } ?? parley.realms)
    return try await parley.read { reader in
      for realm in realms {
        guard let number = parley.dialog(of: id, in: realm.id), let dialog = try reader.dialog(number) else { continue }
        if dialog.kind != .own, dialog.first.realm == realm.id || dialog.second.realm == realm.id {
          return (dialog, realm.id)
        }
      }
      return nil
    }
  }
}
