import Addresses
import Basics
import Dialogs

/// Push registrations, and what is owed to them.
extension StoreConformance {
  static let pushes: [Case] = [
    Case(name: "push registrations are replaced by service and node, and stand over a restart") { scene in
      let service = try JID("push.localhost")
      func registration(_ user: Party, _ node: String, failures: Int = 0) -> PushRegistration {
        PushRegistration(
          user: user.id, target: .service(service, node: node, options: node.isEmpty ? nil : [60, 62]), resource: "r",
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
        try writer.erasePersonalData(scene.juliet.id)
      }
      try scene.read { try equal(try $0.pushRegistrations(), [registration(scene.romeo, "")]) }
    },
    Case(name: "devices stand beside services, keep all that is known of them, and go with their login") { scene in
      func device(_ id: String, _ change: (inout PushDevice) -> Void = { _ in }) -> PushDevice {
        var device = PushDevice(
          id: id, provider: .apns, token: "00ff", registeredAt: Timestamp(milliseconds: 1_700_000_000_000))
        change(&device)
        return device
      }
      func registration(_ device: PushDevice, grant: Int64) -> PushRegistration {
        PushRegistration(
          user: scene.romeo.id, target: .device(device), resource: "app-a", grant: grant, pushed: Position(3),
          failures: 4, enabled: Position(2))
      }
      let full = device("full") {
        $0.provider = .webpush
        $0.kind = .voip
        $0.environment = .sandbox
        $0.appID = "org.example.app"
        $0.token = "https://push.example.org/é"
        $0.keys = PushDevice.Keys(agreement: [4, 0, 255], secret: [])
        $0.platform = "ios"
        $0.locale = "pt-BR"
        $0.hearsSilently = true
      }
      let service = PushRegistration(
        user: scene.romeo.id, target: .service(try JID("push.localhost"), node: "full", options: nil), resource: "r",
        pushed: Position(1), enabled: Position(1))
      let all = [registration(device("bare"), grant: 7), registration(full, grant: 8), service]
      try scene.write { writer in
        for registration in all { try writer.put(registration) }
        try writer.put(registration(device("bare"), grant: 7))
      }
      try scene.reopen()
      try scene.read { try equal(Set(try $0.pushRegistrations(of: scene.romeo.id)), Set(all)) }
      try scene.write { try $0.removeGrant(8, of: scene.romeo.id) }
      try scene.read { try equal(Set(try $0.pushRegistrations(of: scene.romeo.id)), [all[0], service]) }
      try scene.write { try $0.removeGrants(of: scene.juliet.id) }
      try scene.read { try equal(try $0.pushRegistrations().count, 2) }
      try scene.write { try $0.removeGrants(of: scene.romeo.id) }
      try scene.read { try equal(try $0.pushRegistrations(), [service]) }
    },
    Case(name: "a notification of a backend is in its user's log, in no feed, and found by its name") { scene in
      let said = [
        AppNotification(id: "1", title: .text("a"), body: .key("k", ["x", "y"]), data: #"{"a":1}"#),
        AppNotification(id: "2", body: .key("k", [])), AppNotification(id: "3", body: nil, data: "{}"),
      ]
      let entries = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.romeo, writer)
        return try said.map { notification in
          let position = scene.step()
          let entry = Entry(
            position: position, time: scene.time, dialog: dialog.id, author: scene.romeo, place: .peer(scene.romeo),
            fact: .notification(notification), id: scene.id(position))
          try writer.insert(
            entry, feeds: [],
            key: RepeatKey(rule: .app, id: "n \(notification.id)", bodyHash: UInt64(position.number)))
          return entry
        }
      }
      try scene.reopen()
      try scene.write { reader in
        try equal(try reader.feed(of: scene.romeo.id, after: .zero, limit: 9).count, 0)
        for (entry, notification) in zip(entries, said) {
          guard case .notification(let found)? = try reader.entry(entry.position, in: entry.dialog)?.fact else {
            throw Unmet(description: "\(notification) is not there")
          }
          try equal(found, notification)
          let named = try reader.find("n \(notification.id)", by: scene.romeo.id, in: entry.dialog)
          try equal(named?.position, entry.position)
          try equal(named?.bodyHash, UInt64(entry.position.number))
        }
      }
      // It is theirs, and goes with them.
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try scene.reopen()
      try scene.write { reader in
        for (entry, notification) in zip(entries, said) {
          try require(try reader.entry(entry.position, in: entry.dialog) == nil, "\(notification) is still there")
          try require(
            try reader.find("n \(notification.id)", by: scene.romeo.id, in: entry.dialog) == nil, "its name is there")
        }
      }
    },
    Case(name: "a pending push keeps its subject") { scene in
      let owed = [
        OwedPush(position: Position(1), dialog: DialogID(1)),
        OwedPush(position: Position(2), dialog: DialogID(1), kind: .silent),
        OwedPush(position: Position(3), dialog: DialogID(2), kind: .callEnd, subject: Position(1)),
        OwedPush(position: Position(4), dialog: DialogID(2), kind: .notification),
      ]
      try scene.write { writer in for push in owed { try writer.owePush(push, to: scene.romeo.id) } }
      try scene.reopen()
      try scene.read { try equal(try $0.pushesOwed(to: scene.romeo.id, limit: 9), owed) }
    },
    Case(name: "who is owed pushes is told with the time of the oldest message that is left") { scene in
      let (first, second) = try scene.write { writer in
        let entries = try ["first", "second"].map { try scene.say($0, by: scene.juliet, to: scene.romeo, writer) }
        for entry in entries.reversed() {
          try writer.owePush(OwedPush(position: entry.position, dialog: entry.dialog), to: scene.romeo.id)
        }
        return (entries[0], entries[1])
      }
      func since() throws -> [Timestamp?] { try scene.read { try $0.usersOwedPushes().map(\.since) } }
      try equal(try since(), [first.time])
      try scene.write { try $0.removePushesOwed(to: scene.romeo.id, through: first.position) }
      try equal(try since(), [second.time])
      try scene.write { try $0.owePush(OwedPush(position: .zero, dialog: first.dialog), to: scene.romeo.id) }
      try equal(try since(), [nil])
    },
    Case(name: "a pending push is stored once, the newest in order, until it is removed") { scene in
      try scene.write { writer in
        for number in [5, 2, 9, 5, 7] as [Int64] {
          try writer.owePush(OwedPush(position: Position(number), dialog: DialogID(1)), to: scene.romeo.id)
        }
        try writer.owePush(OwedPush(position: Position(6), dialog: DialogID(2)), to: scene.juliet.id)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.pushesOwed(to: scene.romeo.id, limit: 3).map(\.position.number), [5, 7, 9])
        try equal(Set(try reader.usersOwedPushes().map(\.user)), [scene.romeo.id, scene.juliet.id])
      }
      try scene.write { writer in
        try writer.removePushesOwed(to: scene.romeo.id, through: Position(7))
        try writer.erasePersonalData(scene.juliet.id)
      }
      try scene.read { reader in
        try equal(
          try reader.pushesOwed(to: scene.romeo.id, limit: 3), [OwedPush(position: Position(9), dialog: DialogID(1))])
        try equal(try reader.usersOwedPushes().map(\.user), [scene.romeo.id])
      }
    },
  ]
}
