import Addresses
import Dialogs
import DialogsFixtures
import NIOCore
import Testing

@testable import XMPPDoor

/// Entries of rooms for which XMPP sends no message, such as changes of members.
@Suite struct UnsaidEntriesTests {
  /// They may come to thousands of clients that lag: none of these needs a page of the log for them, now or later.
  @Test func anEntryWithoutAMessageLeavesNobodyBehind() async throws {
    let network = try ServerNetwork()
    let place = try await network.place()
    let juliet = try await network.stage.user("juliet")
    let jid = try #require(FullJID(parsing: "juliet@localhost/balcony"))
    let room = RoomName(dialog: DialogID(7), realm: juliet.realm, address: try BareJID("verona@rooms.localhost"))
    let member = MemberChange(party: juliet, was: .member, now: .member, nick: "another", reason: nil)
    let topic = Topic(text: "Two households", nick: "juliet", time: someTime)
    let changes: [RoomChange.Change] = [.member(member), .topic(topic)]
    let entries = changes.enumerated().map { index, change in
      Entry(
        position: Position(Int64(index) + 1), time: someTime, dialog: room.dialog, author: juliet, place: .room(room),
        fact: .room(RoomChange(sequence: 0, change: change)), id: PublicID(high: 0, low: UInt64(index) + 1))
    }
    let (door, loopContext) = (network.door, place.loopContext)
    let cursors = try await place.loop.submit { () -> [LogCursor] in
      let session = XMPPSession(door: door, loopContext: loopContext.value, party: juliet, jid: jid)
      session.cursor = StreamCursor(at: .zero, replay: .over, replayed: .zero)
      session.entryBytes = DoorLimits.unacknowledgedEntryBytesMax
      let cursors = entries.map { entry -> LogCursor in
        session.receive(.entry(entry, .room))
        return session.cursor.log
      }
      session.end()
      return cursors
    }.get()
    // A topic is a message, which the log has.
    #expect(cursors == [LogCursor(at: Position(1)), LogCursor(at: Position(1), .behind)])
    try await network.end()
  }
}
