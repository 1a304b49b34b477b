import Accounts
import Addresses
import Basics
import Dialogs
import ParleyServer
import ServerFixtures
import Testing

@testable import Administration

/// Invitations and reports as operators see them.
@Suite struct InviteTests {
  @Test func operatorsInviteListAndRevoke() async throws {
    try await withCore { core, context, _ in
      let context = AdminContext(
        accounts: core.accounts, startedAt: context.startedAt, publicURL: "https://chat.example")
      _ = try await AddUser.perform(AddUser.Input(jid: "alice@localhost", password: "x", name: nil), in: context)
      let free = try await CreateInvite.perform(
        CreateInvite.Input(domain: nil, name: nil, contact: nil), in: context)
      #expect(free.uri.hasPrefix("xmpp:localhost?register;preauth="))
      let token = String(free.uri.split(separator: "=").last ?? "")
      #expect(free.page == "https://chat.example/invite/\(token)")
      let named = try await CreateInvite.perform(
        CreateInvite.Input(domain: nil, name: "carol", contact: "alice@localhost"), in: context)
      #expect(named.uri.hasPrefix("xmpp:carol@localhost?register;preauth="))
      let list = try await ListInvites.perform(ListInvites.Input(domain: nil), in: context)
      #expect(list.map(\.name) == [nil, "carol"])
      #expect(list.map(\.inviter) == [nil, "alice@localhost"])
      _ = try await RevokeInvite.perform(RevokeInvite.Input(id: free.id), in: context)
      #expect(try await ListInvites.perform(ListInvites.Input(domain: nil), in: context).map(\.id) == [named.id])
      await #expect(throws: Problem.self) {
        try await RevokeInvite.perform(RevokeInvite.Input(id: free.id), in: context)
      }
    }
  }

  /// What a report names can be deleted, in a private dialog as well, of whichever door the report is.
  @Test func aReportedMessageIsDeleted() async throws {
    try await withCore { core, context, _ in
      let alice = try await core.accounts.register(try BareJID("alice@localhost"), password: "x", displayName: nil)
        .party
      let bob = try await core.accounts.register(try BareJID("bob@localhost"), password: "x", displayName: nil).party
      let draft = MessageDraft(
        to: alice.address, content: Content(kind: .text, text: "Daggers"), envelope: Envelope(type: .chat),
        traits: [.archived], key: nil)
      let said = try #require(try await core.parley.post(.message(draft), by: bob).entry)
      let report = ReportDraft(
        reported: BlockPattern(bob.address.jid), reason: "urn:xmpp:reporting:spam", messages: [said.id.description])
      try await core.parley.post(.block([report.reported], reports: [report]), by: alice)
      let row = try #require(try await ListReports.perform(ListReports.Input(domain: nil), in: context).items.first)
      #expect(row.quote == "Daggers")
      let message = try #require(
        try await ShowReport.perform(ShowReport.Input(id: row.id), in: context).messages.first)
      #expect(message.dialogType == "private" && message.dialogName == nil && !message.deleted && message.sentAt != nil)
      let delete = DeleteMessage.Input(dialog: try #require(message.dialog), message: message.id, reason: "Spam")
      for _ in 0..<2 { _ = try await DeleteMessage.perform(delete, in: context) }
      let entry = try await core.parley.read { reader in
        try reader.entry(said.position, in: .server(said.dialog, .administration))
      }
      // She has blocked him, so that it is not he who takes it back.
      #expect(entry?.state?.retraction?.reason == "Spam")
      #expect(try await ShowReport.perform(ShowReport.Input(id: row.id), in: context).messages.first?.deleted == true)
      let other = DeleteMessage.Input(dialog: delete.dialog, message: report.messages[0] + "x", reason: nil)
      await #expect(throws: Problem.self) { try await DeleteMessage.perform(other, in: context) }
    }
  }

  @Test func reportsAreListedShownAndDismissed() async throws {
    try await withCore { core, context, _ in
      let user = try await core.accounts.register(try BareJID("alice@localhost"), password: "x", displayName: nil)
      let spammer = BlockPattern(try JID("spam@localhost"))
      let draft = ReportDraft(
        reported: spammer, reason: "urn:xmpp:reporting:spam", text: "Daggers again", consent: [.origin],
        messages: ["m"])
      try await core.parley.post(.block([spammer], reports: [draft]), by: user.party)
      let list = try await ListReports.perform(ListReports.Input(domain: nil), in: context).items
      let row = try #require(list.first)
      #expect(list.count == 1 && row.reporter == "alice@localhost" && row.reported == "spam@localhost")
      #expect(row.reason == "spam" && row.messages == 1)
      let shown = try await ShowReport.perform(ShowReport.Input(id: row.id), in: context)
      #expect(shown.mayTellOrigin && !shown.mayTellThirdParties)
      #expect(shown.forwarding == nil)
      let time = core.parley.clock.now
      try await core.parley.work { try $0.set(Report.Forwarding(.unaccepted, at: time), of: row.id) }
      let later = try await ShowReport.perform(ShowReport.Input(id: row.id), in: context)
      #expect(later.forwarding == "unaccepted")
      let message = try #require(shown.messages.first)
      #expect(shown.messages.count == 1 && message.id == "m" && message.text == nil && message.dialog == nil)
      _ = try await DismissReport.perform(DismissReport.Input(id: row.id), in: context)
      #expect(try await ListReports.perform(ListReports.Input(domain: nil), in: context).items == [])
    }
  }
}
