import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0045: group and public dialogs as rooms. What is said and who is there
/// comes and goes through `Rooms/`; here is what clients ask of the service and
/// of a room.
struct MultiUserChat: Feature {
  static let xep = XEP(
    45, "1.35.5", "Multi-User Chat",
    note: "every room is persistent; private messages are passed on and not archived; people are local users")

  func register(in table: inout FeatureTable) {
    table.identify(.init(category: "conference", type: "text", name: "Rooms"), on: .rooms)
    table.advertise("\(NS.muc)", "\(NS.mucUnique)", on: [.rooms])
    table.iq(.get, .discoItems, to: [.rooms], RoomDirectory.items)
    table.iq(.get, .discoInfo, to: [.room], RoomDirectory.info)
    table.iq(.get, .discoItems, to: [.room], RoomDirectory.occupants)
    // Older than 1.31: a name for a room that is not there yet.
    table.iq(.get, .mucUnique, to: [.rooms]) { turn, _ in
      turn.reply { writer in
        writer.open(.mucUnique)
        writer.text(House.randomID())
        writer.close()
      }
    }
    table.iq(.get, .mucAdmin, to: [.room], RoomPeople.list)
    table.iq(.set, .mucAdmin, to: [.room], RoomPeople.change)
    table.iq(.get, .mucOwner, to: [.room], RoomOwnership.form)
    table.iq(.set, .mucOwner, to: [.room], RoomOwnership.change)
    table.iq(.get, .register, to: [.room], RoomRegistration.offer)
    table.iq(.set, .register, to: [.room], RoomRegistration.register)
  }
}

/// XEP-0410: a client asks whether it is still in a room by pinging itself there;
/// the room answers for it (3.3), so a client that sleeps is not thrown out.
struct SelfPing: Feature {
  static let xep = XEP(410, "1.1.0", "MUC Self-Ping (Schrödinger's Chat)")
  static let optimization = "http://jabber.org/protocol/muc#self-ping-optimization"
  func register(in table: inout FeatureTable) { table.advertise(Self.optimization, on: [.room]) }
}

/// XEP-0421: who an occupant is, stable and opaque, in each presence and message.
struct OccupantIDs: Feature {
  static let xep = XEP(421, "1.0.1", "Occupant identifiers for semi-anonymous MUCs")
  func register(in table: inout FeatureTable) {}
}

/// XEP-0249: invitations from user to user are messages like any other.
struct DirectInvitations: Feature {
  static let xep = XEP(249, "1.2", "Direct MUC Invitations")
  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.conference)", on: [.session])
    table.read(.conference) { _, draft in draft.isKept = true }
  }
}

/// XEP-0317: a hat says what affiliation and role do not: that somebody is here
/// to read.
struct Hats: Feature {
  static let xep = XEP(317, "0.3.1", "Hats", note: "one hat, for the app's watchers; hats are not given by hand")
  func register(in table: inout FeatureTable) {}
}

/// XEP-0500: seconds between two messages of a participant.
struct SlowMode: Feature {
  static let xep = XEP(500, "0.1.1", "MUC Slow Mode")
  func register(in table: inout FeatureTable) {}
}
