import Addresses
package import Dialogs
import HTTPPort

/// Creates a group or public dialog for an owner.
package enum CreateDialog: AdminOperation {
  package static let name = "dialogs.create"
  package static let routes = [
    AdminRoute(.post, "/dialogs", .dialogsWrite, status: 201, defaults: ["isPublic": "false"])
  ]

  package struct Input: Codable, Sendable {
    /// An address or its localpart; nil for a random one.
    let dialog: String?
    let owner: String
    let name: String?
    let about: String?
    let topic: String?
    /// Whether all users may find and join it; otherwise its members add members.
    let isPublic: Bool
    /// The backend's id of it, which no user can take.
    let externalId: String?
    let members: [String]?
    package init(
      dialog: String?, owner: String, name: String?, about: String?, topic: String?, isPublic: Bool,
      externalId: String?, members: [String]
    ) {
      self.dialog = dialog
      self.owner = owner
      self.name = name
      self.about = about
      self.topic = topic
      self.isPublic = isPublic
      self.externalId = externalId
      self.members = members
    }
  }

  package typealias Output = DialogRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> DialogRow {
    let owner = try await context.user(input.owner)
    let realm = context.parley.realms.first { $0.id == owner.realm }
    var localpart = input.dialog
    if let dialog = input.dialog, dialog.contains("@") {
      let address = try AdminContext.dialogAddress(dialog)
      guard let realm, address.domain == realm.rooms else {
        throw Problem(
          .foreign, "domain-not-served",
          "Dialogs of \(owner.address) must be at \(realm?.rooms ?? ""); \(address) is not.", field: "dialog")
      }
      localpart = address.local
    }
    var settings = input.isPublic ? RoomSettings.open : RoomSettings.group
    settings.name = input.name
    settings.about = input.about
    var members: [MemberDraft] = []
    for jid in input.members ?? [] {
      members.append(MemberDraft(address: try await context.user(jid).address, affiliation: .member))
    }
    let draft = RoomDraft(
      localpart: localpart, externalID: input.externalId.map { .backend($0) }, settings: settings, topic: input.topic,
      members: members)
    let receipt: Receipt
    do throws(Problem) {
      receipt = try await context.parley.post(.room(.create(draft)), by: owner.party, isFromBackend: true)
    } catch  where error.code == Problem.roomTaken.code {
      throw Problem(
        .conflict, error.code, "The address \(input.dialog ?? "") is or was another dialog's.", field: "dialog")
    }
    guard let room = receipt.room, !receipt.isRepeat else {
      throw Problem(.conflict, "external-id-taken", "There is a dialog with this external id.", field: "externalId")
    }
    return DialogRow(room, in: context)
  }
}
