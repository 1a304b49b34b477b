import Addresses
import Basics
import Dialogs

/// Rooms that end: the addresses that become free, and what they contained.
extension StoreConformance {
  static let roomEnds: [Case] = [
    Case(name: "the address of a room that has given it up is another room's") { scene in
      try scene.write { writer in
        var room = try scene.make("orchard", externalID: .backend("x"), writer)
        _ = try scene.make("balcony", writer)
        room.isDestroyed = true
        room.isAddressFree = true
        try writer.update(room)
        try equal(try writer.room(at: room.address), nil)
        try equal(try writer.room(room.id), room)
        try equal(try writer.roomName(room.id)?.address, room.address)
        try conflicts("the external id") { _ = try scene.make("cell", externalID: .backend("x"), writer) }
        var other = try scene.make("orchard", writer)
        try equal(try writer.room(at: room.address), other)
        try conflicts("the address") { _ = try scene.make("orchard", writer) }
        let listed = try writer.rooms(in: scene.realm.id, listed: false, matching: nil, after: nil, limit: 9)
        try equal(listed.map(\.address.local), ["balcony", "orchard"])
        // As often as rooms end.
        other.isDestroyed = true
        other.isAddressFree = true
        try writer.update(other)
        try equal(try scene.make("orchard", writer).address, room.address)
      }
    },
    Case(name: "temporary rooms are found by number until their content is removed") { scene in
      let rooms = try scene.write { writer in
        try ["a", "b", "c"].map { try scene.make($0, settings: .instant, writer) } + [scene.make("d", writer)]
      }
      func found(after: Int64 = 0, limit: Int = 9) throws -> [DialogID] {
        try scene.read { try $0.temporaryRooms(after: DialogID(after), limit: limit).map(\.id) }
      }
      try equal(try found(), rooms[..<3].map(\.id))
      try equal(try found(limit: 2), rooms[..<2].map(\.id))
      try equal(try found(after: rooms[0].id.number), rooms[1..<3].map(\.id))
      try scene.write { writer in
        var (ended, persistent, temporary) = (rooms[0], rooms[1], rooms[3])
        ended.isDestroyed = true
        ended.isAddressFree = true
        persistent.settings.isPersistent = true
        temporary.settings.isPersistent = false
        for room in [ended, persistent, temporary] { try writer.update(room) }
      }
      try equal(try found(), [rooms[0], rooms[2], rooms[3]].map(\.id))
      try scene.write {
        try equal(try $0.removeContent(of: rooms[0].id, limit: 9, endingFiles: scene.time), false)
      }
      try equal(try found(), [rooms[2], rooms[3]].map(\.id))
    },
    Case(name: "the content of an ended room is removed in pieces, all but its last entry") { scene in
      var room = try scene.write { writer in
        let room = try scene.make("orchard", settings: .instant, writer)
        for party in [scene.romeo, scene.juliet] { try scene.join(party, room.id, nick: party.name, writer) }
        return room
      }
      let blob = Blob(
        id: BlobID(PublicID(high: .max, low: 1)), realm: scene.realm.id, owner: scene.romeo.id, name: "f",
        mediaType: nil, size: 1, purpose: .message, state: .stored, createdAt: scene.time, expiresAt: nil)
      let said = try scene.write { writer in
        let said = try (0..<4).map {
          try scene.say(
            "word \($0)", by: scene.romeo, in: room.id, key: RepeatKey(rule: .app, id: "k\($0)", bodyHash: 1), writer)
        }
        try scene.display(said[1], by: scene.juliet, in: room.id, writer)
        try scene.display(said[3], by: scene.romeo, in: room.id, told: false, writer)
        try writer.put(blob)
        try writer.insertBlobReference(to: blob.id, by: said[0].position)
        try writer.setMentioned([scene.juliet.id], by: said[1].position, in: room.id)
        try writer.setPinned(said[2].position, message: said[1].position, in: room.id)
        try writer.hide(said[2].position, in: room.id, for: scene.juliet.id, counts: true)
        try writer.put(
          MessageState(version: said[3].position, revision: 1, text: "edited", editedAt: scene.time),
          of: said[3].position, in: room.id)
        try writer.setValue(of: room.id, node: "n", item: "i", [1])
        while try writer.indexMessages(limit: 100, bytes: .max) {}
        return said
      }
      room = try scene.read { try scene.stored(room.id, $0) }
      let end = try scene.write { writer in
        let feeds = [scene.romeo, scene.juliet].map { FeedRow(user: $0.id, traits: .inbound) }
        let end = try scene.note(
          .destroyed(reason: nil, alternate: nil), by: scene.romeo, in: room.id, feeds: feeds, writer)
        try scene.end(room.id, freesAddress: true, writer)
        return end
      }
      // A room of the same name, which nothing of it reaches.
      let next = try scene.write { writer in
        let next = try scene.make("orchard", settings: .instant, writer)
        try scene.join(scene.juliet, next.id, nick: "juliet", writer)
        try scene.say("word", by: scene.juliet, in: next.id, writer)
        return next
      }
      var pieces = 1
      while try scene.write({ try $0.removeContent(of: room.id, limit: 3, endingFiles: scene.time) }) { pieces += 1 }
      try require(pieces > 2, "it came in \(pieces) pieces")
      try scene.reopen()
      try scene.read { reader in
        for message in said {
          try require(try reader.entry(message.position, in: room.id) == nil, "a message remains")
        }
        try equal(
          try reader.history(of: room.id, after: .zero, before: .end, limit: 99, ascending: true).map(\.position),
          [end.position])
        try equal(
          try reader.feed(of: scene.romeo.id, after: .zero, limit: 99, all: true).map(\.position), [end.position])
        try equal(
          try reader.feed(of: scene.juliet.id, after: .zero, limit: 99, all: true).map(\.position).first, end.position)
        try equal(try reader.member(scene.romeo.id, of: room.id), nil)
        try equal(try reader.member(nickKey: "juliet", of: room.id), nil)
        try equal(try reader.memberships(of: scene.romeo.id).count, 0)
        try equal(try reader.memberships(of: scene.juliet.id).map(\.room.dialog), [next.id])
        try equal(try reader.mentions(of: scene.juliet.id, in: room.id), 0)
        try equal(try reader.pins(of: room.id), [])
        try equal(try reader.hiddenCount(of: scene.juliet.id), 0)
        try equal(try reader.value(of: room.id, node: "n", item: "i"), nil)
        try equal(try reader.blob(blob.id)?.expiresAt, scene.time)
        try equal(try reader.room(room.id)?.isDestroyed, true)
        try equal(
          try reader.history(of: next.id, after: .zero, before: .end, limit: 99, ascending: true).count, 2)
      }
      try scene.write { writer in
        try equal(try writer.removeContent(of: room.id, limit: 9, endingFiles: scene.time), false, "once more")
        let again = try scene.say("word 0", by: scene.romeo, in: next.id, writer)
        try require(again.position > end.position, "a position was issued twice")
      }
    },
    Case(name: "the people of an ended temporary room and their mentions are removed in pieces") { scene in
      let room = try scene.write { writer in
        let room = try scene.make("orchard", settings: .instant, writer)
        let people = [scene.romeo, scene.juliet, scene.nurse]
        for party in people { try scene.join(party, room.id, nick: party.name, writer) }
        let said = try scene.say("all of you", by: scene.romeo, in: room.id, writer)
        try writer.setMentioned(people.map(\.id), by: said.position, in: room.id)
        _ = try scene.note(.destroyed(reason: nil, alternate: nil), by: scene.romeo, in: room.id, feeds: [], writer)
        return try scene.end(room.id, freesAddress: true, writer)
      }
      var pieces = 0
      var (isMore, rows) = (true, [Int64]())
      while isMore {
        try scene.write { writer in
          let before = writer.changedRows
          isMore = try writer.removeContent(of: room.id, limit: 1, endingFiles: scene.time)
          rows.append(writer.changedRows - before)
        }
        pieces += 1
        try require(pieces < 99, "the removal ends")
      }
      // A message, and one person each.
      try require(pieces > 4, "\(pieces) pieces")
      try require(rows.allSatisfy { $0 < 20 }, "\(rows) rows")
      try scene.read { reader in
        for party in [scene.romeo, scene.juliet, scene.nurse] {
          try equal(try reader.member(party.id, of: room.id), nil)
          try equal(try reader.mentions(of: party.id, in: room.id), 0)
        }
      }
    },
    Case(name: "a persistent room that has ended is found until its values are removed, in pieces") { scene in
      let (room, cleared) = try scene.write { writer in
        let room = try scene.make("orchard", writer)
        try scene.join(scene.romeo, room.id, nick: "romeo", writer)
        try scene.say("word", by: scene.romeo, in: room.id, writer)
        for number in 0..<7 { try writer.setValue(of: room.id, node: "n", item: "\(number)", [1]) }
        // What somebody had cleared who is no member any more.
        try scene.join(scene.juliet, room.id, nick: "juliet", writer)
        let last = try scene.stored(room.id, writer).last
        try writer.clear(room.id, upTo: last, leaves: false, for: scene.juliet.id)
        try scene.join(scene.juliet, room.id, as: .none, writer)
        try require(try writer.isHidden(last, in: room.id, for: scene.juliet.id), "not cleared")
        return (try scene.stored(room.id, writer), last)
      }
      func found() throws -> [DialogID] {
        try scene.read { try $0.temporaryRooms(after: DialogID(0), limit: 9).map(\.id) }
      }
      try equal(try found(), [])
      try scene.write { _ = try scene.end(room.id, $0) }
      try equal(try found(), [room.id])
      var pieces = 1
      while try scene.write({ try $0.removeContent(of: room.id, limit: 3, endingFiles: scene.time) }) {
        pieces += 1
        try scene.reopen()
        try equal(try found(), [room.id])
      }
      try equal(pieces, 3)
      try scene.write { writer in
        for number in 0..<7 { try equal(try writer.value(of: room.id, node: "n", item: "\(number)"), nil) }
        try require(try !writer.isHidden(cleared, in: room.id, for: scene.juliet.id), "it is still cleared")
        try equal(try writer.member(scene.romeo.id, of: room.id)?.nick, "romeo")
        try equal(try writer.history(of: room.id, after: .zero, before: .end, limit: 9, ascending: true).count, 4)
        var freed = try scene.stored(room.id, writer)
        try equal(freed.settings, room.settings)
        freed.isAddressFree = true
        try writer.update(freed)
      }
      try equal(try found(), [])
    },
  ]
}
