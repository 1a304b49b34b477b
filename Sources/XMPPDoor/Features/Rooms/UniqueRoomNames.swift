import XMLStream
import XMPP

/// XEP-0307: returns an unused room name. A random one will do: 128 bits are unique, so nothing need be reserved.
struct UniqueRoomNames: Feature {
  static let xep = XEP(307, "0.1", "Unique Room Names for Multi-User Chat")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.mucUnique)", on: [.rooms])
    table.iq(.get, .mucUnique, to: [.rooms]) { turn, _ in
      turn.reply { writer in
        writer.element(.mucUnique) { $0.text(DoorContext.randomID()) }
      }
    }
  }
}
