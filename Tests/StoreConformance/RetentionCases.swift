import Addresses
import Basics
import Dialogs

/// Entries that go by their age, and holds.
extension StoreConformance {
  static func words(_ scene: Scene, _ text: String, of user: Party) throws -> [Position] {
    var query = ArchiveQuery(limit: 100)
    query.text = text
    while try scene.write({ try $0.indexMessages(limit: 10, bytes: .max) }) {}
    return try scene.read { try $0.archive(of: user.id, query) }.entries.map(\.position)
  }

  /// Removes everything up to a position, in pieces. Returns their number.
  @discardableResult
  private static func expire(
    _ scene: Scene, _ dialog: DialogID, through end: Position, limit: Int = 2
  ) throws -> (pieces: Int, messages: Int) {
    var (pieces, messages) = (0, 0)
    while true {
      let piece = try scene.write {
        try $0.expire(dialog, through: end, limit: limit, endingFiles: scene.time)
      }
      pieces += 1
      messages += piece.messages
      if !piece.isMore { return (pieces, messages) }
    }
  }

  static let retention: [Case] = [
    Case(name: "old messages go in pieces, with everything that belongs to them") { scene in
      let blob = Blob(
        id: BlobID(PublicID(high: .max, low: 1)), realm: scene.realm.id, owner: scene.romeo.id, name: "f",
        mediaType: nil, size: 1, purpose: .message, state: .stored, createdAt: scene.time, expiresAt: nil)
      let key = { (number: Int) in RepeatKey(rule: .app, id: "k\(number)", bodyHash: 1) }
      let said = try scene.write { writer in
        let said = try (0..<5).map {
          try scene.say("word \($0)", by: scene.romeo, to: scene.juliet, id: "m\($0)", key: key($0), writer)
        }
        let dialog = said[0].dialog
        try writer.put(blob)
        try writer.insertBlobReference(to: blob.id, by: said[0].position)
        try writer.setMentioned([scene.juliet.id], by: said[1].position, in: dialog)
        try writer.setPinned(said[2].position, message: said[1].position, in: dialog)
        for message in [said[1], said[4]] {
          try writer.setStar(true, message.position, in: dialog, for: scene.juliet.id)
        }
        try writer.hide(said[2].position, in: dialog, for: scene.juliet.id, counts: false)
        try writer.put(
          MessageState(version: said[3].position, revision: 1, text: "edited", editedAt: scene.time),
          of: said[1].position, in: dialog)
        return said
      }
      let (dialog, gone) = (said[0].dialog, said[2].position)
      try equal(try words(scene, "word", of: scene.juliet), [0, 3, 4].map { said[$0].position })
      try equal(try words(scene, "edited", of: scene.juliet), [said[1].position])
      try equal(try scene.read { try $0.expiring(in: dialog, through: gone) }, 3)
      try equal(try expire(scene, dialog, through: gone).messages, 3)
      try scene.reopen()
      let rest = [said[3].position, said[4].position]
      try equal(try words(scene, "word", of: scene.juliet), rest)
      try equal(try words(scene, "edited", of: scene.juliet), [])
      try scene.write { writer in
        for party in [scene.romeo, scene.juliet] {
          try equal(
            try writer.history(of: dialog, after: .zero, before: .end, limit: 99, ascending: true).map(\.position), rest
          )
          try equal(try writer.archive(of: party.id, ArchiveQuery(limit: 99)).entries.map(\.position), rest)
          try equal(try writer.feed(of: party.id, after: .zero, limit: 99, all: true).map(\.position), rest)
        }
        for number in 0..<5 {
          try equal(
            try writer.find("k\(number)", by: scene.romeo.id, in: dialog)?.position,
            number < 3 ? nil : said[number].position)
          try equal(try writer.find("m\(number)", by: scene.romeo.id, in: dialog) == nil, number < 3)
        }
        try equal(try writer.state(isThereFor: said[1], in: dialog), false)
        try equal(try writer.mentions(of: scene.juliet.id, in: dialog), 0)
        try equal(try writer.pins(of: dialog), [])
        try equal(try writer.hiddenCount(of: scene.juliet.id), 0)
        try equal(
          try writer.stars(of: scene.juliet.id, before: .end, limit: 9).map(\.message), [said[4].position])
        try equal(try writer.blob(blob.id)?.expiresAt, scene.time)
        try equal(try writer.expiring(in: dialog, through: gone), 0)
        try equal(try writer.expired(in: .server(dialog, .rules)), gone)
        for party in [scene.romeo, scene.juliet] {
          try equal(try writer.expired(in: LogAccess.server(party.id, .rules)), gone)
        }
        try equal(try writer.expired(in: LogAccess.server(scene.nurse.id, .rules)), .zero)
      }
    },
    Case(name: "an edit goes with its message, and one of a later message stays") { scene in
      let (first, edit, later) = try scene.write { writer in
        let first = try scene.say("one", by: scene.romeo, to: scene.juliet, writer)
        let second = try scene.say("two", by: scene.romeo, to: scene.juliet, writer)
        func edit(_ target: Entry) throws -> Entry {
          try scene.change(target, .correction, by: scene.romeo, to: scene.juliet, writer)
        }
        return (first, try edit(first), try edit(second))
      }
      try expire(scene, first.dialog, through: first.position)
      try scene.read { reader in
        try equal(try reader.entry(edit.position, in: first.dialog) == nil, true)
        try require(try reader.entry(later.position, in: first.dialog) != nil, "the edit of a later message is gone")
        try equal(try reader.edits(of: .server(first.position, .rules), after: .zero, limit: 9).count, 0)
      }
    },
    Case(name: "what is gone is not unread, and counts go on") { scene in
      for seed in 1...40 {
        var random = Seed(UInt64(seed))
        let isRoom = seed % 2 == 0
        let (here, dialog) = try scene.write { writer in
          if isRoom {
            let people = [scene.romeo, scene.juliet, scene.nurse]
            return (people, try scene.room("room\(seed)", of: people, writer).id)
          }
          let user = try writer.insertUser(
            BareJID("peer\(seed)@verona.example"), in: scene.realm.id, profile: Profile(), createdAt: scene.time)
          let people = [scene.romeo, Party(id: user.id, realm: user.realm, address: user.address)]
          return (people, try scene.dialog(people[0], people[1], writer).id)
        }
        var said: [Entry] = []
        var hidden: [UserID: Set<Position>] = [:]
        var aged: [UserID: Position] = [:]
        var retracted: Set<Position> = []
        for _ in 0..<40 {
          try scene.write { writer in
            let party = here[random.next(here.count)]
            switch random.next(9) {
            case 0 where !said.isEmpty:
              let target = said[random.next(said.count)]
              guard var mark = try writer.mark(party.id, in: dialog), target.position > mark.displayed,
                target.position > aged[party.id] ?? .zero
              else { return }
              if isRoom {
                try scene.display(target, by: party, in: dialog, writer)
              } else {
                try scene.display(target, by: party, writer)
              }
              mark = try writer.mark(party.id, in: dialog) ?? mark
              if mark.hidden > 0 {
                mark.hidden = try writer.hiddenCount(of: party.id, in: dialog, after: target.position)
                try writer.put(mark, superseded: .zero)
              }
            case 1 where !said.isEmpty:
              let target = said[random.next(said.count)]
              guard target.author != party, target.position > aged[party.id] ?? .zero,
                hidden[party.id, default: []].insert(target.position).inserted,
                var mark = try writer.mark(party.id, in: dialog)
              else { return }
              try writer.hide(target.position, in: dialog, for: party.id, counts: true)
              if try writer.counting(in: dialog, upTo: target.position, by: party.id).all > mark.displayedOrdinal {
                mark.hidden += 1
                try writer.put(mark, superseded: .zero)
              }
            case 2 where !said.isEmpty:
              let end = said[random.next(said.count)].position
              let limit = 1 + random.next(6)
              while try writer.expire(dialog, through: end, limit: limit, endingFiles: nil).isMore {}
              said.removeAll { $0.position <= end }
            case 3 where !said.isEmpty:
              let end = said[random.next(said.count)].position
              try writer.age(dialog, through: end, for: party.id)
              aged[party.id] = max(aged[party.id] ?? .zero, end)
            case 4 where !said.isEmpty:
              let target = said[random.next(said.count)]
              retracted.insert(target.position)
              let retraction = MessageState.Retraction(
                by: target.author, at: scene.time, id: nil, reason: nil, isModeration: false)
              try writer.put(
                MessageState(version: target.position, revision: 1, retraction: retraction), of: target.position,
                in: dialog)
            default:
              said.append(
                isRoom
                  ? try scene.say("x", by: party, in: dialog, writer)
                  : try scene.say("x", by: party, to: here[party == here[0] ? 1 : 0], writer))
            }
          }
          try scene.read { reader in
            let ordinal = try isRoom ? scene.stored(dialog, reader).ordinal : reader.dialog(dialog)?.ordinal ?? 0
            for party in here {
              guard let mark = try reader.mark(party.id, in: dialog) else { throw Unmet(description: "no mark") }
              let expected = said.count {
                $0.position > max(mark.displayed, aged[party.id] ?? .zero) && $0.author != party
                  && hidden[party.id]?.contains($0.position) != true && !retracted.contains($0.position)
              }
              try equal(mark.unread(ordinal: ordinal), Int64(expected), "seed \(seed), \(party.name)")
            }
          }
        }
      }
      try scene.read { reader in
        let sum =
          try reader.dialogs(of: scene.romeo.id, before: .end, limit: 99).reduce(0) {
            $0 + $1.mark.unread(ordinal: $1.dialog.ordinal)
          }
          + reader.rooms(of: scene.romeo.id, before: .end, limit: 99).reduce(0) {
            $0 + $1.mark.unread(ordinal: $1.room.ordinal)
          }
        try equal(try reader.unread(of: scene.romeo.id), sum)
      }
    },
    Case(name: "a dialog that is gone altogether is in its list without a message, and goes on") { scene in
      let first = try scene.write { try scene.say("one", by: scene.romeo, to: scene.juliet, $0) }
      try expire(scene, first.dialog, through: .end)
      try scene.read { reader in
        let view = try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9)
        try equal(view.map(\.dialog.id), [first.dialog])
        try equal(view.first?.lastMessage == nil, true)
        try equal(try reader.unread(of: scene.juliet.id), 0)
        try equal(
          try reader.conversations(of: scene.juliet.id, ConversationQuery(limit: 9)).conversations.count, 0)
      }
      let next = try scene.write { try scene.say("two", by: scene.romeo, to: scene.juliet, $0) }
      try scene.read { reader in
        guard case .message(let message) = next.fact else { throw Unmet(description: "no message") }
        try equal(message.sequence, 2)
        try equal(try reader.unread(of: scene.juliet.id), 1)
        try equal(try reader.unread(of: scene.romeo.id), 0)
        try equal(
          try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9).first?.lastMessage?.position, next.position)
      }
    },
    Case(name: "a room's messages go, and its whispers are found as the room's") { scene in
      let (room, said, whisper) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try scene.say("one", by: scene.romeo, in: room.id, writer)
        let whisper = try scene.whisper(
          "psst", by: scene.romeo, as: "r", to: scene.juliet, known: "j", in: room.name, writer)
        return (room, said, whisper)
      }
      let aging = try scene.read { try $0.agingDialogs(after: DialogID(0), limit: 99, onlyOwn: false) }
      try equal(aging.map(\.id), aging.map(\.id).sorted { $0.number < $1.number })
      try equal(aging.filter(\.isOfRoom).map(\.id), [room.id, whisper.dialog])
      try equal(Set(aging.map(\.realm)), [scene.realm.id])
      try equal(aging.first { $0.id == whisper.dialog }?.oldest, whisper.position)
      try expire(scene, room.id, through: said.position)
      try expire(scene, whisper.dialog, through: whisper.position)
      try scene.read { reader in
        try equal(try reader.archive(of: room.id, ArchiveQuery(limit: 9)).entries.count, 0)
        try equal(try reader.archive(of: scene.juliet.id, ArchiveQuery(limit: 9)).entries.count, 0)
        try equal(try reader.feed(of: scene.juliet.id, after: .zero, limit: 9, all: true).count, 0)
        try equal(try reader.memberships(of: scene.juliet.id).map(\.room.dialog), [room.id])
        try equal(try reader.expired(in: LogAccess.server(scene.juliet.id, .rules)), whisper.position)
        try equal(
          try reader.agingDialogs(after: DialogID(0), limit: 99, onlyOwn: false).filter(\.isOfRoom).map(\.oldest),
          [nil, nil])
        try equal(try reader.agingDialogs(after: room.id, limit: 99, onlyOwn: false).map(\.id), [whisper.dialog])
      }
    },
    Case(name: "what changes a message goes with it, in pieces, and before it") { scene in
      let kinds: [Reference.Kind] = [
        .correction, .reactions(["a"]), .reactions([]), .pin(true), .retraction(reason: nil), .reactions(["b"]),
      ]
      let (first, later, changes, kept) = try scene.write { writer in
        let first = try scene.say("one", by: scene.romeo, to: scene.juliet, writer)
        let later = try scene.say("two", by: scene.romeo, to: scene.juliet, writer)
        let changes = try kinds.map { try scene.change(first, $0, by: scene.romeo, to: scene.juliet, writer) }
        let kept = try scene.change(later, .reactions(["c"]), by: scene.juliet, to: scene.romeo, writer)
        try equal(
          try writer.edits(of: .server(first.position, .rules), after: .zero, limit: 9).map(\.position),
          [changes[0].position])
        return (first, later, changes, kept)
      }
      let dialog = first.dialog
      func entries() throws -> [Position] {
        try scene.read { try $0.feed(of: scene.juliet.id, after: .zero, limit: 99, all: true) }.map(\.position)
      }
      for _ in 0..<3 {
        let piece = try scene.write { try $0.expire(dialog, through: first.position, limit: 2, endingFiles: nil) }
        try require(piece.isMore && piece.messages == 0, "\(piece)")
      }
      try equal(try entries(), [first.position, later.position, kept.position])
      let piece = try scene.write { try $0.expire(dialog, through: first.position, limit: 2, endingFiles: nil) }
      try equal(piece.messages, 1)
      try scene.reopen()
      try equal(try entries(), [later.position, kept.position])
      for change in changes {
        try equal(try scene.read { try $0.hasEntry(at: change.position, in: dialog) }, false)
      }
      // Counts go on from there.
      try scene.write { writer in
        let next = try scene.say("three", by: scene.romeo, to: scene.juliet, writer)
        guard case .message(let message) = next.fact else { throw Unmet(description: "no message") }
        try equal(message.sequence, 3)
      }
      try scene.read { reader in
        try equal(try reader.unread(of: scene.juliet.id), 2)
        try equal(try reader.unread(of: scene.romeo.id), 0)
      }
    },
    Case(name: "a change by a held user keeps what it changes") { scene in
      let (room, said, reaction) = try scene.write { writer in
        let room = try scene.room(of: [scene.juliet, scene.nurse], writer)
        let said = try [scene.juliet, scene.juliet].map { try scene.say("x", by: $0, in: room.id, writer) }
        let reaction = try scene.change(said[1], .reactions(["a"]), by: scene.romeo, in: room.id, writer)
        try writer.put(Hold(.user(scene.romeo.id), in: scene.realm.id, note: nil, since: scene.time))
        return (room, said, reaction)
      }
      let piece = try scene.write { try $0.expire(room.id, through: .end, limit: 99, endingFiles: nil) }
      try require(piece.isHeld && piece.messages == 3, "\(piece)")
      try scene.read { reader in
        try equal(
          try reader.history(of: room.id, after: .zero, before: .end, limit: 9, ascending: true).map(\.position),
          [said[1].position])
        try equal(try reader.hasEntry(at: reaction.position, in: room.id), true)
      }
    },
    Case(name: "the markers of a private dialog go with the last message that they are about") { scene in
      let (said, markers) = try scene.write { writer in
        let said = try [1, 2].map { try scene.say("\($0)", by: scene.romeo, to: scene.juliet, writer) }
        try scene.display(said[0], by: scene.juliet, writer)
        let mark = try writer.mark(scene.juliet.id, in: said[0].dialog)
        return (said, mark?.position)
      }
      guard let marker = markers, marker > .zero else { throw Unmet(description: "no marker") }
      func isThere() throws -> Bool { try scene.read { try $0.hasEntry(at: marker, in: said[0].dialog) } }
      try equal(try isThere(), true)
      try expire(scene, said[0].dialog, through: said[0].position)
      try equal(try isThere(), false)
      try scene.write { writer in
        try equal(try writer.mark(scene.juliet.id, in: said[0].dialog)?.displayed, said[0].position)
        try scene.display(said[1], by: scene.juliet, writer)
      }
      try scene.read { reader in
        try equal(try reader.unread(of: scene.juliet.id), 0)
        try equal(try reader.unread(of: scene.romeo.id), 0)
      }
    },
    Case(name: "rooms with an age of their own are found, with their whispers") { scene in
      var settings = RoomSettings.group
      settings.retentionDays = 7
      let (own, plain, whisper) = try scene.write { writer in
        var own = try scene.room(of: [scene.romeo, scene.juliet], writer)
        own.settings.retentionDays = 7
        try writer.update(own)
        let plain = try writer.insertRoom(
          localpart: "plain", in: scene.realm.id, externalID: nil, settings: .group, createdAt: scene.time)
        let whisper = try scene.whisper(
          "psst", by: scene.romeo, as: "r", to: scene.juliet, known: "j", in: own.name, writer)
        try scene.say("one", by: scene.romeo, to: scene.juliet, writer)
        return (own, plain, whisper)
      }
      let made = try scene.write {
        try $0.insertRoom(
          localpart: "made", in: scene.realm.id, externalID: nil, settings: settings, createdAt: scene.time)
      }
      try scene.reopen()
      func found(onlyOwn: Bool) throws -> [AgingDialog] {
        try scene.read { try $0.agingDialogs(after: DialogID(0), limit: 99, onlyOwn: onlyOwn) }
      }
      try equal(try found(onlyOwn: true).map(\.id), [own.id, whisper.dialog, made.id])
      try equal(try found(onlyOwn: true).map(\.days), [7, 7, 7])
      try equal(try found(onlyOwn: false).first { $0.id == plain.id }?.days, nil)
      try equal(
        try scene.read { try $0.agingDialogs(after: own.id, limit: 1, onlyOwn: true) }.map(\.id), [whisper.dialog])
      try scene.write { writer in
        var room = try scene.stored(own.id, writer)
        try equal(room.settings.retentionDays, 7)
        room.settings.retentionDays = nil
        try writer.update(room)
      }
      try equal(try found(onlyOwn: true).map(\.id), [made.id])
    },
    Case(name: "a destroyed room keeps the entry that says so") { scene in
      let (room, end) = try scene.write { writer in
        var room = try scene.room(of: [scene.romeo], writer)
        try scene.say("one", by: scene.romeo, in: room.id, writer)
        let end = try scene.note(
          .destroyed(reason: nil, alternate: nil), by: scene.romeo, in: room.id,
          feeds: [FeedRow(user: scene.romeo.id, traits: .inbound)], writer)
        room = try scene.stored(room.id, writer)
        room.isDestroyed = true
        try writer.update(room)
        return (room, end)
      }
      try expire(scene, room.id, through: .end)
      try scene.read { reader in
        try equal(
          try reader.history(of: room.id, after: .zero, before: .end, limit: 9, ascending: true).map(\.position),
          [end.position])
        try equal(
          try reader.feed(of: scene.romeo.id, after: .zero, limit: 9, all: true).map(\.position), [end.position])
      }
    },
    Case(name: "what is held stays: a dialog, a user's dialogs, rooms from their first message on") { scene in
      let (own, other, room, said) = try scene.write { writer in
        let own = try scene.say("one", by: scene.romeo, to: scene.juliet, writer)
        let other = try scene.say("two", by: scene.juliet, to: scene.nurse, writer)
        let room = try scene.room(of: [scene.juliet, scene.nurse], writer)
        let said = try [scene.juliet, scene.romeo, scene.juliet].map { try scene.say("x", by: $0, in: room.id, writer) }
        try writer.put(Hold(.user(scene.romeo.id), in: scene.realm.id, note: "n", since: scene.time))
        return (own, other, room, said)
      }
      func piece(_ dialog: DialogID) throws -> ExpiredPiece {
        try scene.write { try $0.expire(dialog, through: .end, limit: 99, endingFiles: nil) }
      }
      func isHeld(_ dialog: DialogID) throws -> Bool { try scene.read { try $0.isHeld(dialog) } }
      try scene.reopen()
      try equal(try scene.read { try $0.holds(in: scene.realm.id).map(\.note) }, ["n"])
      try equal(try [own.dialog, other.dialog, room.id].map(isHeld), [true, false, false])
      var held = ExpiredPiece()
      held.isHeld = true
      try equal(try piece(own.dialog), held)
      let stopped = try piece(room.id)
      try require(stopped.isHeld && !stopped.isMore, "the room is not held")
      try equal(
        try scene.read {
          try $0.history(of: room.id, after: .zero, before: .end, limit: 9, ascending: true).map(\.position)
        }, said[1...].map(\.position))
      // As a member.
      try scene.write { try scene.join(scene.romeo, room.id, $0) }
      try equal(try isHeld(room.id), true)
      try scene.write { writer in
        for hold in try writer.holds(in: nil) { try writer.remove(hold) }
        try writer.put(Hold(.dialog(other.dialog), in: scene.realm.id, note: nil, since: scene.time))
      }
      try equal(try [own.dialog, other.dialog, room.id].map(isHeld), [false, true, false])
      try equal(try piece(own.dialog).messages, 1)
      try equal(try piece(other.dialog), held)
    },
    Case(name: "files of held users, and in messages of held dialogs, are not due") { scene in
      func blob(_ number: UInt64, _ owner: Party) -> Blob {
        Blob(
          id: BlobID(PublicID(high: 0, low: number)), realm: scene.realm.id, owner: owner.id, name: "f",
          mediaType: nil, size: 1, purpose: .message, state: .stored, createdAt: scene.time, expiresAt: scene.time)
      }
      let blobs = [blob(1, scene.romeo), blob(2, scene.juliet), blob(3, scene.juliet), blob(4, scene.juliet)]
      let said = try scene.write { writer in
        let said = try scene.say("one", by: scene.juliet, to: scene.nurse, writer)
        for blob in blobs { try writer.put(blob) }
        let answer = try scene.say("two", by: scene.juliet, to: scene.romeo, writer)
        try writer.insertBlobReference(to: blobs[1].id, by: said.position)
        try writer.insertBlobReference(to: blobs[3].id, by: answer.position)
        try writer.put(Hold(.user(scene.romeo.id), in: scene.realm.id, note: nil, since: scene.time))
        try writer.put(Hold(.dialog(said.dialog), in: scene.realm.id, note: nil, since: scene.time))
        return said
      }
      let due = { try scene.read { try $0.dueBlobs(at: scene.time, limit: 9) } }
      try equal(try due(), [blobs[2].id])
      try equal(try scene.read { reader in try blobs.map { try reader.isHeld($0.id) } }, [true, true, false, true])
      try scene.write { writer in
        for hold in try writer.holds(in: nil) { try writer.remove(hold) }
      }
      try equal(Set(try due()), Set(blobs.map(\.id)), "of \(said.position.number)")
    },
  ]
}

extension StoreWriter {
  /// Without a bound of time, which is the machine's.
  fileprivate func expire(
    _ dialog: DialogID, through end: Position, limit: Int, endingFiles: Timestamp?
  ) throws -> ExpiredPiece {
    try expire(dialog, through: end, limit: limit, within: .seconds(3_600), endingFiles: endingFiles)
  }
}

extension StoreReader {
  fileprivate func state(isThereFor entry: Entry, in dialog: DialogID) throws -> Bool {
    try self.entry(entry.position, in: dialog)?.state != nil
  }
}

/// Numbers that are the same in each run.
private struct Seed {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 }
  mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % bound
  }
}
