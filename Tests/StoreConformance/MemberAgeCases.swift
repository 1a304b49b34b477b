import Basics
import Dialogs

/// Entries that go by the age that members want.
extension StoreConformance {
  static let memberAges: [Case] = [
    Case(name: "what one member wants gone is gone for them alone") { scene in
      let said = try scene.write { writer in
        let said = try (0..<4).map { try scene.say("word \($0)", by: scene.romeo, to: scene.juliet, writer) }
        try writer.setMentioned([scene.juliet.id], by: said[1].position, in: said[0].dialog)
        try writer.setStar(true, said[0].position, in: said[0].dialog, for: scene.juliet.id)
        try writer.hide(said[1].position, in: said[0].dialog, for: scene.juliet.id, counts: false)
        return said
      }
      let (dialog, all) = (said[0].dialog, said.map(\.position))
      // Up to an entry of another dialog, which is later.
      try scene.write { writer in
        let other = try scene.say("other", by: scene.romeo, to: scene.nurse, writer)
        try writer.age(dialog, through: all[1], for: scene.juliet.id)
        try writer.age(other.dialog, through: all[1], for: scene.nurse.id)
        try writer.age(dialog, through: all[1], for: scene.nurse.id)
      }
      try scene.reopen()
      try equal(try words(scene, "word", of: scene.juliet), Array(all[2...]))
      try equal(try words(scene, "word", of: scene.romeo), all)
      try scene.read { reader in
        try equal(
          try reader.archive(of: scene.juliet.id, ArchiveQuery(limit: 99)).entries.map(\.position), Array(all[2...]))
        try equal(try reader.mark(scene.juliet.id, in: dialog)?.displayed, .zero)
        try equal(try reader.unread(of: scene.juliet.id), 2)
        try equal(try reader.mentions(of: scene.juliet.id, in: dialog), 0)
        try equal(try reader.stars(of: scene.juliet.id, before: .end, limit: 9).count, 0)
        try equal(try reader.expired(in: LogAccess.server(scene.juliet.id, .rules)), all[1])
        try equal(try reader.expired(in: LogAccess.server(scene.romeo.id, .rules)), .zero)
        try equal(try reader.expired(in: LogAccess.server(scene.nurse.id, .rules)), .zero)
      }
    },
    Case(name: "members who want an age are found, and private dialogs of which all want one") { scene in
      func wanting(_ days: Int?) -> DialogSettings {
        var settings = DialogSettings()
        settings.retentionDays = days
        return settings
      }
      let (dialog, own, first) = try scene.write { writer in
        let first = try scene.say("one", by: scene.romeo, to: scene.juliet, writer)
        let own = try scene.dialog(scene.romeo, scene.romeo, writer)
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try writer.put(wanting(9), of: scene.romeo.id, in: first.dialog)
        try writer.put(wanting(3), of: scene.romeo.id, in: own.id)
        try writer.put(wanting(4), of: scene.romeo.id, in: room.id)
        try writer.put(wanting(5), of: scene.juliet.id, in: room.id)
        return (first.dialog, own.id, first.position)
      }
      try scene.reopen()
      func days(onlyOwn: Bool = true) throws -> [DialogID: Int] {
        let found = try scene.read { try $0.agingDialogs(after: DialogID(0), limit: 99, onlyOwn: onlyOwn) }
        return Dictionary(uniqueKeysWithValues: found.compactMap { dialog in dialog.days.map { (dialog.id, $0) } })
      }
      // A room's messages are not its members' to remove.
      try equal(try days(), [own: 3])
      let wishes = try scene.read { try $0.agingMembers(after: (DialogID(0), UserID(0)), limit: 99) }
      try equal(Set(wishes.map(\.days)), [9, 3, 4, 5])
      try equal(wishes.first { $0.dialog == dialog }?.oldest, first)
      for index in wishes.indices.dropLast() {
        let (at, next) = (wishes[index], wishes[index + 1])
        try equal(try scene.read { try $0.agingMembers(after: (at.dialog, at.user), limit: 1) }, [next])
      }
      try scene.write { try $0.put(wanting(20), of: scene.juliet.id, in: dialog) }
      try equal(try days(), [own: 3, dialog: 20])
      try equal(try days(onlyOwn: false), [own: 3, dialog: 20])
      try scene.write { writer in
        try writer.put(wanting(nil), of: scene.romeo.id, in: dialog)
        try writer.age(dialog, through: first, for: scene.juliet.id)
      }
      try equal(try days(), [own: 3])
      try equal(
        try scene.read { try $0.agingMembers(after: (DialogID(0), UserID(0)), limit: 99) }.first {
          $0.dialog == dialog
        },
        AgingMember(dialog: dialog, user: scene.juliet.id, days: 20, oldest: nil))
      // With the account its wish goes.
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try equal(try days(), [:])
    },
  ]
}
