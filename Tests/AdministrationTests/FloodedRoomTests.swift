import Addresses
import Basics
import ParleyServer
import ServerFixtures
import Testing

@testable import Administration
@testable import Dialogs

/// What operators do to a room that refuses further posts, since too much is said there.
@Suite struct FloodedRoomTests {
  @Test func operatorsLookAfterAFloodedRoom() async throws {
    try await withCore { core, context, _ in
      for name in ["alice", "bob"] {
        let input = AddUser.Input(jid: "\(name)@localhost", password: "secret", name: nil)
        _ = try await AddUser.perform(input, in: context)
      }
      let team = CreateDialog.Input(
        dialog: "team", owner: "alice@localhost", name: nil, about: nil, topic: nil, isPublic: false, externalId: nil,
        members: [])
      let address = try BareJID(try await CreateDialog.perform(team, in: context).jid)
      let room = try #require(try await core.parley.read { try $0.room(at: address) })
      let alice = try await context.user("alice@localhost").party
      let message = RoomMessageDraft(
        content: Content(kind: .text, text: "hi"), envelope: Envelope(type: .groupchat),
        traits: [.counts, .archived, .fromApp], key: nil)
      let said = try #require(try await core.parley.post(.room(.say(.dialog(room.id), message)), by: alice).entry)

      let now = core.parley.clock.now
      for account in [SendingAccount.room(address), .user(alice)] {
        core.parley.sending.budget(of: account, now: now).owe(deliveries: 100_000_000, now: now)
      }
      /// Notes that many hear the room: each delivery to it finds that nobody does.
      func flood() { core.parley.registries.audienceSizes.note(Limits.fanOutMin, in: room.name) }
      flood()
      await #expect(throws: Problem.self) {
        try await core.parley.post(.room(.say(.dialog(room.id), message)), by: alice)
      }
      flood()
      _ = try await DeleteMessage.perform(
        DeleteMessage.Input(dialog: "team", message: said.id.description, reason: nil), in: context)
      flood()
      _ = try await AddDialogMember.perform(
        AddDialogMember.Input(dialog: "team", jid: "bob@localhost", role: .member, nick: nil), in: context)
      flood()
      _ = try await UpdateDialog.perform(
        UpdateDialog.Input(dialog: "team", name: nil, about: "Calm", topic: "Peace"), in: context)
      let changed = try #require(try await core.parley.read { try $0.room(at: address) })
      #expect(changed.memberCount == 2 && changed.settings.about == "Calm" && changed.topic?.text == "Peace")
      let retracted = try await core.parley.read { try $0.entry(said.position, in: .server(room.id, .administration)) }
      #expect(retracted?.state?.retraction != nil)
    }
  }
}
