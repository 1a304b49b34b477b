import Addresses
import Basics
import Dialogs

/// Users' settings, shared locations, contact matches, and tasks of their accounts.
extension StoreConformance {
  static let userSettings: [Case] = [
    Case(name: "settings of a user are the usual until they are put, and go with the user") { scene in
      var settings = UserSettings()
      try equal(try scene.read { try $0.userSettings(of: scene.romeo.id) }, settings)
      settings.lastSeen = .nobody
      settings.isSearchable = false
      (settings.callsFrom, settings.messagesFrom) = (.everybody, .contacts)
      settings.contactsMetadata = #"{"floor":2}"#
      settings.privateMetadata = #"{"theme":"dark"}"#
      settings.terms = TermsAcceptance(version: "2", time: Timestamp(milliseconds: 7))
      try scene.write { try $0.put(settings, of: scene.romeo.id) }
      try scene.reopen()
      try equal(try scene.read { try $0.userSettings(of: scene.romeo.id) }, settings)
      try equal(try scene.read { try $0.userSettings(of: scene.juliet.id) }, UserSettings())
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try equal(try scene.read { try $0.userSettings(of: scene.romeo.id) }, UserSettings())
    },
    Case(name: "a user has one note of the operators, which goes with the user") { scene in
      try equal(try scene.read { try $0.note(on: scene.romeo.id) }, nil)
      for text in ["Asked\nabout the balcony.", "Banished."] {
        let note = UserNote(user: scene.romeo.id, text: text, changedAt: scene.time)
        try scene.write { _ = try $0.put(note) }
        try equal(try scene.read { try $0.note(on: scene.romeo.id) }, note)
      }
      try scene.reopen()
      try equal(try scene.read { try $0.note(on: scene.romeo.id)?.text }, "Banished.")
      try equal(try scene.read { try $0.note(on: scene.juliet.id) }, nil)
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try equal(try scene.read { try $0.note(on: scene.romeo.id) }, nil)
    },
    Case(name: "the picture elsewhere is part of the profile") { scene in
      var user = try scene.read { try $0.user(scene.romeo.id) }
      user?.profile.avatarURL = "https://elsewhere.example/r.png"
      try scene.write { writer in if let user { try writer.update(user) } }
      try equal(
        try scene.read { try $0.user(scene.romeo.address)?.profile.avatarURL }, "https://elsewhere.example/r.png")
    },
    Case(name: "the directory folds names, and has only those who let themselves be searched for") { scene in
      try scene.write { writer in
        for (name, shown) in [("zoe", "Zoë Müller"), ("rene", "RENÉ"), ("hidden", "Zoë Hidden"), ("off", "Zoë Off")] {
          var user = try writer.insertUser(
            BareJID("\(name)@verona.example"), in: scene.realm.id, profile: Profile(displayName: shown),
            createdAt: scene.time)
          if name == "hidden" {
            var settings = UserSettings()
            settings.isSearchable = false
            try writer.put(settings, of: user.id)
          }
          if name == "off" {
            user.state = .disabled
            try writer.update(user)
          }
        }
        _ = try writer.insertGuest(BareJID("zoe-guest@verona.example"), in: scene.realm.id, createdAt: scene.time)
      }
      func found(
        _ text: String?, _ fields: DirectoryQuery.Fields = [.name, .id], after: String? = nil
      ) throws -> [String] {
        try scene.read {
          try $0.directory(of: scene.realm.id, DirectoryQuery(text: text, fields: fields, after: after, limit: 9))
        }.map(\.name)
      }
      for text in ["zoe", "ZOE", "zoë", "muller", "MÜLL"] { try equal(try found(text), ["zoe"], text) }
      try equal(try found("rené"), ["rene"])
      try equal(try found("re", .id), ["rene"])
      try equal(try found("rome", .name), [])
      try equal(try found("'%_"), [])
      try equal(try found(nil), ["juliet", "nurse", "rene", "romeo", "zoe"])
      try equal(try found(nil, after: "rene"), ["romeo", "zoe"])
      // Those who are in no list are looked at, too, and not named as long as somebody else is.
      func end(_ count: Int, after: String? = nil) throws -> String? {
        try scene.read { try $0.directoryEnd(of: scene.realm.id, after: after, count: count) }
      }
      try equal(try [end(1), end(2), end(4), end(9)], ["hidden", "juliet", "nurse", nil])
      let behind = try [end(1, after: "romeo"), end(2, after: "romeo"), end(3, after: "romeo")]
      try equal(behind, ["zoe", "zoe", nil])
      let part = DirectoryQuery(text: nil, after: "hidden", through: "rene", limit: 9)
      try equal(try scene.read { try $0.directory(of: scene.realm.id, part).map(\.name) }, ["juliet", "nurse", "rene"])
      // Operators find everybody, by the same letters.
      try equal(
        try scene.read { try $0.users(in: scene.realm.id, matching: "zoë", after: nil, limit: 9).map(\.name) },
        ["hidden", "off", "zoe"])
    },
    Case(name: "match keys are those of who lets themselves be found, as their identities are now") { scene in
      let (phone, mail) = (Identity(.phone, "+39045800000"), Identity(.email, "romeo@montague.example"))
      let keys = [phone, mail].map { ContactMatch.key($0.subject, salt: "salt") }
      func found(_ key: [UInt8]) throws -> [UserID] {
        try scene.read { try $0.users(matching: key, in: scene.realm.id) }
      }
      var settings = UserSettings()
      settings.isMatchable = true
      try scene.write { writer in
        try writer.setValue(of: scene.realm.id, item: "contact-match-salt", Array("salt".utf8))
        try writer.put(
          UserIdentity(phone, of: scene.romeo.id, since: Timestamp(milliseconds: 1)), in: scene.realm.id)
      }
      try equal(try found(keys[0]), [])
      try scene.write { try $0.put(settings, of: scene.romeo.id) }
      try equal(try found(keys[0]), [scene.romeo.id])
      try equal(try found(ContactMatch.key(phone.subject, salt: "other")), [])
      try scene.write { writer in
        try writer.put(UserIdentity(mail, of: scene.romeo.id, since: Timestamp(milliseconds: 1)), in: scene.realm.id)
        try writer.remove(phone, of: scene.romeo.id)
      }
      try scene.reopen()
      try equal(try found(keys[0]), [])
      try equal(try found(keys[1]), [scene.romeo.id])
      try scene.write { try $0.put(UserSettings(), of: scene.romeo.id) }
      try equal(try found(keys[1]), [])
      try scene.write { writer in
        try writer.put(settings, of: scene.romeo.id)
        try writer.erasePersonalData(scene.romeo.id)
      }
      try equal(try found(keys[1]), [])
    },
    Case(name: "shared locations are found by field, until they end") { scene in
      func at(_ row: Int, _ columns: ClosedRange<Int>, time: Int64) throws -> [UserID] {
        try scene.read {
          try $0.locations(
            in: scene.realm.id, row: row, columns: columns, after: Timestamp(milliseconds: time), limit: 9)
        }.map(\.user)
      }
      try scene.write { writer in
        for (user, column) in [(scene.romeo, 5), (scene.juliet, 7), (scene.nurse, 7)] {
          try writer.put(
            SharedLocation(
              user: user.id, cell: GridCell(row: 3, column: column),
              expires: Timestamp(milliseconds: user == scene.nurse ? 10 : 20)), in: scene.realm.id)
        }
      }
      try equal(try at(3, 4...6, time: 1), [scene.romeo.id])
      try equal(Set(try at(3, 5...7, time: 1)), [scene.romeo.id, scene.juliet.id, scene.nurse.id])
      try equal(try at(3, 7...7, time: 10), [scene.juliet.id])
      try equal(try at(4, 0...9, time: 1), [])
      try scene.write { writer in
        try writer.removeLocations(before: Timestamp(milliseconds: 10))
        try writer.removeLocation(of: scene.romeo.id)
        try writer.put(
          SharedLocation(
            user: scene.juliet.id, cell: GridCell(row: 4, column: 1), expires: Timestamp(milliseconds: 30)),
          in: scene.realm.id)
      }
      try scene.reopen()
      try equal(try scene.read { try $0.location(of: scene.nurse.id) }, nil)
      try equal(try at(3, 0...9, time: 1), [])
      try equal(try at(4, 0...9, time: 20), [scene.juliet.id])
    },
    Case(name: "tasks of accounts are kept until they are done") { scene in
      let blob = BlobID(PublicID(high: 1, low: 2))
      let (erasure, export) = try scene.write { writer in
        (
          try writer.put(AccountTask(user: scene.romeo.id, kind: .erasure, createdAt: scene.time)),
          try writer.put(AccountTask(user: scene.romeo.id, kind: .export, createdAt: scene.time))
        )
      }
      try require(erasure.id != export.id, "two tasks have one number")
      var (reached, done) = (erasure, export)
      reached.reached = Position(7)
      done.state = .done
      done.finishedAt = scene.time
      (done.blob, done.size) = (blob, 10_240)
      try scene.write { writer in
        try writer.replace(reached)
        try writer.replace(done)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.pendingAccountTasks(), [reached])
        try equal(try reader.accountTasks(of: scene.romeo.id), [done, reached])
        try equal(try reader.accountTasks(of: scene.juliet.id), [])
      }
      try scene.write { try $0.removeAccountTask(reached.id) }
      try equal(try scene.read { try $0.accountTask(reached.id) }, nil)
    },
    Case(name: "the messages of a user are found in the order of the log, page by page") { scene in
      let said = try scene.write { writer in
        [
          try scene.say("one", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("two", by: scene.juliet, to: scene.romeo, writer),
          try scene.say("three", by: scene.romeo, to: scene.nurse, writer),
        ]
      }
      func page(_ after: Position, _ limit: Int) throws -> ([Position], Position?) {
        let page = try scene.read { try $0.authored(by: scene.romeo.id, after: after, limit: limit) }
        return (page.messages.map { $0.position }, page.reached)
      }
      let first = try page(.zero, 2)
      try equal(first.0, [said[0].position])
      try equal(first.1, said[1].position)
      let second = try page(said[1].position, 2)
      try equal(second.0, [said[2].position])
      try equal(try page(second.1 ?? .end, 2).1, nil)
    },
    Case(name: "all files of a user end, and can be listed before") { scene in
      let ids = (1...3).map { BlobID(PublicID(high: 0, low: UInt64($0))) }
      try scene.write { writer in
        for id in ids {
          try writer.put(
            Blob(
              id: id, realm: scene.realm.id, owner: scene.romeo.id, name: "a", mediaType: nil, size: 1,
              purpose: .message, state: .stored, createdAt: scene.time, expiresAt: nil))
        }
      }
      try scene.read { reader in
        try equal(try reader.blobs(of: scene.romeo.id, after: nil, limit: 2).map(\.id), Array(ids[..<2]))
        try equal(try reader.blobs(of: scene.romeo.id, after: ids[1], limit: 2).map(\.id), [ids[2]])
        try equal(try reader.blobs(of: scene.juliet.id, after: nil, limit: 2).map(\.id), [])
      }
      try scene.write { try $0.erasePersonalData(scene.romeo.id, endingFiles: true) }
      try scene.read { reader in
        for id in ids { try equal(try reader.blob(id)?.isReadable(at: scene.time), false) }
      }
    },
  ]
}
