import Addresses
import Dialogs

extension StoreConformance {
  // MARK: Messages

  static let roomLog: [Case] = [
    Case(name: "a message in a room comes back as it was said, and is found there only") { scene in
      func key(_ id: String, _ hash: UInt64) -> RepeatKey { RepeatKey(rule: .xmpp, id: id, bodyHash: hash) }
      let (room, other, said) = try scene.write { writer in
        let room = try scene.room("orchard", of: [scene.romeo, scene.juliet], writer)
        let other = try scene.room("balcony", of: [scene.romeo], writer)
        let said = try scene.say("h\u{f6}", by: scene.romeo, in: room.id, id: "s", key: key("o", 7), writer)
        try equal(try writer.entry(said.position, in: room.id), said)
        try scene.say("2", by: scene.juliet, in: room.id, id: "j", key: key("j", 8), writer)
        return (room, other, said)
      }
      try scene.write { reader in
        let found = try reader.entry(said.position, in: room.id)
        try equal(found, said)
        try equal(found?.addressee, room.address)
        try equal(found?.room?.realm, scene.realm.id)
        try require(found?.peer == nil, "a room's entry has a peer")
        try require(try reader.entry(said.position, in: other.id) == nil, "found in another room")
        for id in ["s", "o"] {
          let repeated = try reader.find(id, by: scene.romeo.id, in: room.id)
          try equal(repeated?.position, said.position, id)
          try equal(repeated?.bodyHash, 7, id)
          try require(try reader.find(id, by: scene.juliet.id, in: room.id) == nil, "found by another author")
          try require(try reader.find(id, by: scene.romeo.id, in: other.id) == nil, "found in another room")
        }
        // Nobody's feed or archive holds what a room says.
        try equal(try reader.archive(of: scene.juliet.id, ArchiveQuery(limit: 9)).entries, [])
        try equal(try reader.replay(of: scene.juliet.id, after: .zero, limit: 9), [])
        try require(
          try !reader.feed(of: scene.juliet.id, after: .zero, limit: 9).contains { $0.position == said.position },
          "a feed row of a message")
      }
    },
    Case(name: "every change of a room comes back as it was") { scene in
      let stanza = Message(
        sequence: 0, content: Content(kind: .none, text: "t", extras: [0x3c, 0]),
        envelope: Envelope(type: .groupchat, fromResource: "R", id: "t1", language: "en"), traits: [.archived])
      let room = try scene.write { try scene.room(of: [scene.romeo], $0) }
      let changes: [(RoomChange.Change, Message?)] = [
        (.created, nil), (.settings(whole(), was: .group), nil), (.settings(.open, was: whole()), nil),
        (.topic(Topic(text: "t \u{1F339}", nick: "R", time: scene.time)), stanza),
        (.topic(Topic(text: "", nick: nil, time: scene.time)), nil),
        (.member(MemberChange(party: scene.juliet, was: .outcast, now: .owner, nick: "J", reason: "why")), nil),
        (.member(MemberChange(party: scene.romeo, was: .watcher, now: .none, nick: nil, reason: nil)), nil),
        (
          .member(MemberChange(party: scene.romeo, was: .member, now: .member, nick: "R", reason: "", isKicked: true)),
          nil
        ),
        (
          .member(MemberChange(party: scene.romeo, was: .admin, now: .admin, nick: nil, reason: nil, wasKicked: true)),
          nil
        ),
        (.destroyed(reason: nil, alternate: nil), nil),
        (.destroyed(reason: "", alternate: try BareJID("tomb@rooms.verona.example")), nil),
      ]
      var shown: [Entry] = []
      for (index, (change, stanza)) in changes.enumerated() {
        let isShown = !index.isMultiple(of: 3)
        let entry = try scene.write {
          try scene.note(change, by: scene.romeo, in: room.id, stanza: stanza, isShown: isShown, $0)
        }
        if isShown { shown.append(entry) }
        try equal(try scene.read { try $0.entry(entry.position, in: room.id) }, entry)
      }
      try equal(
        try scene.read {
          try $0.history(of: room.id, after: room.last, before: .end, limit: 99, ascending: true)
        }, shown, "what is shown")
    },
    Case(name: "a topic's stanza is found by its ids") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo], $0) }
      for (stanzaID, keyID) in [("s1", "k1"), (nil, "k2"), ("s3", "s3")] {
        let topic = try scene.write { writer in
          try scene.add(
            room.id, by: scene.romeo, key: RepeatKey(rule: .app, id: keyID, bodyHash: 5), writer
          ) { room in
            .room(
              RoomChange(
                sequence: 0, change: .topic(Topic(text: keyID, nick: nil, time: scene.time)),
                stanza: stanzaID.map {
                  Message(sequence: 0, content: Content(kind: .none), envelope: Envelope(id: $0), traits: [])
                }))
          }
        }
        for id in [stanzaID, keyID].compactMap({ $0 }) {
          let found = try scene.write { try $0.find(id, by: scene.romeo.id, in: room.id) }
          try equal(found?.position, topic.position, id)
          try equal(found?.bodyHash, 5, id)
        }
        try equal(try scene.read { try $0.entry(topic.position, in: room.id) }, topic)
      }
    },
    Case(name: "an invitation is in the invited user's own dialog") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo], $0) }
      for invitation in [
        Invitation(
          room: room.name, inviter: scene.romeo, reason: "come \u{1F339}", password: "rose", isBookmarked: false),
        Invitation(room: room.name, inviter: scene.nurse, reason: nil, password: nil, isBookmarked: true),
      ] {
        let entry = try scene.write { try scene.note(.invitation(invitation), by: scene.juliet, $0) }
        try scene.read { reader in
          try equal(try reader.entry(entry.position, in: entry.dialog), entry)
          try equal(try reader.feed(of: scene.juliet.id, after: entry.position.previous, limit: 9), [entry])
        }
      }
    },
    Case(name: "a room's history is paged both ways") { scene in
      let (room, said) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        var said: [Entry] = []
        for index in 1...4 {
          said.append(try scene.say("\(index)", by: scene.romeo, in: room.id, writer))
          try scene.say("", by: scene.juliet, in: room.id, traits: [.archived], isShown: false, writer)
          try scene.say("elsewhere", by: scene.romeo, to: scene.juliet, writer)
          try scene.display(said[index - 1], by: scene.juliet, in: room.id, writer)
        }
        return (room, said)
      }
      func history(
        _ after: Position, _ before: Position = .end, limit: Int = 99, ascending: Bool = true
      ) throws -> [Entry] {
        try scene.read {
          try $0.history(of: room.id, after: after, before: before, limit: limit, ascending: ascending)
        }
      }
      try equal(try history(room.last), said)
      try equal(try history(room.last, ascending: false), said.reversed())
      try equal(try history(.zero, said[0].position).count, 2, "both who joined")
      try equal(try history(said[0].position, said[3].position), [said[1], said[2]])
      try equal(try history(said[0].position, limit: 1), [said[1]])
      try equal(try history(.zero, said[3].position, limit: 2, ascending: false), [said[2], said[1]])
    },
    Case(name: "an erased message of a room is gone, and still counts") { scene in
      let (room, erased, after) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let erased = try scene.say(
          "1", by: scene.romeo, in: room.id, id: "s", key: RepeatKey(rule: .xmpp, id: "o", bodyHash: 1), writer)
        let after = try scene.say("2", by: scene.romeo, in: room.id, writer)
        try writer.erase(erased.position, in: room.id)
        return (room, erased, after)
      }
      try scene.write { reader in
        try require(try reader.entry(erased.position, in: room.id) == nil, "the entry is there")
        try equal(
          try reader.history(of: room.id, after: room.last, before: .end, limit: 9, ascending: true), [after])
        try equal(try reader.archive(of: room.id, ArchiveQuery(limit: 9)).entries, [after])
        // Its place does not count as one of the page.
        try equal(
          try reader.feed(of: scene.juliet.id, rooms: [(room.id, .zero)], after: room.last, limit: 1), [after])
        try require(try reader.find("s", by: scene.romeo.id, in: room.id) == nil, "found")
        try equal(try reader.unread(of: scene.juliet.id), 2)
        let counts = try reader.counting(in: room.id, upTo: erased.position, by: scene.romeo.id)
        try equal([counts.all, counts.own], [1, 1])
      }
    },
    Case(name: "unread in rooms: what counts, less what was read and what one wrote oneself") { scene in
      func unread(_ party: Party) throws -> Int64 { try scene.read { try $0.unread(of: party.id) } }
      let (room, third) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try scene.say("1", by: scene.romeo, in: room.id, writer)
        try scene.say("2", by: scene.juliet, in: room.id, writer)
        let third = try scene.say("3", by: scene.romeo, in: room.id, writer)
        try scene.say("4", by: scene.juliet, in: room.id, writer)
        try scene.say("quiet", by: scene.romeo, in: room.id, traits: [.archived], writer)
        try scene.note(.created, by: scene.romeo, in: room.id, writer)
        // A visitor's count too.
        try scene.say("5", by: scene.nurse, in: room.id, writer)
        try scene.say("private", by: scene.nurse, to: scene.juliet, writer)
        return (room, third)
      }
      try equal([try unread(scene.romeo), try unread(scene.juliet), try unread(scene.nurse)], [3, 4, 0])
      try scene.write { try scene.display(third, by: scene.juliet, in: room.id, $0) }
      try equal([try unread(scene.romeo), try unread(scene.juliet)], [3, 2])
      try scene.write { try scene.display(third, by: scene.romeo, in: room.id, told: false, $0) }
      try equal(try unread(scene.romeo), 2)
      let mark = try scene.read { try $0.mark(scene.romeo.id, in: room.id) }
      try equal([mark?.own, mark?.ownAtDisplayed, mark?.displayedOrdinal], [2, 2, 3])
    },
    Case(name: "counting in a room is exact up to any position, wherever the mark is") { scene in
      try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        var said: [Entry] = []
        for (index, author) in [0, 1, 1, 2, 0, 1, 0, 0].map({ [scene.romeo, scene.juliet, scene.nurse][$0] })
          .enumerated()
        {
          let traits: Message.Traits = index == 2 ? [.archived] : [.counts]
          said.append(try scene.say("\(index)", by: author, in: room.id, traits: traits, writer))
          try scene.say("elsewhere", by: scene.romeo, to: scene.juliet, writer)
        }
        let expected: [(all: Int64, romeo: Int64, juliet: Int64)] = [
          (1, 1, 0), (2, 1, 1), (2, 1, 1), (3, 1, 1), (4, 2, 1), (5, 2, 2), (6, 3, 2), (7, 4, 2),
        ]
        for moved in [nil, 4, 6, 7] {
          if let moved { try scene.display(said[moved], by: scene.romeo, in: room.id, writer) }
          for (entry, expected) in zip(said, expected) {
            // Also from a position between two entries of the room.
            for position in [entry.position, entry.position.next] {
              let romeo = try writer.counting(in: room.id, upTo: position, by: scene.romeo.id)
              let juliet = try writer.counting(in: room.id, upTo: position, by: scene.juliet.id)
              try equal([romeo.all, romeo.own, juliet.own], [expected.all, expected.romeo, expected.juliet])
              try equal(juliet.all, romeo.all)
              try equal(try writer.ordinal(in: room.id, upTo: position), romeo.all)
            }
          }
        }
        let end = try writer.counting(in: room.id, upTo: .end, by: scene.juliet.id)
        try equal([end.all, end.own], [7, 2])
        let nothing = try writer.counting(in: room.id, upTo: .zero, by: scene.romeo.id)
        try equal([nothing.all, nothing.own], [0, 0])
        try equal(try writer.ordinal(in: room.id, upTo: .zero), 0)
      }
    },
    Case(name: "counting far from the mark goes from the marked message on, and no further than a bound") { scene in
      try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        var said: [Entry] = []
        for index in 0..<20 {
          let author = index % 4 == 0 ? scene.romeo : scene.juliet
          said.append(try scene.say("\(index)", by: author, in: room.id, writer))
        }
        func own(_ index: Int, _ looksMax: Int) throws -> Int64 {
          let counts = try writer.counting(
            in: room.id, upTo: said[index].position, by: scene.romeo.id, looksMax: looksMax)
          return counts.own
        }
        // Romeo has written 0, 4, 8, 12 and 16. The mark is at the beginning.
        try equal(try own(4, 9), 2, "near the mark")
        try equal(try own(15, 9), 4, "near the end")
        try equal(try own(9, 4), 4, "far from both: of 12 and 16 behind it only one is found")
        try scene.display(said[15], by: scene.romeo, in: room.id, writer)
        try equal(try own(18, 5), 5, "near the new mark")
        try equal(try own(12, 5), 4, "before it")
      }
    },
    Case(name: "counting in a room does not wait for the author's mark to be put") { scene in
      try scene.write { writer in
        let room = try scene.room(of: [scene.romeo], writer)
        let first = try scene.say("1", by: scene.romeo, in: room.id, writer)
        var mark = try writer.mark(scene.romeo.id, in: room.id)
        for text in ["2", "3"] { try scene.say(text, by: scene.romeo, in: room.id, writer) }
        // The mark is as the core has it in the middle of a batch: the messages are written, and not yet counted.
        mark?.own = 1
        if let mark { try writer.put(mark, superseded: .zero) }
        try equal(try writer.counting(in: room.id, upTo: first.position, by: scene.romeo.id).own, 1)
        try equal(try writer.counting(in: room.id, upTo: .end, by: scene.romeo.id).own, 3)
      }
    },
    Case(name: "unread is right for who comes back, also when they read what was before") { scene in
      let (room, before) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        var before = [try scene.say("1", by: scene.romeo, in: room.id, writer)]
        before.append(try scene.say("2", by: scene.juliet, in: room.id, writer))
        before.append(try scene.say("3", by: scene.romeo, in: room.id, writer))
        try scene.join(scene.juliet, room.id, as: .none, writer)
        try scene.say("4", by: scene.romeo, in: room.id, writer)
        try scene.join(scene.juliet, room.id, writer)
        try scene.say("5", by: scene.romeo, in: room.id, writer)
        try scene.say("6", by: scene.juliet, in: room.id, writer)
        return (room, before)
      }
      func unread() throws -> Int64 { try scene.read { try $0.unread(of: scene.juliet.id) } }
      try equal(try unread(), 1)
      // Behind the first two are 3, 4 and 5 of others, behind the last 4 and 5.
      for (target, left) in zip(before, [3, 3, 2] as [Int64]) {
        try scene.write { try scene.display(target, by: scene.juliet, in: room.id, $0) }
        try equal(try unread(), left)
      }
    },
    Case(name: "only the last of a member's markers in a room is there") { scene in
      let (room, said, marked, quiet) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try (1...4).map { try scene.say("\($0)", by: scene.romeo, in: room.id, writer) }
        for target in said[0...1] { try scene.display(target, by: scene.juliet, in: room.id, writer) }
        let others = try scene.display(said[0], by: scene.romeo, in: room.id, told: false, writer)
        let marked = try scene.display(said[2], by: scene.juliet, in: room.id, writer)
        try equal(try writer.entry(marked.position, in: room.id), marked)
        return (room, said, marked, others)
      }
      func feed(_ party: Party) throws -> [Entry] {
        try scene.read { try $0.feed(of: party.id, rooms: [(room.id, .zero)], after: room.last, limit: 99) }
      }
      // A marker that only its author may see is in no list of the room.
      try equal(try feed(scene.juliet), said + [marked])
      try equal(try feed(scene.romeo), said + [quiet, marked])
      try equal(try scene.read { try $0.mark(scene.juliet.id, in: room.id)?.position }, marked.position)
      // A marker that is told takes the place of one that is not, and the other way round.
      let (told, secret) = try scene.write { writer in
        (
          try scene.display(said[1], by: scene.romeo, in: room.id, writer),
          try scene.display(said[3], by: scene.juliet, in: room.id, told: false, writer)
        )
      }
      try equal(try feed(scene.romeo), said + [told])
      try equal(try feed(scene.juliet), said + [told, secret])
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: room.last, limit: 9) }, [])
      try equal(try scene.read { try $0.archive(of: room.id, ArchiveQuery(limit: 9)).entries }, said)
      try equal(try scene.read { try $0.head().position }, scene.position)
    },
  ]

  // MARK: The feeds of members

  static let roomFeed: [Case] = [
    Case(name: "a feed with rooms has everything of them, in log order") { scene in
      let (orchard, balcony, expected) = try scene.write { writer in
        let orchard = try scene.room("orchard", of: [scene.romeo, scene.juliet], writer)
        let balcony = try scene.room("balcony", of: [scene.romeo], writer)
        let foreign = try scene.room("foreign", of: [scene.juliet], writer)
        var expected: [Entry] = []
        for index in 1...3 {
          expected.append(try scene.say("o\(index)", by: scene.juliet, in: orchard.id, writer))
          try scene.say("not romeo's", by: scene.juliet, in: foreign.id, writer)
          expected.append(try scene.say("b\(index)", by: scene.romeo, in: balcony.id, writer))
          expected.append(try scene.say("p\(index)", by: scene.juliet, to: scene.romeo, writer))
          expected.append(try scene.say("", by: scene.juliet, in: orchard.id, traits: [], isShown: false, writer))
          // Only in the archive.
          try scene.say(Content(kind: .none), Envelope(), by: scene.juliet, to: scene.romeo, traits: .archived, writer)
          expected.append(try scene.note(.created, by: scene.romeo, in: balcony.id, isShown: false, writer))
        }
        expected.append(try scene.note(.profile(Profile()), by: scene.romeo, writer))
        return (orchard, balcony, expected)
      }
      let start = expected[0].position.previous
      func feed(
        _ rooms: [(room: DialogID, since: Position)], _ after: Position = .zero, _ limit: Int = 99
      ) throws -> [Entry] {
        try scene.read { try $0.feed(of: scene.romeo.id, rooms: rooms, after: max(after, start), limit: limit) }
      }
      let both = [(room: orchard.id, since: Position.zero), (room: balcony.id, since: Position.zero)]
      try equal(try feed(both), expected)
      try equal(try feed(both.reversed()), expected)
      try equal(try feed([]), try scene.read { try $0.feed(of: scene.romeo.id, after: start, limit: 99) })
      try equal(try feed([both[0]]), expected.filter { $0.dialog != balcony.id })
      for limit in [1, 2, 3, 5, expected.count, expected.count + 1] {
        for rooms in [both, both.reversed()] {
          var seen: [Entry] = []
          while true {
            let page = try feed(rooms, seen.last?.position ?? .zero, limit)
            seen += page
            guard page.count == limit else { break }
          }
          try equal(seen, expected, "pages of \(limit)")
        }
      }
      try equal(try feed(both, .zero, 0), [])
      // Each room from where it is followed.
      let middle = expected[expected.count / 2].position
      try equal(
        try feed([(orchard.id, middle), both[1]]),
        expected.filter { $0.dialog != orchard.id || $0.position > middle })
      try equal(
        try feed([(orchard.id, .zero), (balcony.id, scene.position)], middle),
        expected.filter { $0.position > middle && $0.dialog != balcony.id })
      try equal(try feed(both, scene.position), [])
      try equal(try feed(both, .end), [])
    },
    Case(name: "an entry in a room and in the user's own feed comes once") { scene in
      let (room, joined, said) = try scene.write { writer in
        let room = try scene.make("orchard", writer)
        try scene.join(scene.romeo, room.id, as: .owner, writer)
        let joined = try scene.join(scene.juliet, room.id, writer)
        return (room, joined, try scene.say("1", by: scene.romeo, in: room.id, writer))
      }
      for since in [Position.zero, joined.position.previous, joined.position] {
        for limit in [1, 2, 9] {
          let page = try scene.read {
            try $0.feed(
              of: scene.juliet.id, rooms: [(room.id, since), (room.id, since)], after: joined.position.previous,
              limit: limit)
          }
          try equal(page, Array([joined, said].prefix(limit)))
        }
      }
      // It is the user's own, whatever becomes of the room.
      let log = LogAccess.server(scene.juliet.id, rooms: [(room: room.id, since: Position.zero)], .rules)
      let found = try scene.read { try $0.feed(of: log, after: .zero, limit: 9, looksMax: 99, all: false) }
      try equal(found.places.map(\.room), [room.id, nil, room.id])
    },
    Case(name: "a search of a feed ends early by its looks, and the next one goes on from there") { scene in
      let (rooms, said) = try scene.write { writer in
        let rooms = [
          try scene.room("orchard", of: [scene.romeo, scene.juliet], writer),
          try scene.room("balcony", of: [scene.romeo], writer),
        ]
        var said: [Entry] = []
        for number in 1...3 {
          // Only in the archive.
          for _ in 1...9 {
            try scene.say(
              Content(kind: .none), Envelope(), by: scene.juliet, to: scene.romeo, traits: .archived, writer)
          }
          for room in rooms {
            for _ in 1...9 {
              let gone = try scene.say("gone", by: scene.romeo, in: room.id, writer)
              try writer.erase(gone.position, in: room.id)
            }
            said.append(try scene.say("\(number)", by: scene.romeo, in: room.id, writer))
          }
          said.append(try scene.say("\(number)", by: scene.juliet, to: scene.romeo, writer))
        }
        return (rooms, said)
      }
      let followed = LogAccess.server(scene.romeo.id, rooms: rooms.map { (room: $0.id, since: Position.zero) }, .rules)
      for log in [followed, .withMemberships(of: scene.romeo)] {
        for (limit, looks) in [(1, 1), (1, 99), (2, 4), (9, 1), (9, 30), (99, 999)] {
          var (found, after, isLast): ([Entry], Position, Bool) = ([], rooms[1].last, false)
          while !isLast {
            let (page, entries) = try scene.read { [after] reader in
              let page = try reader.feed(of: log, after: after, limit: limit, looksMax: looks, all: false)
              return (page, try reader.entries(of: log, at: page.places[...], limit: limit, bytesMax: .max))
            }
            try require(page.isLast || page.end > after, "a place behind the one before")
            try equal(page.places.map(\.position), entries.map(\.position))
            (found, after, isLast) = (found + entries, page.end, page.isLast)
          }
          try equal(found, said, "\(limit) places by \(looks) looks")
          try equal(after, scene.position)
        }
      }
    },
    Case(name: "of the places of a feed, those that the user may not read any more have no entry") { scene in
      let log = LogAccess.withMemberships(of: scene.juliet)
      let (orchard, kept, places) = try scene.write { writer in
        let orchard = try scene.room("orchard", of: [scene.romeo, scene.juliet], writer)
        let balcony = try scene.room("balcony", of: [scene.romeo, scene.juliet], writer)
        let other = try scene.room("other", of: [scene.romeo], writer)
        try scene.say("1", by: scene.romeo, in: orchard.id, writer)
        try scene.say("not hers", by: scene.romeo, in: other.id, writer)
        let kept = [
          try scene.say("2", by: scene.romeo, in: balcony.id, writer),
          try scene.say("3", by: scene.romeo, to: scene.juliet, writer),
        ]
        try scene.say("4", by: scene.romeo, in: orchard.id, writer)
        let found = try writer.feed(of: log, after: other.last, limit: 9, looksMax: 99, all: false)
        return (orchard, kept, found.places)
      }
      try equal(places.map(\.room), [orchard.id, kept[0].dialog, nil, orchard.id])
      func read() throws -> [Entry] {
        try scene.read { try $0.entries(of: log, at: places[...], limit: 9, bytesMax: .max) }
      }
      try equal(try read().count, 4)
      try scene.write { try scene.join(scene.juliet, orchard.id, as: .none, $0) }
      try equal(try read(), kept)
      try scene.write { try scene.join(scene.juliet, orchard.id, $0) }
      try equal(try read(), kept)
    },
    Case(name: "a removed member keeps the entry that told them, and nothing behind it") { scene in
      let (room, told) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try scene.say("1", by: scene.romeo, in: room.id, writer)
        let told = try scene.join(scene.juliet, room.id, as: .none, writer)
        try scene.say("2", by: scene.romeo, in: room.id, writer)
        return (room, told)
      }
      try scene.read { reader in
        let rooms = try reader.memberships(of: scene.juliet.id)
        try equal(
          try reader.feed(
            of: scene.juliet.id, rooms: rooms.map { (room: $0.room.dialog, since: $0.since) }, after: room.last,
            limit: 9), [told])
      }
    },
  ]

  // MARK: The archive

  static let roomArchive: [Case] = [
    Case(name: "a room's archive has messages that are archived and topics, paged both ways") { scene in
      let (room, kept) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let other = try scene.room("other", of: [scene.romeo], writer)
        var kept: [Entry] = []
        for index in 0..<4 {
          kept.append(try scene.say("\(index)", by: scene.romeo, in: room.id, writer))
          try scene.say("not kept", by: scene.juliet, in: room.id, traits: [.counts], writer)
          try scene.say("elsewhere", by: scene.juliet, in: other.id, writer)
          try scene.say("elsewhere", by: scene.juliet, to: scene.romeo, writer)
          kept.append(
            try scene.note(
              .topic(Topic(text: "\(index)", nick: "R", time: scene.time)), by: scene.romeo, in: room.id,
              isShown: index > 1, writer))
          try scene.note(.settings(.open, was: .group), by: scene.romeo, in: room.id, writer)
          kept.append(try scene.say("", by: scene.juliet, in: room.id, traits: [.archived], isShown: false, writer))
          try scene.display(kept[0], by: scene.juliet, in: room.id, writer)
        }
        return (room, kept)
      }
      func archive(_ change: (inout ArchiveQuery) -> Void) throws -> ArchivePage {
        var query = ArchiveQuery(limit: 99)
        change(&query)
        return try scene.read { try $0.archive(of: room.id, query) }
      }
      for backwards in [false, true] {
        try equal(try archive { $0.backwards = backwards }.entries, kept)
        let full = try archive {
          $0.limit = kept.count
          $0.backwards = backwards
        }
        try equal(full.complete, true)
        var seen: [Entry] = []
        for round in 0..<3 {
          let page = try archive {
            $0.limit = 5
            $0.backwards = backwards
            if let end = backwards ? seen.first : seen.last {
              if backwards { $0.before = end.position } else { $0.after = end.position }
            }
          }
          try equal(page.complete, round == 2)
          seen = backwards ? page.entries + seen : seen + page.entries
        }
        try equal(seen, kept)
        let timed = try archive {
          $0.start = kept[2].time
          $0.end = kept[7].time
          $0.before = kept[7].position
          $0.backwards = backwards
        }
        try equal(timed.entries, Array(kept[2...6]))
      }
      let none = try archive { $0.limit = 0 }
      try equal(none.entries, [])
      try equal(none.complete, false)
      let named = try archive {
        $0.positions = [kept[5].position, kept[1].position, kept[1].position.next, Position(999)]
        $0.limit = 1
      }
      try equal(named.entries, [kept[1], kept[5]])
      try equal(named.complete, true)
      let absent = try scene.read { try $0.archive(of: DialogID(99), ArchiveQuery(limit: 9)) }
      try equal(absent.entries, [])
      try equal(absent.complete, true)
      // It is nobody's personal archive.
      var query = ArchiveQuery(limit: 9)
      query.with = room.id
      try equal(try scene.read { try $0.archive(of: scene.romeo.id, query).entries }, [])
    }
  ]
}
