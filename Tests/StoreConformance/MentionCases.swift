import Addresses
import Dialogs

/// The mentions in messages, and the number of unread ones.
extension StoreConformance {
  static let mentions: [Case] = [
    Case(name: "the mentions of a message are read as they were written, and as they were edited") { scene in
      let all = [
        Mention(party: scene.juliet, name: .address, place: 0..<6),
        Mention(party: scene.nurse, name: .unnamed, place: nil),
        Mention(party: scene.juliet, name: .nick("J \u{1F339}/x"), place: 7..<70_000),
      ]
      let anew = [Mention(party: scene.romeo, name: .address, place: nil)]
      let state = MessageState(version: Position(9), revision: 1, text: "anew", mentions: anew)
      let (said, changed) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet, scene.nurse], writer)
        let said = try scene.mention(all, by: scene.romeo, in: room.id, writer)
        let changed = try scene.mention(all, by: scene.romeo, in: room.id, writer)
        try writer.put(state, of: changed.position, in: room.id)
        return (said, changed)
      }
      for _ in 0..<2 {
        try scene.read { reader in
          let page = try reader.history(of: said.dialog, after: .zero, before: .end, limit: 2, ascending: false)
          try equal(page.map(\.position), [changed.position, said.position])
          try equal(page.map(\.mentions), [anew, all], "as it is now")
          try equal(page.map { scene.mentions($0) }, [all, all], "as it was said")
          try equal(page.map(\.state), [state, nil], "state")
        }
        try scene.reopen()
      }
    },
    Case(name: "a retracted message mentions nobody, nor do its corrections") { scene in
      let all = [Mention(party: scene.juliet, name: .nick("secret-nick"), place: 0..<1)]
      let said = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try scene.mention(all, by: scene.romeo, in: room.id, writer)
        let correction = try scene.mention(
          all, by: scene.romeo, in: room.id,
          as: Reference(kind: .correction, target: said.position, targetID: said.id, targetStanzaID: nil), writer)
        let state = MessageState(version: correction.position, revision: 1, text: "anew", mentions: all)
        try writer.put(state, of: said.position, in: room.id)
        let gone = MessageState(
          version: scene.step(), revision: 2,
          retraction: .init(by: scene.romeo, at: scene.time, id: nil, reason: nil, isModeration: false))
        try writer.put(gone, of: said.position, in: room.id)
        return [said, correction]
      }
      try scene.read { reader in
        for entry in said {
          let found = try reader.entry(entry.position, in: entry.dialog)
          try equal(found.map { scene.mentions($0) }, [], "mentions")
          try equal(found?.state?.mentions, [], "of the state")
        }
      }
    },
    Case(name: "mentions behind the message that a user has read are counted, in each dialog and in all") {
      scene in
      let (room, dialog, entries) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet, scene.nurse], writer)
        var entries: [Entry] = []
        for users in [[scene.juliet.id], [scene.juliet.id, scene.nurse.id], [], [scene.juliet.id]] {
          let entry = try scene.say("x", by: scene.romeo, in: room.id, writer)
          try writer.setMentioned(users, by: entry.position, in: room.id)
          entries.append(entry)
        }
        let said = try scene.say("x", by: scene.romeo, to: scene.juliet, writer)
        try writer.setMentioned([scene.juliet.id], by: said.position, in: said.dialog)
        return (room.id, said.dialog, entries)
      }
      func counts(_ reader: any StoreReader) throws -> [Int64] {
        [
          try reader.mentions(of: scene.juliet.id, in: room), try reader.mentions(of: scene.nurse.id, in: room),
          try reader.mentions(of: scene.romeo.id, in: room), try reader.mentions(of: scene.juliet.id, in: dialog),
          try reader.mentions(of: scene.juliet.id, in: nil), try reader.mentions(of: scene.nurse.id, in: nil),
        ]
      }
      try equal(try scene.read(counts), [3, 1, 0, 1, 4, 1], "at first")
      try scene.write { try scene.display(entries[1], by: scene.juliet, in: room, $0) }
      try equal(try scene.read(counts), [1, 1, 0, 1, 2, 1], "with two read")
      try scene.write { writer in
        // The new mentions replace the old ones, each user once, also of a message that was read.
        try writer.setMentioned([scene.nurse.id], by: entries[3].position, in: room)
        try writer.setMentioned([scene.juliet.id, scene.nurse.id], by: entries[0].position, in: room)
      }
      try equal(try scene.read(counts), [0, 3, 0, 1, 1, 3], "anew")
      try scene.write { writer in
        try writer.setMentioned([], by: entries[3].position, in: room)
        try equal(try counts(writer), [0, 2, 0, 1, 1, 2], "as written")
      }
      try scene.reopen()
      try equal(try scene.read(counts), [0, 2, 0, 1, 1, 2], "after all")
    },
    Case(name: "a message that does not count mentions nobody, and the counts of a user who comes back start anew") {
      scene in
      try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer).id
        let silent = try scene.say("x", by: scene.romeo, in: room, traits: .archived, isShown: false, writer)
        let before = try scene.say("x", by: scene.romeo, in: room, writer)
        for entry in [silent, before] { try writer.setMentioned([scene.juliet.id], by: entry.position, in: room) }
        try equal(try writer.mentions(of: scene.juliet.id, in: room), 1, "of two")
        try writer.setMentioned([scene.juliet.id], by: Position(1_000_000), in: room)
        try equal(try writer.mentions(of: scene.juliet.id, in: room), 1, "by nothing")
        try scene.join(scene.juliet, room, as: .none, writer)
        try equal(try writer.mentions(of: scene.juliet.id, in: room), 0, "of who has left")
        try equal(try writer.mentions(of: scene.juliet.id, in: nil), 0, "of who has left")
        try scene.join(scene.juliet, room, writer)
        try equal(try writer.mentions(of: scene.juliet.id, in: room), 0, "of who is back")
        let after = try scene.say("x", by: scene.romeo, in: room, writer)
        try writer.setMentioned([scene.juliet.id], by: after.position, in: room)
        try equal(try writer.mentions(of: scene.juliet.id, in: room), 1, "since then")
        try writer.erasePersonalData(scene.juliet.id)
        try equal(try writer.mentions(of: scene.juliet.id, in: nil), 0, "of who is deleted")
      }
    },
  ]
}

extension Scene {
  /// A message of a room with mentions; a correction is written as the core does, without a sequence.
  fileprivate func mention(
    _ mentions: [Mention], by author: Party, in room: DialogID, as reference: Reference? = nil,
    _ writer: any StoreWriter
  ) throws -> Entry {
    try add(room, by: author, writer) { room in
      if reference == nil {
        room.sequence += 1
        room.ordinal += 1
      }
      return .message(
        Message(
          sequence: reference == nil ? room.sequence : 0, content: Content(kind: .text, text: "text"),
          envelope: Envelope(type: .groupchat, fromResource: author.name),
          traits: reference == nil ? [.counts, .archived] : .archived, reference: reference, mentions: mentions))
    }
  }

  fileprivate func mentions(_ entry: Entry) -> [Mention] {
    guard case .message(let message) = entry.fact else { return [] }
    return message.mentions
  }
}
