import Addresses
import Basics
import Dialogs

extension StoreConformance {
  static let nonces: [Case] = [
    Case(name: "a nonce is used once in its realm, until its time is over") { scene in
      let (now, end) = (Timestamp(milliseconds: 1_000), Timestamp(milliseconds: 2_000))
      let other = try scene.write {
        try $0.insertRealm(domain: "mantua.example", rooms: "rooms.mantua.example", key: [UInt8](1..<33), epoch: 1)
      }
      func use(_ id: String, in realm: RealmID, at now: Timestamp, until end: Timestamp) throws -> Bool {
        do {
          try scene.write { try $0.use(nonce: id, in: realm, until: end, now: now) }
          return true
        } catch is StoreConflict { return false }
      }
      try equal(try use("a", in: scene.realm.id, at: now, until: end), true)
      try equal(try use("a", in: scene.realm.id, at: now, until: end), false)
      try equal(try use("a", in: other.id, at: now, until: end), true)
      try equal(try use("b", in: scene.realm.id, at: now, until: end), true)
      try scene.reopen()
      try equal(try use("b", in: scene.realm.id, at: Timestamp(milliseconds: 1_999), until: end), false)
      // A transaction that fails leaves nothing.
      struct Stop: Error {}
      do {
        try scene.write { writer in
          try writer.use(nonce: "c", in: scene.realm.id, until: end, now: now)
          throw Stop()
        }
      } catch is Stop {}
      try equal(try use("c", in: scene.realm.id, at: now, until: end), true)
      // Those whose time is over are forgotten, by and by, and no others.
      let later = Timestamp(milliseconds: 5_000)
      for number in 0..<20 {
        try equal(try use("n\(number)", in: scene.realm.id, at: end, until: later), true)
      }
      try equal(try use("a", in: scene.realm.id, at: end, until: later), true)
      for number in 0..<20 {
        try equal(try use("n\(number)", in: scene.realm.id, at: end, until: later), false)
      }
    },
    Case(name: "a guest becomes a user like others") { scene in
      let (guest, other) = try scene.write { writer in
        (
          try writer.insertGuest(try BareJID("a@verona.example"), in: scene.realm.id, createdAt: scene.time),
          try writer.insertGuest(try BareJID("b@verona.example"), in: scene.realm.id, createdAt: scene.time)
        )
      }
      try scene.write { try $0.endGuest(guest.id) }
      try scene.reopen()
      try equal(try scene.read { try $0.guests() }, [other.id])
      try equal(try scene.read { try $0.user(guest.id)?.isGuest }, false)
      try equal(try scene.read { try $0.userCount(in: scene.realm.id) }, 4)
    },
  ]
}
