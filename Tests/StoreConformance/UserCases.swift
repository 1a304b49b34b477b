import Addresses
import Basics
import Dialogs

extension StoreConformance {
  static let users: [Case] = [
    Case(name: "realms are kept with key and epoch, in the order they came") { scene in
      let second = try scene.write {
        try $0.insertRealm(domain: "mantua.example", rooms: "halls.mantua.example", key: [9, 0, 255], epoch: .max)
      }
      try equal(try scene.read { try $0.realms() }, [scene.realm, second])
    },
    Case(name: "an epoch begins behind what is stored, for every realm, and a second one at the same place replaces it")
    {
      scene in
      let (dialog, sealer) = try scene.write { writer in
        (
          try writer.insert(dialog: .privately, first: scene.romeo, second: scene.juliet, createdAt: scene.time).id,
          Sealer(realm: scene.realm, purpose: .entry)
        )
      }
      try equal(try scene.read { try $0.lastDialog() }, dialog)
      let head = try scene.read { try $0.head().position }
      let first = try scene.write { try $0.beginEpoch(at: scene.time) }
      let epoch = try scene.write { try $0.beginEpoch(at: scene.time) }
      try equal(epoch, Epoch(after: head, dialog, number: epoch.number, began: scene.time))
      try equal(first.number == epoch.number, false)
      try scene.reopen()
      let realm = try scene.read { try $0.realms()[0] }
      try equal(realm.laterEpochs, [epoch])
      try equal(realm.currentEpoch, epoch.number)
      try equal(Sealer(realm: realm, purpose: .entry).open(sealer.seal(head.number)), head.number)
      try equal(Sealer(realm: realm, purpose: .entry).open(sealer.seal(head.number + 1)), nil)
    },
    Case(name: "a remote realm has the ids of its home, and users whose addresses may have no localpart") { scene in
      let (first, second) = try scene.write { writer in
        (
          try writer.insertRealm(remote: "irc.verona.example", home: scene.realm),
          try writer.insertRealm(remote: "sms.verona.example", home: scene.realm)
        )
      }
      try equal([first.id.isRemote, second.id.isRemote, scene.realm.id.isRemote], [true, true, false])
      try equal(first.id == second.id, false)
      try equal(Set(try scene.read { try $0.realms() }), [scene.realm, first, second])
      try equal(Sealer(realm: first, purpose: .entry).seal(7), Sealer(realm: scene.realm, purpose: .entry).seal(7))
      let gateway = try BareJID("irc.verona.example")
      let user = try scene.write {
        try $0.insertUser(gateway, in: first.id, profile: Profile(), createdAt: scene.time)
      }
      try scene.read { reader in
        try equal(try reader.user(gateway), user)
        try equal(try reader.party(user.id)?.address, gateway)
        try equal(try reader.party(user.id)?.name, "irc.verona.example")
        try equal(try reader.users(in: scene.realm.id, matching: nil, after: nil, limit: 100).contains(user), false)
      }
    },
    Case(name: "a federated realm has users of any domain, whom each home sees for itself") { scene in
      let (home, federated, other) = try scene.write { writer in
        let mantua = try writer.insertRealm(
          domain: "mantua.example", rooms: "halls.mantua.example", key: [9, 0, 255], epoch: 1)
        return (
          mantua, try writer.insertRealm(remote: "@verona.example", home: scene.realm),
          try writer.insertRealm(remote: "@mantua.example", home: mantua)
        )
      }
      try equal([federated.isFederated, federated.id.isRemote, home.isFederated], [true, true, false])
      let (rosaline, server) = (try BareJID("rosaline@capulet.example"), try BareJID("capulet.example"))
      let (here, there, domain) = try scene.write { writer in
        (
          try writer.insertUser(rosaline, in: federated.id, profile: Profile(), createdAt: scene.time),
          try writer.insertUser(rosaline, in: other.id, profile: Profile(), createdAt: scene.time),
          try writer.insertUser(server, in: federated.id, profile: Profile(), createdAt: scene.time)
        )
      }
      try scene.read { reader in
        try equal(here.id == there.id, false)
        try equal(try reader.user(rosaline, seenFrom: scene.realm.id), here)
        try equal(try reader.user(rosaline, seenFrom: federated.id), here)
        try equal(try reader.user(rosaline, seenFrom: home.id), there)
        try equal(try reader.user(server, seenFrom: scene.realm.id), domain)
        try equal(try reader.user(here.id), here)
        try equal(try reader.party(here.id)?.address, rosaline)
        try equal(try reader.party(here.id)?.name, "rosaline@capulet.example")
        // No domain of theirs is known, and no list has them.
        try equal(try reader.user(rosaline), nil)
        try equal(try reader.users(in: scene.realm.id, matching: "rosaline", after: nil, limit: 100), [])
        try equal(try reader.home(of: federated.id), scene.realm.id)
        try equal(try reader.home(of: scene.realm.id), scene.realm.id)
      }
      // A user of another realm of this store is a user elsewhere, too.
      let native = try BareJID("native@mantua.example")
      try scene.write { writer in
        _ = try writer.insertUser(native, in: home.id, profile: Profile(), createdAt: scene.time)
      }
      try scene.read { reader in
        try equal(try reader.user(native, seenFrom: home.id)?.realm, home.id)
        try equal(try reader.user(native, seenFrom: scene.realm.id), nil)
      }
    },
    Case(name: "a provisional id of a user elsewhere is never stored") { scene in
      let (first, second) = try scene.write { writer in
        (
          try writer.insertUser(
            BareJID("first@verona.example"), in: scene.realm.id, profile: Profile(), createdAt: scene.time),
          try writer.insertRealm(remote: "@verona.example", home: scene.realm)
        )
      }
      let stranger = Party(remote: try BareJID("rosaline@capulet.example"), realm: second.id)
      var isRefused = false
      do {
        _ = try scene.write {
          try $0.insert(dialog: .privately, first: first.party, second: stranger, createdAt: scene.time)
        }
      } catch {
        isRefused = true
      }
      try equal(isRefused, true)
    },
    Case(name: "a user is found by address and by number") { scene in
      let profile = Profile(displayName: "Tybalt \u{1F431}", status: "", avatarHash: "ab", metadata: "{\"a\":1}")
      let tybalt = try scene.write {
        try $0.insertUser(
          BareJID("tybalt@verona.example"), in: scene.realm.id, profile: profile, createdAt: scene.time)
      }
      try equal(tybalt.profile, profile)
      try equal(tybalt.state, .active)
      try equal(tybalt.delivered, .zero)
      try scene.read { reader in
        try equal(try reader.user(tybalt.address), tybalt)
        try equal(try reader.user(tybalt.id), tybalt)
        let party = try reader.party(tybalt.id)
        try equal(party?.address, tybalt.address)
        try equal(party?.realm, scene.realm.id)
        try equal(try reader.user(BareJID("nobody@verona.example")), nil)
        try equal(try reader.user(BareJID("tybalt@mantua.example")), nil)
        try equal(try reader.user(UserID(999_999)), nil)
        try equal(try reader.party(UserID(999_999)), nil)
      }
    },
    Case(name: "a guest is a user whom no list has, until they are deleted") { scene in
      let address = try BareJID("59bec12a-9bab-452b-88f8-d1563f09e549@verona.example")
      let count = try scene.read { try $0.userCount(in: scene.realm.id) }
      var guest = try scene.write { try $0.insertGuest(address, in: scene.realm.id, createdAt: scene.time) }
      try equal(guest.isGuest, true)
      try scene.read { reader in
        try equal(try reader.user(address), guest)
        try equal(try reader.guests(), [guest.id])
        try equal(try reader.userCount(in: scene.realm.id), count)
        try equal(
          try reader.users(in: scene.realm.id, matching: nil, after: nil, limit: 100).contains { $0.id == guest.id },
          false)
      }
      guest.state = .deleted
      try scene.write { try $0.update(guest) }
      try equal(try scene.read { try $0.guests() }, [])
      try equal(try scene.read { try $0.user(guest.id) }, guest)
    },
    Case(name: "a name beyond ASCII is kept") { scene in
      let address = try BareJID("jos\u{e9}@verona.example")
      let user = try scene.write {
        try $0.insertUser(address, in: scene.realm.id, profile: Profile(), createdAt: scene.time)
      }
      try equal(try scene.read { try $0.user(address) }, user)
      try equal(try scene.read { try $0.user(user.id)?.address }, address)
    },
    Case(name: "a name is given out once in its realm, also after its user was deleted") { scene in
      try scene.write { writer in
        guard var romeo = try writer.user(scene.romeo.id) else { throw Unmet(description: "no romeo") }
        romeo.state = .deleted
        try writer.update(romeo)
        for name in ["romeo", "juliet"] {
          do {
            _ = try writer.insertUser(
              BareJID("\(name)@verona.example"), in: scene.realm.id, profile: Profile(), createdAt: scene.time)
            throw Unmet(description: "\(name) was given out twice")
          } catch is StoreConflict {}
        }
        // The refusal does not end the transaction.
        let mantua = try writer.insertRealm(domain: "mantua.example", rooms: "", key: [1], epoch: 1)
        let other = try writer.insertUser(
          BareJID("romeo@mantua.example"), in: mantua.id, profile: Profile(), createdAt: scene.time)
        try require(other.id != scene.romeo.id, "a number was given out twice")
      }
      try equal(try scene.read { try $0.realms().count }, 2)
    },
    Case(name: "a user's state, profile, last seen and delivered change") { scene in
      var user = try scene.read { try $0.user(scene.romeo.id) }
      try equal(user?.lastSeenAt, nil)
      user?.state = .disabled
      user?.profile = Profile(displayName: "R", status: "s", avatarHash: "h", metadata: "{}")
      user?.lastSeenAt = Timestamp(milliseconds: 5)
      user?.delivered = Position(7)
      guard var user else { throw Unmet(description: "no romeo") }
      try scene.write { try $0.update(user) }
      try equal(try scene.read { try $0.user(scene.romeo.id) }, user)
      try scene.write {
        try $0.setDelivered(Position(9), for: user.id)
        try $0.setDelivered(Position(8), for: user.id)
        try $0.setLastSeen(Timestamp(milliseconds: 11), for: user.id)
      }
      user.delivered = Position(9)
      user.lastSeenAt = Timestamp(milliseconds: 11)
      try equal(try scene.read { try $0.user(scene.romeo.address) }, user)
      user.profile = Profile()
      user.lastSeenAt = nil
      try scene.write { try $0.update(user) }
      try equal(try scene.read { try $0.user(scene.romeo.id) }, user)
      try equal(try scene.read { try $0.user(scene.juliet.id)?.state }, .active)
    },
    Case(name: "users are listed by name, in pages") { scene in
      func names(_ matching: String?, after: String? = nil, limit: Int = 100) throws -> [String] {
        try scene.read {
          try $0.users(in: scene.realm.id, matching: matching, after: after, limit: limit).map(\.name)
        }
      }
      try equal(try names(nil), ["juliet", "nurse", "romeo"])
      try equal(try names(nil, limit: 2), ["juliet", "nurse"])
      try equal(try names(nil, after: "nurse", limit: 2), ["romeo"])
      try equal(try names(nil, after: "romeo"), [])
      try equal(try names(nil, limit: 0), [])
      try equal(try scene.read { try $0.users(in: RealmID(99), matching: nil, after: nil, limit: 9).count }, 0)
    },
    Case(name: "users are found by the beginning of the name or a part of the display name") { scene in
      try scene.write { writer in
        for (party, name) in [(scene.romeo, "\u{c9}lan MONTAGUE"), (scene.juliet, "Juliet Capulet")] {
          guard var user = try writer.user(party.id) else { throw Unmet(description: "no user") }
          user.profile.displayName = name
          try writer.update(user)
        }
      }
      func names(_ matching: String) throws -> [String] {
        try scene.read {
          try $0.users(in: scene.realm.id, matching: matching, after: nil, limit: 9).map(\.name)
        }
      }
      try equal(try names("rom"), ["romeo"])
      try equal(try names("omeo"), [])
      try equal(try names("tague"), ["romeo"])
      try equal(try names("\u{e9}LAN"), ["romeo"])
      try equal(try names("capu"), ["juliet"])
      try equal(try names("%"), [])
      try equal(try names("_"), [])
      try equal(try names("nurse"), ["nurse"])
    },
    Case(name: "deleted users are neither listed nor counted") { scene in
      try equal(try scene.read { try $0.userCount(in: scene.realm.id) }, 3)
      try scene.write { writer in
        guard var nurse = try writer.user(scene.nurse.id) else { throw Unmet(description: "no nurse") }
        nurse.state = .deleted
        try writer.update(nurse)
      }
      try scene.read { reader in
        try equal(try reader.userCount(in: scene.realm.id), 2)
        try equal(
          try reader.users(in: scene.realm.id, matching: nil, after: nil, limit: 9).map(\.name), ["juliet", "romeo"])
        try equal(try reader.user(scene.nurse.id)?.state, .deleted)
      }
    },
    Case(name: "credentials are replaced whole") { scene in
      func keys(_ hash: SCRAMHash, _ byte: UInt8) -> SCRAMKeys {
        SCRAMKeys(hash: hash, salt: [byte, 0], iterations: 4096, storedKey: [byte], serverKey: [0, byte])
      }
      try scene.write {
        try $0.setCredentials([keys(.sha1, 1), keys(.sha256, 2), keys(.sha512, 3)], for: scene.romeo.id)
        try $0.setCredentials([keys(.sha256, 4)], for: scene.juliet.id)
      }
      try equal(
        try scene.read { try $0.credentials(of: scene.romeo.id) }, [keys(.sha1, 1), keys(.sha256, 2), keys(.sha512, 3)])
      try scene.write { try $0.setCredentials([keys(.sha256, 5)], for: scene.romeo.id) }
      try equal(try scene.read { try $0.credentials(of: scene.romeo.id) }, [keys(.sha256, 5)])
      try equal(try scene.read { try $0.credentials(of: scene.juliet.id) }, [keys(.sha256, 4)])
      try equal(try scene.read { try $0.credentials(of: scene.nurse.id) }, [])
    },
    Case(name: "values are kept by node and item") { scene in
      let large = [UInt8](repeating: 0xab, count: 131_072)
      try scene.write {
        try $0.setValue(of: scene.romeo.id, node: "vcard", item: "bytes", large)
        try $0.setValue(of: scene.romeo.id, node: "vcard", item: "other", [1])
        try $0.setValue(of: scene.juliet.id, node: "vcard", item: "bytes", [])
      }
      try scene.read { reader in
        try equal(try reader.value(of: scene.romeo.id, node: "vcard", item: "bytes"), large)
        try equal(try reader.value(of: scene.romeo.id, node: "vcard", item: "other"), [1])
        try equal(try reader.value(of: scene.juliet.id, node: "vcard", item: "bytes"), [])
        try equal(try reader.value(of: scene.romeo.id, node: "avatar", item: "bytes"), nil)
      }
      try scene.write {
        try $0.setValue(of: scene.romeo.id, node: "vcard", item: "bytes", [7])
        try $0.setValue(of: scene.romeo.id, node: "vcard", item: "other", nil)
        try $0.setValue(of: scene.romeo.id, node: "vcard", item: "never there", nil)
      }
      try equal(try scene.read { try $0.value(of: scene.romeo.id, node: "vcard", item: "bytes") }, [7])
      try equal(try scene.read { try $0.value(of: scene.romeo.id, node: "vcard", item: "other") }, nil)
    },
    Case(name: "erasing a user's personal data leaves others' alone") { scene in
      let keys = SCRAMKeys(hash: .sha256, salt: [1], iterations: 4096, storedKey: [2], serverKey: [3])
      for (owner, other) in [(scene.romeo, scene.juliet), (scene.juliet, scene.romeo)] {
        try scene.write { writer in
          try writer.setCredentials([keys], for: owner.id)
          try writer.setValue(of: owner.id, node: "n", item: "i", [1])
          try writer.put(
            Contact(owner: owner.id, address: other.address, peer: other.id, subscription: .both, version: Position(1)))
          try writer.insert(
            RankedBlock(rank: 0, pattern: BlockPattern(JID(scene.nurse.address))), of: owner.id)
          try writer.put(LoginCase.grant(owner.id, byte: UInt8(owner.id.number)))
        }
      }
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try scene.read { reader in
        for (owner, count) in [(scene.romeo, 0), (scene.juliet, 1)] {
          try equal(try reader.credentials(of: owner.id).count, count, "credentials")
          try equal(try reader.value(of: owner.id, node: "n", item: "i") == nil, count == 0, "values")
          try equal(try reader.contacts(of: owner.id).count, count, "contacts")
          try equal(try reader.blocks(of: owner.id).count, count, "blocks")
          try equal(try reader.grants(of: owner.id).count, count, "grants")
        }
        try equal(try reader.user(scene.romeo.id)?.name, "romeo")
      }
    },
    Case(name: "a user's data is removed in pieces, each of which is bounded, also from the beginning again") { scene in
      try scene.write { writer in
        for owner in [scene.romeo, scene.juliet] {
          for rank in 0..<25 {
            try writer.insert(
              RankedBlock(rank: rank, pattern: BlockPattern(JID(scene.nurse.address))), of: owner.id)
          }
          for number in 0..<3 {
            try writer.setValue(of: owner.id, node: "n", item: "\(number)", Array(repeating: 1, count: 100_000))
          }
        }
        for _ in 0..<30 { _ = try scene.say("a note", by: scene.romeo, to: scene.romeo, writer) }
      }
      func blocks(of user: Party) throws -> Int { try scene.read { try $0.blocks(of: user.id).count } }
      var place: ErasurePlace? = ErasurePlace()
      var pieces = 0
      while let next = place {
        let rows = try scene.write { writer in
          let before = writer.changedRows
          place = try writer.eraseData(of: scene.romeo.id, endingFiles: false, at: next, limit: 10).next
          return writer.changedRows - before
        }
        try require(rows <= 10, "\(rows) rows in a piece of ten")
        pieces += 1
        // A server that starts does not know how far it was.
        if pieces == 5 {
          try require(try blocks(of: scene.romeo) > 0, "something is left")
          try scene.reopen()
          place = ErasurePlace()
        }
        try require(pieces < 99, "the removal ends")
      }
      try require(pieces > 5, "\(pieces) pieces")
      try equal(try blocks(of: scene.romeo), 0)
      try equal(try blocks(of: scene.juliet), 25)
      for number in 0..<3 {
        for (owner, isThere) in [(scene.romeo, false), (scene.juliet, true)] {
          let value = try scene.read { try $0.value(of: owner.id, node: "n", item: "\(number)") }
          try equal(value != nil, isThere)
        }
      }
    },
  ]
}
