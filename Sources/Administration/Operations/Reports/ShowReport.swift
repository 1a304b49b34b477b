import Addresses
import Basics
package import Dialogs
import HTTPPort

/// Shows a report with the quoted messages and the reporter's permissions.
package enum ShowReport: AdminOperation {
  package static let name = "reports.show"
  package static let routes = [
    AdminRoute(.get, "/reports/{id}", .reports)
  ]

  package struct Input: Codable, Sendable {
    let id: Int64
    package init(id: Int64) { self.id = id }
  }

  package struct Message: Codable, Hashable, Sendable {
    package let id: String
    /// nil if the reporter may not read it or it is encrypted.
    package let text: String?
    /// The dialog's id for apps, by which the message can be deleted; nil of a message that is not here, or not any more.
    package let dialog: String?
    /// The name of a group or public dialog, or its address; nil for a private one.
    package let dialogName: String?
    /// `private`, `group` or `public`; nil as `dialog` is.
    package let dialogType: String?
    package let sentAt: String?
    /// Whether it has been deleted for everybody.
    package let deleted: Bool

    init(_ message: Report.Message, in realm: RealmID, _ parley: Parley, _ reader: any StoreReader) throws {
      (id, text) = (message.id, message.text)
      guard let dialog = message.dialog,
        let position = PublicID(message.id).flatMap({ parley.position(of: $0, in: realm) }),
        let entry = try reader.entry(position, in: .server(dialog, .administration))
      else {
        (self.dialog, dialogName, dialogType, sentAt, deleted) = (nil, nil, nil, nil, false)
        return
      }
      (sentAt, deleted) = (entry.time.description, entry.state?.retraction != nil)
      let room = try reader.room(dialog)
      self.dialog = room?.isDestroyed == true ? nil : parley.dialogID(dialog, in: realm).description
      dialogName = room.map { $0.settings.name ?? $0.address.description }
      dialogType = room.map { $0.settings.isMembersOnly ? "group" : "public" } ?? "private"
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let report: ReportRow
    /// Whether the reporter allows forwarding to the origin server; `mayTellThirdParties` to maintainers of block lists
    /// (XEP-0377 3).
    package let mayTellOrigin: Bool
    package let mayTellThirdParties: Bool
    /// What has become of it on the way to the origin server: `waiting`, `forwarded`, `unaccepted` (that server takes no
    /// reports), `unreached` or `limited` (too many in that hour); nil if it is not to be forwarded.
    package let forwarding: String?
    package let messages: [Message]
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let report = try await context.report(input.id)
    let parley = context.parley
    let (row, messages) = try await parley.read { reader in
      (
        try ReportRow(report, reader),
        try report.messages.map { try Message($0, in: report.realm, parley, reader) }
      )
    }
    return Output(
      report: row,
      mayTellOrigin: report.consent.contains(.origin), mayTellThirdParties: report.consent.contains(.thirdParty),
      forwarding: report.forwarding.map { "\($0.state)" },
      messages: messages)
  }
}
