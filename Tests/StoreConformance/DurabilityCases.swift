import Addresses
import Dialogs

extension StoreConformance {
  private struct Refusal: Error, Equatable { let number: Int }

  static let durability: [Case] = [
    Case(name: "a body that throws leaves nothing, and its error comes through") { scene in
      try scene.write { try scene.say("kept", by: scene.romeo, to: scene.juliet, $0) }
      let before = try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 99) }
      do {
        try scene.write { writer in
          try scene.say("gone", by: scene.romeo, to: scene.nurse, writer)
          try writer.setHead(Position(50), time: scene.time)
          _ = try writer.insertUser(
            BareJID("paris@verona.example"), in: scene.realm.id, profile: Profile(), createdAt: scene.time)
          throw Refusal(number: 7)
        }
        throw Unmet(description: "the error did not come through")
      } catch let refusal as Refusal {
        try equal(refusal, Refusal(number: 7))
      }
      try scene.read { reader in
        try equal(try reader.feed(of: scene.romeo.id, after: .zero, limit: 99), before)
        try equal(try reader.head().position, Position(1))
        try equal(try reader.user(BareJID("paris@verona.example")), nil)
        try equal(try reader.dialog(between: scene.romeo.id, and: scene.nurse.id), nil)
      }
      // The next user may get the number, and must not have anything of the first.
      let benvolio = try scene.write {
        try $0.insertUser(
          BareJID("benvolio@verona.example"), in: scene.realm.id, profile: Profile(), createdAt: scene.time)
      }
      try equal(try scene.read { try $0.party(benvolio.id)?.address }, benvolio.address)
    },
    Case(name: "a reader's error comes through, and the store goes on") { scene in
      do {
        try scene.read { _ in throw Refusal(number: 1) }
        throw Unmet(description: "the error did not come through")
      } catch let refusal as Refusal {
        try equal(refusal, Refusal(number: 1))
      }
      try equal(try scene.read { try $0.realms().count }, 1)
    },
    Case(name: "a reader sees what was committed, also while something is being written") { scene in
      let said = try scene.write { try scene.say("1", by: scene.romeo, to: scene.juliet, $0) }
      try scene.write { writer in
        let second = try scene.say("2", by: scene.romeo, to: scene.juliet, writer)
        try equal(try scene.read { try $0.feed(of: scene.juliet.id, after: .zero, limit: 9) }, [said])
        try equal(try scene.read { try $0.head().position }, said.position)
        try equal(try writer.feed(of: scene.juliet.id, after: .zero, limit: 9), [said, second])
      }
      try equal(try scene.read { try $0.head().position }, Position(2))
    },
    Case(name: "everything is there after reopening") { scene in
      let said = try scene.write { writer in
        try (0..<300).map { index in
          try scene.say(
            "\(index)", by: scene.romeo, to: scene.juliet, id: "\(index)",
            key: RepeatKey(rule: .app, id: "\(index)", bodyHash: UInt64(index)), writer)
        }
      }
      try scene.reopen()
      try scene.write { reader in
        try equal(try reader.realms(), [scene.realm])
        try equal(try reader.head().position, Position(300))
        try equal(try reader.head().time, scene.time)
        try equal(
          try reader.history(of: said[0].dialog, after: .zero, before: .end, limit: 999, ascending: true), said)
        try equal(try reader.find("17", by: scene.romeo.id, in: said[0].dialog)?.bodyHash, 17)
        try equal(try reader.unread(of: scene.juliet.id), 300)
      }
    },
    Case(name: "no position is given out twice, whatever became of its entry") { scene in
      let last = try scene.write { writer in
        try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        return try scene.say("2", by: scene.romeo, to: scene.juliet, traits: [.transient], writer)
      }
      try scene.write { try $0.erase(last.position, in: last.dialog) }
      let time = scene.time
      try scene.reopen()
      try equal(try scene.read { try $0.head().position }, last.position)
      try equal(try scene.read { try $0.head().time }, time)
      try scene.write { try $0.setHead(scene.step(), time: scene.time) }
      try scene.reopen()
      try equal(try scene.read { try $0.head().position }, Position(3))
      try equal(try scene.read { try $0.head().time }, scene.time)
    },
    Case(name: "numbers of users and grants go on after reopening") { scene in
      let number = try scene.write { writer in
        try writer.put(LoginCase.grant(scene.romeo.id, byte: 1))
        let number = try writer.grant(access: [1, 1, 0])?.id ?? 0
        try writer.removeGrants(of: scene.romeo.id)
        return number
      }
      try scene.reopen()
      try scene.write { writer in
        try writer.put(LoginCase.grant(scene.romeo.id, byte: 2))
        try require(try writer.grant(access: [2, 1, 0])?.id ?? 0 > number, "a grant's number was given out twice")
        let user = try writer.insertUser(
          BareJID("paris@verona.example"), in: scene.realm.id, profile: Profile(), createdAt: scene.time)
        try require(user.id > scene.nurse.id, "a user's number was given out twice")
      }
    },
  ]
}
