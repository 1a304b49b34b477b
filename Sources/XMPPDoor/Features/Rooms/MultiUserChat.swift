import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0045: group and public dialogs as rooms. `Rooms/` handles messages and presence; this file handles the requests
/// to the service and to a room.
struct MultiUserChat: Feature {
  static let xep = XEP(
    45, "1.35.5", "Multi-User Chat",
    note: """
      A room that an app has created, or to which an app has added a member, stays persistent. Private messages are in \
      the archives of both users. Users of other servers and of components cannot create rooms. A configuration with \
      public logs, without an archive or with hidden presence of a role is refused. A new occupant gets the subject, even \
      an empty one, after the history and in a message of its own (7.2.15), before live messages (7.2.16); `test_set_topic` \
      of aioxmpp takes that message for the one with the new subject. [All choices](xep-0045.md).
      """)

  func register(in table: inout FeatureTable) {
    table.identify(.init(category: "conference", type: "text", name: "Rooms"), on: .rooms)
    table.advertise("\(NS.muc)", "\(NS.mucStableID)", on: [.rooms])
    table.iq(.get, .discoItems, to: [.rooms], RoomDirectory.items)
    table.iq(.get, .discoInfo, to: [.room], RoomDirectory.info)
    table.iq(.get, .discoItems, to: [.room], RoomDirectory.occupants)
    table.iq(.get, .mucAdmin, to: [.room], RoomPeople.list)
    table.iq(.set, .mucAdmin, to: [.room], RoomPeople.change)
    table.iq(.get, .mucOwner, to: [.room], RoomOwnership.form)
    table.iq(.set, .mucOwner, to: [.room], RoomOwnership.change)
    table.iq(.get, .register, to: [.room], RoomRegistration.offer)
    table.iq(.set, .register, to: [.room], RoomRegistration.register)
  }
}
