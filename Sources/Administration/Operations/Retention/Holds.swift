import Accounts
import Addresses
package import Basics
package import Dialogs
import HTTPPort

/// Puts a hold on a user or dialog: nothing of it goes by retention or with an account.
package enum AddHold: AdminOperation {
  package static let name = "holds.add"
  package static let routes = [AdminRoute(.put, "/holds/{subject}", .holds)]

  package struct Input: Codable, Sendable {
    /// The address of a user or room, or the id of a dialog.
    let subject: String
    let note: String?
    package init(subject: String, note: String?) {
      self.subject = subject
      self.note = note
    }
  }

  package typealias Output = HoldRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> HoldRow {
    let (subject, realm) = try await context.holdSubject(input.subject)
    let hold = Hold(subject, in: realm, note: input.note, since: context.parley.clock.now)
    try await context.accounts.hold(hold)
    let stored = try await context.parley.read { reader in
      try reader.holds(in: realm).first { $0.subject == subject }
    }
    return try await context.rows([stored ?? hold])[0]
  }
}

/// Lists the holds, users first.
package enum ListHolds: AdminOperation {
  package static let name = "holds.list"
  package static let routes = [AdminRoute(.get, "/holds", .holds)]

  package typealias Input = Empty
  package typealias Output = AdminPage<HoldRow, String>

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let realm = context.realm?.id
    let holds = try await context.parley.read { try $0.holds(in: realm) }
    let users = holds.filter { if case .user = $0.subject { true } else { false } }
    return Output(items: try await context.rows(users + holds.filter { !users.contains($0) }))
  }
}

/// Removes a hold: what waits for it goes with the next run of retention.
package enum RemoveHold: AdminOperation {
  package static let name = "holds.remove"
  package static let routes = [AdminRoute(.delete, "/holds/{subject}", .holds, status: 204)]

  package struct Input: Codable, Sendable {
    let subject: String
    package init(subject: String) { self.subject = subject }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let (subject, _) = try await context.holdSubject(input.subject)
    try await context.accounts.removeHold(of: subject)
    return Empty()
  }
}

/// A hold in the operators' view.
package struct HoldRow: Codable, Hashable, Sendable {
  /// `user` or `dialog`.
  package let kind: String
  /// The user's or room's address, or the id of a private dialog.
  package let subject: String
  package let since: Timestamp
  package let note: String?
}

extension AdminContext {
  /// Returns the user, room or private dialog that a text names, also one that is deleted, and its realm.
  fileprivate func holdSubject(_ text: String) async throws(Problem) -> (Hold.Subject, RealmID) {
    let (parley, own) = (parley, realm)
    let realms = own.map { [$0] } ?? parley.realms
    // A name without @ belongs to the first domain, as in all commands, unless it is the id of a dialog.
    let isName = !text.contains("@") && PublicID(text) == nil
    let written = isName ? realms.first.map { "\(text)@\($0.domain)" } ?? text : text
    let address = written.contains("@") ? BareJID(parsing: written) : nil
    let found = try await parley.read { reader -> (Hold.Subject, RealmID)? in
      if let address {
        if realms.contains(where: { $0.rooms == address.domain }) {
          return try reader.room(at: address).map { (.dialog($0.id), $0.name.realm) }
        }
        guard realms.contains(where: { $0.domain == address.domain }) else { return nil }
        return try reader.user(address).map { (.user($0.id), $0.realm) }
      }
      guard let id = PublicID(text) else { return nil }
      for realm in realms {
        guard let number = parley.dialog(of: id, in: realm.id) else { continue }
        if let room = try reader.room(number), room.name.realm == realm.id { return (.dialog(number), realm.id) }
        if let dialog = try reader.dialog(number),
          [dialog.first, dialog.second].contains(where: { $0.realm == realm.id })
        {
          return (.dialog(number), realm.id)
        }
      }
      return nil
    }
    guard let found else {
      throw Problem(
        .missing, "hold-subject-unknown",
        "\(Line.safe(text)) is not a user, room or dialog of this server: give an address, or the id of a dialog.",
        field: "subject")
    }
    return found
  }

  fileprivate func rows(_ holds: [Hold]) async throws(Problem) -> [HoldRow] {
    let parley = parley
    return try await parley.read { reader in
      try holds.map { hold in
        switch hold.subject {
        case .user(let user):
          HoldRow(
            kind: "user", subject: try reader.party(user)?.address.description ?? String(user.number),
            since: hold.since, note: hold.note)
        case .dialog(let dialog):
          HoldRow(
            kind: "dialog",
            subject: try reader.roomName(dialog)?.address.description
              ?? parley.dialogID(dialog, in: hold.realm).description, since: hold.since, note: hold.note)
        }
      }
    }
  }
}
