import Addresses
import Basics
import Dialogs

extension StoreConformance {
  static let log: [Case] = [
    Case(name: "an empty log has no head") { scene in
      try equal(try scene.read { try $0.head().position }, .zero)
    },
    Case(name: "the head follows entries and positions without entry") { scene in
      try scene.write { writer in
        try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try equal(try writer.head().position, Position(1))
      }
      try equal(try scene.read { try $0.head().position }, Position(1))
      try equal(try scene.read { try $0.head().time }, scene.time)
      try scene.write { try $0.setHead(scene.step(), time: scene.time) }
      try equal(try scene.read { try $0.head().position }, Position(2))
      try equal(try scene.read { try $0.head().time }, scene.time)
      try scene.write { try scene.say("3", by: scene.romeo, to: scene.juliet, $0) }
      try equal(try scene.read { try $0.head().position }, Position(3))
    },
    Case(name: "a time is found in the log, whatever was erased") { scene in
      var entries: [Entry] = []
      try scene.write { writer in
        for text in ["1", "2", "3", "4", "5", "6", "7"] {
          entries.append(try scene.say(text, by: scene.romeo, to: scene.juliet, writer))
        }
      }
      for gone in [1, 2, 5] {
        try scene.write { try $0.erase(entries[gone].position, in: entries[gone].dialog) }
      }
      let left = [0, 3, 4, 6].map { entries[$0] }
      for entry in entries {
        for offset: Int64 in [-1, 0, 1] {
          let time = Timestamp(milliseconds: entry.time.milliseconds + offset)
          let expected = left.last { $0.time < time }?.position ?? .zero
          try equal(try scene.read { try $0.position(before: time) }, expected)
        }
      }
      try equal(try scene.read { try $0.position(before: Timestamp(milliseconds: 0)) }, .zero)
    },
    Case(name: "what is of no conversation can become older, and every time is still found") { scene in
      try scene.write { try scene.note(.profile(Profile()), by: scene.romeo, $0) }
      try equal(try scene.read { try $0.endOfConversations().position }, .zero)
      let said = try scene.write { try scene.say("1", by: scene.romeo, to: scene.juliet, $0) }
      try scene.write { writer in
        for name in ["a", "b"] { try scene.note(.profile(Profile(displayName: name)), by: scene.romeo, writer) }
      }
      let room = try scene.write { writer in
        let room = try scene.room(of: [], writer)
        try scene.note(.created, by: scene.romeo, in: room.id, writer)
        return room
      }
      let end = try scene.read { try $0.endOfConversations() }
      try equal(end.position, said.position)
      try equal(end.time, said.time)
      let past = said.time + .milliseconds(1)
      // In pieces, from the first entry on.
      for last in 1...3 as ClosedRange<Int64> {
        let (before, through) = (Position(said.position.number + last - 1), Position(said.position.number + last))
        try equal(try scene.read { try $0.position(before: past + .milliseconds(1)) }, before)
        try scene.write { try $0.setTimes(behind: before, through: through, to: past) }
        try equal(try scene.read { try $0.position(before: past + .milliseconds(1)) }, through)
      }
      try equal(try scene.read { try $0.entry(said.position, in: said.dialog)?.time }, said.time)
      try equal(try scene.read { try $0.position(before: past) }, said.position)
      try equal(try scene.read { try $0.hasConversation(behind: .zero) }, true)
      try equal(try scene.read { try $0.hasConversation(behind: said.position) }, false)
      // A notice in a room that has begun is of a conversation.
      let joined = try scene.write { try scene.join(scene.juliet, room.id, $0) }
      try equal(try scene.read { try $0.endOfConversations().position }, joined.position)
      try equal(try scene.read { try $0.hasConversation(behind: said.position) }, true)
      try equal(try scene.read { try $0.hasConversation(behind: joined.position) }, false)
    },
    Case(name: "the entries of a dialog are found between positions, also those that are not shown") { scene in
      let entries = try scene.write { writer in
        let first = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try scene.say("elsewhere", by: scene.romeo, to: scene.nurse, writer)
        let hidden = try scene.say(Content(kind: .none), Envelope(), by: scene.juliet, to: scene.romeo, writer)
        return [first, hidden, try scene.say("3", by: scene.romeo, to: scene.juliet, writer)]
      }
      let access = MessageAccess.server(entries[0].dialog, .rules)
      func found(_ positions: ClosedRange<Position>, limit: Int = 9) throws -> [Entry] {
        try scene.read { try $0.entries(of: access, at: positions, limit: limit) }
      }
      try equal(try found(entries[0].position...entries[2].position), entries)
      try equal(try found(entries[0].position.next...entries[1].position), [entries[1]])
      try equal(try found(entries[0].position...entries[2].position, limit: 2), [entries[0], entries[1]])
    },
    Case(name: "a message comes back as it was said") { scene in
      let extras = Array("<body xmlns='jabber:client'>h\u{f6}</body>".utf8) + [0, 255]
      let contents = [
        Content(kind: .text, text: "h\u{f6} \u{1F339}", fields: "{\"a\":[1]}", extras: extras),
        Content(kind: .custom, text: "", fields: "", extras: []),
        Content(kind: .none),
        Content(
          kind: .encrypted, text: String(repeating: "x", count: 10_000), extras: [UInt8](repeating: 7, count: 250_000)),
        Content(kind: .call, text: "a\u{0}b"),
      ]
      let envelopes = [
        Envelope(type: .chat, fromResource: "orchard", toResource: "balcony", id: "m1", language: "it"),
        Envelope(type: .normal, fromResource: "", toResource: nil, id: "", language: nil),
        Envelope(type: .headline), Envelope(type: .groupchat, id: String(repeating: "i", count: 1_000)),
        Envelope(type: .error),
      ]
      for (content, envelope) in zip(contents, envelopes) {
        let entry = try scene.write {
          try scene.say(
            content, envelope, by: scene.juliet, to: scene.romeo, traits: Message.Traits(rawValue: 0xff), $0)
        }
        try scene.read { try equal(try $0.entry(entry.position, in: entry.dialog), entry) }
        try scene.write { try equal(try $0.entry(entry.position, in: entry.dialog), entry) }
      }
    },
    Case(name: "an entry is found in its own dialog only") { scene in
      let (one, other) = try scene.write { writer in
        (
          try scene.say("1", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("2", by: scene.romeo, to: scene.nurse, writer)
        )
      }
      try scene.read { reader in
        try require(try reader.entry(one.position, in: other.dialog) == nil, "found in another dialog")
        try require(try reader.entry(Position(99), in: one.dialog) == nil, "found behind the head")
        try require(try reader.entry(.zero, in: one.dialog) == nil, "found before everything")
      }
    },
    Case(name: "every kind of entry comes back as it was") { scene in
      let facts = try facts(scene)
      for fact in facts {
        let entry = try scene.write { try scene.note(fact, by: scene.romeo, $0) }
        try scene.read { try equal(try $0.entry(entry.position, in: entry.dialog), entry) }
      }
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 99).count }, facts.count)
    },
    Case(name: "a marker comes back as it was, with its stanza and without") { scene in
      let stanza = Message(
        sequence: 0, content: Content(kind: .none, extras: [0x3c]),
        envelope: Envelope(type: .chat, fromResource: "orchard", id: "d1", language: "en"), traits: [.archived])
      try scene.write { writer in
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, id: "m1", writer)
        let plain = try scene.display(said, by: scene.juliet, told: false, writer)
        try equal(try writer.entry(plain.position, in: plain.dialog), plain)
        let carried = try scene.display(said, by: scene.juliet, stanza: stanza, writer)
        try equal(try writer.entry(carried.position, in: carried.dialog), carried)
      }
    },
    Case(name: "history is paged both ways, between two positions") { scene in
      let said = try scene.write { writer in
        var said: [Entry] = []
        for index in 1...7 {
          let (author, peer) = index.isMultiple(of: 3) ? (scene.juliet, scene.romeo) : (scene.romeo, scene.juliet)
          said.append(try scene.say("\(index)", by: author, to: peer, writer))
          // None of these belongs to what is shown.
          try scene.say("elsewhere", by: scene.romeo, to: scene.nurse, writer)
          try scene.say(Content(kind: .none), Envelope(), by: author, to: peer, traits: [.archived], writer)
        }
        try scene.display(said[3], by: scene.juliet, writer)
        return said
      }
      func history(
        _ after: Position = .zero, _ before: Position = .end, limit: Int, ascending: Bool
      ) throws -> [Entry] {
        try scene.read {
          try $0.history(of: said[0].dialog, after: after, before: before, limit: limit, ascending: ascending)
        }
      }
      try equal(try history(limit: 99, ascending: true), said)
      try equal(try history(limit: 99, ascending: false), said.reversed())
      try equal(try history(limit: 2, ascending: false), [said[6], said[5]])
      try equal(try history(.zero, said[5].position, limit: 2, ascending: false), [said[4], said[3]])
      try equal(try history(said[1].position, limit: 2, ascending: true), [said[2], said[3]])
      try equal(try history(said[1].position, said[3].position, limit: 9, ascending: true), [said[2]])
      try equal(try history(said[6].position, limit: 9, ascending: true), [])
      try equal(try history(limit: 0, ascending: true), [])
      try equal(try history(limit: -1, ascending: true), [])
    },
    Case(name: "a page of a history that looks in vain ends early, and the next one goes on from there") { scene in
      let said = try scene.write { writer in
        try (1...3).map { number in
          let said = try scene.say("\(number)", by: scene.romeo, to: scene.juliet, writer)
          for _ in 1...10 {
            try scene.say(
              Content(kind: .none), Envelope(), by: scene.juliet, to: scene.romeo, traits: [.archived], writer)
          }
          return said
        }
      }
      for backwards in [false, true] {
        var query = ArchiveQuery(limit: 9)
        query.looksMax = 4
        query.backwards = backwards
        var (found, pages): ([Entry], Int) = ([], 0)
        while true {
          let page = try scene.read { [query] in try $0.history(of: .server(said[0].dialog, .rules), query) }
          pages += 1
          found = backwards ? page.entries + found : found + page.entries
          try equal(page.complete, page.next == nil)
          guard let next = page.next else { break }
          query.go(behind: next)
        }
        try equal(found, said)
        // There are 33 entries.
        try equal(pages, 9)
      }
      try scene.read { reader in
        try equal(try reader.shown(in: said[0].dialog), said[2].position)
        try equal(try reader.shown(in: DialogID(9_999)), .zero)
        let listed = try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9)
        try equal(listed.compactMap(\.lastMessage), [said[2]])
      }
    },
    Case(name: "a list ends with the first entry that is behind its bound of bytes") { scene in
      let said = try scene.write { writer in
        try (1...4).map { number in
          try scene.say(String(repeating: "\(number)", count: 1_000), by: scene.romeo, to: scene.juliet, writer)
        }
      }
      let dialog = said[0].dialog
      let bytes = said[0].byteCount
      for (bytesMax, count) in [(1, 2), (bytes, 2), (bytes + 1, 3), (2 * bytes, 3), (3 * bytes, 4), (Int.max, 4)] {
        try scene.read { reader in
          let log = LogAccess.server(scene.juliet.id, .rules)
          let places = try reader.feed(of: log, after: .zero, limit: 9, looksMax: 99, all: false).places
          try equal(
            try reader.entries(of: log, at: places[...], limit: 9, bytesMax: bytesMax), Array(said.prefix(count)),
            "feed")
          var query = ArchiveQuery(limit: 9)
          query.bytesMax = bytesMax
          let isCut = bytesMax <= 3 * bytes
          let kept = isCut ? count - 1 : count
          let replay = try reader.replay(of: log, query)
          try equal(replay.entries, Array(said.prefix(kept)), "replay")
          try equal(replay.complete, !isCut, "replay")
          let first = try reader.archive(of: scene.juliet.id, query)
          try equal(first.entries, Array(said.prefix(kept)), "archive")
          try equal(first.complete, !isCut, "archive")
          let messages = MessageAccess.server(dialog, .rules)
          try equal(try reader.history(of: messages, query).entries, Array(said.prefix(kept)), "history")
          query.backwards = true
          try equal(try reader.history(of: messages, query).entries, Array(said.suffix(kept)), "history back")
          let last = try reader.archive(of: scene.juliet.id, query)
          try equal(last.entries, Array(said.suffix(kept)), "archive back")
          try equal(last.complete, !isCut, "archive back")
        }
      }
    },
    Case(name: "the feed of each side has what concerns it, behind a position") { scene in
      let (said, noted, marked) = try scene.write { writer in
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try scene.say(Content(kind: .none), Envelope(), by: scene.romeo, to: scene.juliet, traits: [.archived], writer)
        let noted = try scene.note(.profile(Profile(displayName: "R")), by: scene.romeo, writer)
        try scene.say("not romeo's", by: scene.nurse, to: scene.juliet, writer)
        return (said, noted, try scene.display(said, by: scene.juliet, writer))
      }
      func feed(_ after: Position, _ limit: Int = 99) throws -> [Entry] {
        try scene.read { try $0.feed(of: scene.romeo.id, after: after, limit: limit) }
      }
      try equal(try feed(.zero), [said, noted, marked])
      try equal(try feed(.zero, 2), [said, noted])
      try equal(try feed(said.position), [noted, marked])
      try equal(try feed(marked.position), [])
      try equal(try scene.read { try $0.feed(of: scene.juliet.id, after: .zero, limit: 99).count }, 3)
    },
    Case(name: "only the last of a member's markers is in feeds and archives") { scene in
      let stanza = Message(
        sequence: 0, content: Content(kind: .none), envelope: Envelope(id: "d"), traits: [.archived])
      let (said, last, others) = try scene.write { writer in
        let said = try (1...3).map { try scene.say("\($0)", by: scene.romeo, to: scene.juliet, writer) }
        for target in said.dropLast() { try scene.display(target, by: scene.juliet, stanza: stanza, writer) }
        let others = try scene.display(said[0], by: scene.romeo, stanza: stanza, writer)
        return (said, try scene.display(said[2], by: scene.juliet, stanza: stanza, writer), others)
      }
      for party in [scene.romeo, scene.juliet] {
        try scene.read { reader in
          try equal(try reader.feed(of: party.id, after: .zero, limit: 99), said + [others, last], "feed")
          var query = ArchiveQuery(limit: 99)
          try equal(try reader.archive(of: party.id, query).entries, said + [others, last], "archive")
          query.with = last.dialog
          try equal(try reader.archive(of: party.id, query).entries, said + [others, last], "archive of the dialog")
        }
      }
      try equal(try scene.read { try $0.mark(scene.juliet.id, in: last.dialog)?.position }, last.position)
      try equal(try scene.read { try $0.head().position }, scene.position)
    },
    Case(name: "a marker nobody keeps takes the rows of the one before away") { scene in
      let said = try scene.write { writer in
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try scene.display(said, by: scene.juliet, writer)
        var mark = try scene.mark(scene.juliet, in: scene.dialog(scene.romeo, scene.juliet, writer), writer)
        let superseded = mark.position
        mark.position = scene.step()
        try writer.put(mark, superseded: superseded)
        try writer.setHead(mark.position, time: scene.time)
        return said
      }
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 9) }, [said])
      try equal(try scene.read { try $0.head().position }, Position(3))
    },
    Case(name: "replay has inbound messages that are to be replayed") { scene in
      let inbound = try scene.write { writer in
        try scene.say("own", by: scene.juliet, to: scene.romeo, writer)
        let first = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try scene.say("not replayed", by: scene.romeo, to: scene.juliet, traits: [.counts, .archived], writer)
        try scene.say("to oneself", by: scene.juliet, to: scene.juliet, writer)
        let second = try scene.say("2", by: scene.nurse, to: scene.juliet, traits: [.replayed], writer)
        return [first, second]
      }
      func replay(_ after: Position, _ limit: Int = 99) throws -> [Entry] {
        try scene.read { try $0.replay(of: scene.juliet.id, after: after, limit: limit) }
      }
      try equal(try replay(.zero), inbound)
      try equal(try replay(.zero, 1), [inbound[0]])
      try equal(try replay(inbound[0].position), [inbound[1]])
      try equal(try replay(inbound[1].position), [])
      // The second is in no archive.
      func unarchived(_ first: Position, _ last: Position, _ limit: Int = 99) throws -> [Entry] {
        var query = ArchiveQuery(limit: limit)
        query.after = first.previous
        query.before = last.next
        return try scene.read { [query] in try $0.unarchived(of: .server(scene.juliet.id, .rules), query).entries }
      }
      try equal(try unarchived(.zero, inbound[1].position), [inbound[1]])
      try equal(try unarchived(.zero, inbound[0].position), [])
      try equal(try unarchived(inbound[1].position.next, inbound[1].position.next), [])
    },
    Case(name: "a replay that looks in vain ends early, and the next one goes on from there") { scene in
      let said = try scene.write { writer in
        try (1...3).map { number in
          for _ in 1...5 { try scene.say("own", by: scene.juliet, to: scene.romeo, writer) }
          return try scene.say("\(number)", by: scene.romeo, to: scene.juliet, traits: [.replayed], writer)
        }
      }
      let log = LogAccess.server(scene.juliet.id, .rules)
      for isWhole in [false, true] {
        var query = ArchiveQuery(limit: 9)
        query.looksMax = 4
        var (found, pages): ([Entry], Int) = ([], 0)
        while true {
          let page = try scene.read { [query] in
            try isWhole ? $0.replay(of: log, query) : $0.unarchived(of: log, query)
          }
          pages += 1
          found += page.entries
          try equal(page.complete, page.next == nil)
          guard let next = page.next else { break }
          query.go(behind: next)
        }
        try equal(found, said)
        // There are 18 rows.
        try equal(pages, 5)
      }
    },
    Case(name: "a repeat is found by author, dialog and id; the last of several") { scene in
      func key(_ id: String, _ hash: UInt64) -> RepeatKey { RepeatKey(rule: .xmpp, id: id, bodyHash: hash) }
      let (first, last, dialog) = try scene.write { writer in
        let first = try scene.say("1", by: scene.romeo, to: scene.juliet, id: "a", key: key("a", .max), writer)
        try scene.say("2", by: scene.romeo, to: scene.juliet, id: "b", key: key("b", 2), writer)
        try scene.say("3", by: scene.juliet, to: scene.romeo, id: "c", key: key("c", 3), writer)
        try scene.say("4", by: scene.romeo, to: scene.nurse, id: "d", key: key("d", 4), writer)
        try scene.say("5", by: scene.romeo, to: scene.juliet, id: "e", writer)
        let found = try writer.find("a", by: scene.romeo.id, in: first.dialog)
        try equal(found?.position, first.position, "in the same transaction")
        let last = try scene.say("6", by: scene.romeo, to: scene.juliet, id: "b", key: key("b", 6), writer)
        return (first, last, first.dialog)
      }
      try scene.write { reader in
        let a = try reader.find("a", by: scene.romeo.id, in: dialog)
        try equal(a?.position, first.position)
        try equal(a?.bodyHash, .max)
        let b = try reader.find("b", by: scene.romeo.id, in: dialog)
        try equal(b?.position, last.position)
        try equal(b?.bodyHash, 6)
        for (id, author) in [
          ("c", scene.romeo), ("a", scene.juliet), ("d", scene.romeo), ("e", scene.romeo), ("", scene.romeo),
        ] {
          try require(try reader.find(id, by: author.id, in: dialog) == nil, "found \(id) by \(author.address)")
        }
      }
    },
    Case(name: "a message with an origin id is found by that and by its stanza's id") { scene in
      let said = try scene.write {
        try scene.say(
          "1", by: scene.romeo, to: scene.juliet, id: "stanza",
          key: RepeatKey(rule: .xmpp, id: "origin", bodyHash: 9), $0)
      }
      let unnamed = try scene.write {
        try scene.say(
          "2", by: scene.romeo, to: scene.juliet, key: RepeatKey(rule: .app, id: "client \u{e9}", bodyHash: 8), $0)
      }
      for (id, entry, hash) in [("stanza", said, 9), ("origin", said, 9), ("client \u{e9}", unnamed, 8 as UInt64)] {
        let found = try scene.write { try $0.find(id, by: scene.romeo.id, in: said.dialog) }
        try equal(found?.position, entry.position, id)
        try equal(found?.bodyHash, hash, id)
      }
    },
    Case(name: "an erased message is gone, and still counts") { scene in
      let (before, erased, after) = try scene.write { writer in
        let before = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        let erased = try scene.say(
          "2", by: scene.romeo, to: scene.juliet, id: "m", key: RepeatKey(rule: .xmpp, id: "o", bodyHash: 1),
          traits: Scene.traits.union(.transient), writer)
        return (before, erased, try scene.say("3", by: scene.juliet, to: scene.romeo, writer))
      }
      try scene.write { try $0.erase(erased.position, in: DialogID(erased.dialog.number + 1)) }
      try scene.read { try equal(try $0.entry(erased.position, in: erased.dialog), erased) }
      try scene.write { try $0.erase(erased.position, in: erased.dialog) }
      try scene.write { reader in
        try require(try reader.entry(erased.position, in: erased.dialog) == nil, "the entry is there")
        try equal(
          try reader.history(of: erased.dialog, after: .zero, before: .end, limit: 9, ascending: true),
          [before, after], "history")
        for party in [scene.romeo, scene.juliet] {
          try equal(try reader.feed(of: party.id, after: .zero, limit: 9), [before, after], "feed")
          try equal(try reader.archive(of: party.id, ArchiveQuery(limit: 9)).entries, [before, after], "archive")
        }
        try equal(try reader.replay(of: scene.juliet.id, after: .zero, limit: 9), [before], "replay")
        for id in ["m", "o"] {
          try require(try reader.find(id, by: scene.romeo.id, in: erased.dialog) == nil, "found \(id)")
        }
        for (position, count) in [(before.position, 1), (erased.position, 2), (after.position, 3 as Int64)] {
          try equal(try reader.counting(in: erased.dialog, upTo: position, by: scene.romeo.id).all, count, "counting")
        }
      }
    },
    Case(name: "the growth is what was written beside messages, less what was erased") { scene in
      try scene.write { writer in
        let before = writer.growth
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try writer.erase(said.position, in: said.dialog)
        try equal(writer.growth, before)
        let room = try scene.room("orchard", of: [scene.romeo], writer)
        let topic = String(repeating: "x", count: 1_000)
        let start = writer.growth
        let noted = try scene.note(
          .topic(Topic(text: topic, nick: nil, time: scene.time)), by: scene.romeo, in: room.id, writer)
        try equal(writer.growth.entries, start.entries + 1)
        try require((1_000..<1_100).contains(writer.growth.bytes - start.bytes), "\(writer.growth)")
        try writer.erase(noted.position, in: noted.dialog)
        try equal(writer.growth, start)
        let stanza = Message(
          sequence: 0, content: Content(kind: .none, extras: [UInt8](repeating: 0x20, count: 500)),
          envelope: Envelope(type: .groupchat, id: "\u{e9}", language: "de"), traits: [.archived])
        let spoken = try scene.note(
          .topic(Topic(text: topic, nick: nil, time: scene.time)), by: scene.romeo, in: room.id, stanza: stanza, writer)
        try require((1_504..<1_604).contains(writer.growth.bytes - start.bytes), "\(writer.growth)")
        try writer.erase(spoken.position, in: spoken.dialog)
        try equal(writer.growth, start)
      }
    },
    Case(name: "erasing nothing does nothing") { scene in
      let said = try scene.write { try scene.say("1", by: scene.romeo, to: scene.juliet, $0) }
      try scene.write {
        try $0.erase(Position(99), in: said.dialog)
        try $0.erase(said.position, in: said.dialog)
        try $0.erase(said.position, in: said.dialog)
      }
      try equal(try scene.read { try $0.head().position }, said.position)
    },
  ]

  private static func facts(_ scene: Scene) throws -> [Fact] {
    let whole = Contact(
      owner: scene.romeo.id, address: scene.juliet.address, peer: scene.juliet.id, name: "J", groups: ["a", "b"],
      subscription: .fromPendingOut, request: [1, 2], version: Position(77))
    let bare = Contact(
      owner: scene.romeo.id, address: try BareJID("x.example"), peer: nil, subscription: .none, version: .zero)
    return [
      .contact(ContactChange(contact: whole, push: true, act: .subscribe, stanza: [3, 0])),
      .contact(ContactChange(contact: bare, removed: true, push: false)),
      .blocks(
        BlockChange(
          act: .block, patterns: [BlockPattern(try JID("a@b.example/c")), BlockPattern(try JID("d.example"))])),
      .blocks(BlockChange(act: .unblock, patterns: [])),
      .profile(Profile(displayName: "R \u{1F339}", status: "", avatarHash: "00ff", metadata: "{}")),
      .profile(Profile()),
      .contactGroup(ContactGroupChange(act: .left, moved: [scene.juliet], others: [scene.nurse, scene.romeo])),
      .contactGroup(ContactGroupChange(act: .renamed, moved: [], others: [])),
      .dialogOpened,
    ]
  }
}
