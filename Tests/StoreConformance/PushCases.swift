import Addresses
import Dialogs

/// Push registrations, and what is owed to them.
extension StoreConformance {
  static let pushes: [Case] = [
    Case(name: "push registrations are replaced by service and node, and stand over a restart") { scene in
      let service = try JID("push.localhost")
      func registration(_ user: Party, _ node: String, failures: Int = 0) -> PushRegistration {
        PushRegistration(
          user: user.id, service: service, node: node, options: node.isEmpty ? nil : [60, 62], resource: "r",
          pushed: Position(3), failures: failures, enabled: Position(2))
      }
      try scene.write { writer in
        try writer.put(registration(scene.romeo, "a"))
        try writer.put(registration(scene.romeo, "a", failures: 2))
        try writer.put(registration(scene.romeo, ""))
        try writer.put(registration(scene.juliet, "a"))
        try writer.removePushRegistration(registration(scene.juliet, "b"))
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(
          Set(try reader.pushRegistrations(of: scene.romeo.id)),
          [registration(scene.romeo, "a", failures: 2), registration(scene.romeo, "")])
        try equal(try reader.pushRegistrations().count, 3)
      }
      try scene.write { writer in
        try writer.removePushRegistration(registration(scene.romeo, "a"))
        try writer.erasePersonal(scene.juliet.id)
      }
      try scene.read { try equal(try $0.pushRegistrations(), [registration(scene.romeo, "")]) }
    },
    Case(name: "what is owed is there once, the newest in order, until it is taken away") { scene in
      try scene.write { writer in
        for number in [5, 2, 9, 5, 7] as [Int64] {
          try writer.owePush(OwedPush(position: Position(number), dialog: DialogID(1)), to: scene.romeo.id)
        }
        try writer.owePush(OwedPush(position: Position(6), dialog: DialogID(2)), to: scene.juliet.id)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.pushesOwed(to: scene.romeo.id, limit: 3).map(\.position.number), [5, 7, 9])
        try equal(Set(try reader.usersOwedPushes()), [scene.romeo.id, scene.juliet.id])
      }
      try scene.write { writer in
        try writer.removePushesOwed(to: scene.romeo.id, through: Position(7))
        try writer.erasePersonal(scene.juliet.id)
      }
      try scene.read { reader in
        try equal(
          try reader.pushesOwed(to: scene.romeo.id, limit: 3), [OwedPush(position: Position(9), dialog: DialogID(1))])
        try equal(try reader.usersOwedPushes(), [scene.romeo.id])
      }
    },
  ]
}
