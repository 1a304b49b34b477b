import Dialogs
import NIOCore
import Testing

@testable import XMPPDoor

/// Encoded lists are kept until they change, and never grow beyond their bound.
@Suite struct EncodedMemberListsTests {
  private let room = DialogID(1)

  @Test func aListIsFoundAsLongAsItIsTheList() {
    let lists = EncodedMemberLists()
    #expect(lists.find(.member, of: room, 1) == nil)
    lists.keep(ByteBuffer(string: "one"), .member, of: room, 1)
    #expect(lists.find(.member, of: room, 1) == ByteBuffer(string: "one"))
    #expect(lists.find(.member, of: room, 2) == nil)
    #expect(lists.find(.owner, of: room, 1) == nil)
    #expect(lists.find(.member, of: DialogID(2), 1) == nil)
    lists.keep(ByteBuffer(string: "two"), .member, of: room, 2)
    #expect(lists.find(.member, of: room, 1) == nil)
    #expect(lists.find(.member, of: room, 2) == ByteBuffer(string: "two"))
  }

  @Test func atTheBoundAllAreEncodedAnew() {
    let lists = EncodedMemberLists()
    let half = ByteBuffer(repeating: 0, count: DoorLimits.memberListBytesMax / 2)
    lists.keep(half, .member, of: room, 1)
    lists.keep(half, .member, of: DialogID(2), 1)
    // Its own place is free for the next edition.
    lists.keep(half, .member, of: room, 2)
    #expect(lists.find(.member, of: DialogID(2), 1) == half)
    #expect(lists.find(.member, of: room, 2) == half)
    lists.keep(half, .member, of: DialogID(3), 1)
    #expect(lists.find(.member, of: DialogID(3), 1) == half)
    #expect(lists.find(.member, of: room, 2) == nil)
    // One that is too large alone takes no other's place.
    lists.keep(ByteBuffer(repeating: 0, count: DoorLimits.memberListBytesMax + 1), .member, of: room, 3)
    #expect(lists.find(.member, of: room, 3) == nil)
    #expect(lists.find(.member, of: DialogID(3), 1) == half)
  }
}
