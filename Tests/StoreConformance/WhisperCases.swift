import Addresses
import Dialogs

extension Scene {
  /// A whisper with everything it entails.
  @discardableResult
  func whisper(
    _ text: String, by author: Party, as nick: String, to peer: Party, known target: String, in room: RoomName,
    id: String? = nil, key: RepeatKey? = nil, _ writer: any StoreWriter
  ) throws -> Entry {
    var dialog =
      try writer.whispers(between: author.id, and: peer.id, in: room.dialog)
      ?? writer.insertWhispers(between: author, and: peer, in: room, createdAt: time)
    let position = step()
    dialog.sequence += 1
    dialog.end(at: position, isShown: true)
    let message = Message(
      sequence: dialog.sequence, content: Content(kind: .text, text: text),
      envelope: Envelope(fromResource: "r", toResource: target, id: id), traits: [.archived])
    let entry = Entry(
      position: position, time: time, dialog: dialog.id, author: author,
      place: .whisper(to: peer, in: room, nick: nick), fact: .message(message), id: self.id(position))
    var feeds = [FeedRow(user: author.id, traits: [.archived, .unfollowed])]
    if peer != author { feeds.append(FeedRow(user: peer.id, traits: [.archived, .unfollowed, .inbound])) }
    try writer.insert(entry, feeds: feeds, key: key)
    try writer.update(dialog)
    return entry
  }
}

extension StoreConformance {
  static let whispers: [Case] = [
    Case(name: "the whispers of two occupants are a dialog of its own, found by pair and room only") { scene in
      let (orchard, balcony, dialog) = try scene.write { writer in
        let orchard = try scene.make("orchard", writer).name
        let balcony = try scene.make("balcony", writer).name
        // The order in which the two users are named makes no difference.
        let dialog = try writer.insertWhispers(
          between: scene.juliet, and: scene.romeo, in: orchard, createdAt: scene.time)
        return (orchard, balcony, dialog)
      }
      try equal(dialog.kind, .whispered)
      try equal([dialog.first, dialog.second], [scene.romeo, scene.juliet])
      var counted = dialog
      counted.sequence = 3
      counted.end(at: Position(9))
      try scene.write { [counted] in try $0.update(counted) }
      func check() throws {
        try scene.read { reader in
          for (a, b) in [(scene.romeo, scene.juliet), (scene.juliet, scene.romeo)] {
            try equal(try reader.whispers(between: a.id, and: b.id, in: orchard.dialog), counted)
            try equal(try reader.whispers(between: a.id, and: b.id, in: balcony.dialog), nil)
            try equal(try reader.dialog(between: a.id, and: b.id), nil)
          }
          try equal(try reader.whispers(between: scene.romeo.id, and: scene.nurse.id, in: orchard.dialog), nil)
          try equal(try reader.dialog(dialog.id), nil)
          try equal(try reader.dialogs(of: scene.romeo.id, before: .end, limit: 9).count, 0)
          try equal(try reader.rooms(of: scene.romeo.id, before: .end, limit: 9).count, 0)
          try equal(try reader.mark(scene.romeo.id, in: dialog.id), nil)
        }
      }
      try check()
      try scene.reopen()
      try check()
      // Beside each other: the private dialog, and the same two in another room.
      try scene.write { writer in
        let other = try writer.insertWhispers(
          between: scene.romeo, and: scene.juliet, in: balcony, createdAt: scene.time)
        let own = try scene.dialog(scene.romeo, scene.juliet, writer)
        try equal(Set([dialog.id, other.id, own.id]).count, 3)
        try equal(try writer.dialog(between: scene.romeo.id, and: scene.juliet.id)?.id, own.id)
        try equal(try writer.whispers(between: scene.romeo.id, and: scene.juliet.id, in: orchard.dialog)?.id, dialog.id)
      }
    },
    Case(name: "a whisper is in both archives, by its room or the other's nick, and nowhere else") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo, scene.juliet, scene.nurse], $0) }
      let start = scene.position
      let (said, entries) = try scene.write { writer in
        let said = try scene.say("in private", by: scene.romeo, to: scene.juliet, writer)
        let entries = [
          try scene.whisper("1", by: scene.romeo, as: "Rose", to: scene.juliet, known: "Sun", in: room.name, writer),
          try scene.whisper("2", by: scene.juliet, as: "Sun", to: scene.romeo, known: "Rose", in: room.name, writer),
          try scene.whisper("3", by: scene.romeo, as: "Rose", to: scene.nurse, known: "Nurse", in: room.name, writer),
          // Under other nicks by now.
          try scene.whisper("4", by: scene.juliet, as: "Moon", to: scene.romeo, known: "Thorn", in: room.name, writer),
          try scene.whisper("5", by: scene.romeo, as: "Thorn", to: scene.romeo, known: "Thorn", in: room.name, writer),
        ]
        return (said, entries)
      }
      func texts(_ entries: [Entry]) -> [String] {
        entries.map { entry in if case .message(let message) = entry.fact { message.content.text } else { "?" } }
      }
      func archive(
        _ user: Party, with dialog: DialogID? = nil, _ resource: String? = nil,
        _ change: (inout ArchiveQuery) -> Void = { _ in }
      ) throws -> [String] {
        var query = ArchiveQuery(limit: 9)
        query.with = dialog
        query.withResource = resource
        change(&query)
        return texts(try scene.read { [query] in try $0.archive(of: user.id, query) }.entries)
      }
      for _ in 1...2 {
        try scene.read { reader in
          for entry in entries {
            try equal(try reader.entry(entry.position, in: entry.dialog), entry)
            try require(try reader.entry(entry.position, in: entry.dialog)?.place == entry.place, "another place")
            try equal(try reader.entry(entry.position, in: entry.dialog)?.whisper?.nick, entry.whisper?.nick ?? "")
          }
        }
        try equal(try archive(scene.romeo), ["in private", "1", "2", "3", "4", "5"])
        try equal(try archive(scene.juliet), ["in private", "1", "2", "4"])
        try equal(try archive(scene.nurse), ["3"])
        // The room's address finds the whispers of all occupants.
        try equal(try archive(scene.romeo, with: room.id), ["1", "2", "3", "4", "5"])
        try equal(try archive(scene.juliet, with: room.id), ["1", "2", "4"])
        try equal(try archive(scene.nurse, with: room.id), ["3"])
        // The nick finds the whispers of the occupant who had it.
        try equal(try archive(scene.romeo, with: room.id, "Sun"), ["1", "2"])
        try equal(try archive(scene.romeo, with: room.id, "Moon"), ["4"])
        try equal(try archive(scene.romeo, with: room.id, "Nurse"), ["3"])
        try equal(try archive(scene.juliet, with: room.id, "Rose"), ["1", "2"])
        try equal(try archive(scene.juliet, with: room.id, "Thorn"), ["4"])
        try equal(try archive(scene.juliet, with: room.id, "Sun"), [])
        // Page by page, both ways.
        let (second, fourth) = (entries[1].position, entries[3].position)
        try equal(
          try archive(scene.romeo, with: room.id) {
            $0.after = second
            $0.before = fourth
          }, ["3"])
        try equal(try archive(scene.romeo, with: room.id) { $0.limit = 2 }, ["1", "2"])
        try equal(
          try archive(scene.romeo, with: room.id) {
            $0.limit = 2
            $0.backwards = true
          }, ["4", "5"])
        try equal(try archive(scene.romeo) { $0.positions = [fourth] }, ["4"])
        try equal(try archive(scene.nurse) { $0.positions = [fourth] }, [])
        // Whispers are neither in the archive of the dialog by addresses nor in the room's own archive.
        try equal(try archive(scene.romeo, with: said.dialog), ["in private"])
        try scene.read { reader in
          try equal(try reader.archive(of: room.id, ArchiveQuery(limit: 9)).entries.count, 0)
          try equal(try reader.history(of: room.id, after: start, before: .end, limit: 9, ascending: true).count, 0)
        }
        try scene.reopen()
      }
    },
    Case(name: "no app is told of a whisper, and nothing of it is unread") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo, scene.juliet], $0) }
      let start = scene.position
      let entry = try scene.write {
        try scene.whisper("psst", by: scene.romeo, as: "Rose", to: scene.juliet, known: "Sun", in: room.name, $0)
      }
      try scene.read { reader in
        for user in [scene.romeo, scene.juliet] {
          try equal(try reader.unread(of: user.id), 0)
          try equal(try reader.feed(of: user.id, after: start, limit: 9), [])
          try equal(try reader.feed(of: user.id, rooms: [(room.id, .zero)], after: start, limit: 9), [])
          try equal(try reader.replay(of: user.id, after: start, limit: 9), [])
          try equal(try reader.dialogs(of: user.id, before: .end, limit: 9).count, 0)
          // A follower of all entries gets the whisper.
          try equal(
            try reader.feed(of: user.id, rooms: [(room.id, .zero)], after: start, limit: 9, all: true), [entry])
        }
        try equal(try reader.feed(of: scene.nurse.id, rooms: [(room.id, .zero)], after: start, limit: 9, all: true), [])
      }
    },
    Case(name: "a repeat of a whisper is found where it was said, and a retraction overwrites it") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo, scene.juliet, scene.nurse], $0) }
      let key = RepeatKey(rule: .xmpp, id: "o1", bodyHash: 42)
      let (entry, other) = try scene.write { writer in
        (
          try scene.whisper(
            "psst", by: scene.romeo, as: "Rose", to: scene.juliet, known: "Sun", in: room.name, id: "m1", key: key,
            writer),
          try scene.whisper("hm", by: scene.romeo, as: "Rose", to: scene.nurse, known: "Nurse", in: room.name, writer)
        )
      }
      try scene.write { reader in
        for id in ["o1", "m1"] {
          try equal(try reader.find(id, by: scene.romeo.id, in: entry.dialog)?.position, entry.position)
          try equal(try reader.find(id, by: scene.romeo.id, in: other.dialog)?.position, nil)
          try equal(try reader.find(id, by: scene.juliet.id, in: entry.dialog)?.position, nil)
        }
        try equal(try reader.find("o1", by: scene.romeo.id, in: entry.dialog)?.bodyHash, 42)
      }
      let state = MessageState(
        version: entry.position, revision: 1,
        retraction: .init(by: scene.romeo, at: scene.time, id: "r1", reason: nil, isModeration: false))
      try scene.write { try $0.put(state, of: entry.position, in: entry.dialog) }
      let found = try scene.read { try $0.archive(of: scene.juliet.id, ArchiveQuery(limit: 9)) }.entries.first
      try equal(found?.state, state)
      try require(found?.place == entry.place, "another place")
      if case .message(let message)? = found?.fact { try equal(message.content.text, "") }
    },
    Case(name: "an invitation may be declined until it was, or too many came after it") { scene in
      let (orchard, balcony) = try scene.write { (try scene.make("orchard", $0).id, try scene.make("balcony", $0).id) }
      func invited(_ user: Party, by inviter: Party, to room: DialogID) throws -> Bool {
        try scene.read { try $0.isInvited(user.id, by: inviter.id, to: room) }
      }
      try scene.write { writer in
        try writer.putInvitation(of: scene.juliet.id, by: scene.romeo.id, to: orchard, at: scene.step())
        // Twice is once.
        try writer.putInvitation(of: scene.juliet.id, by: scene.romeo.id, to: orchard, at: scene.step())
        try writer.putInvitation(of: scene.juliet.id, by: scene.nurse.id, to: orchard, at: scene.step())
      }
      try require(try invited(scene.juliet, by: scene.romeo, to: orchard), "romeo's")
      try require(try invited(scene.juliet, by: scene.nurse, to: orchard), "the nurse's")
      try require(try !invited(scene.juliet, by: scene.romeo, to: balcony), "another room")
      try require(try !invited(scene.romeo, by: scene.juliet, to: orchard), "the other way")
      try scene.write { try $0.removeInvitation(of: scene.juliet.id, by: scene.romeo.id, to: orchard) }
      try require(try !invited(scene.juliet, by: scene.romeo, to: orchard), "declined")
      try require(try invited(scene.juliet, by: scene.nurse, to: orchard), "the other one")
      try scene.write { writer in
        try writer.putInvitation(of: scene.juliet.id, by: scene.romeo.id, to: balcony, at: scene.step())
        for number in 1..<Int64(Limits.invitationsMax) {
          try writer.putInvitation(of: UserID(1_000 + number), by: scene.romeo.id, to: orchard, at: scene.step())
        }
      }
      try require(try invited(scene.juliet, by: scene.nurse, to: orchard), "as many as there may be")
      try scene.write { try $0.putInvitation(of: scene.nurse.id, by: scene.romeo.id, to: orchard, at: scene.step()) }
      try require(try !invited(scene.juliet, by: scene.nurse, to: orchard), "the oldest has gone")
      try require(try invited(scene.nurse, by: scene.romeo, to: orchard), "the newest is there")
      try require(try invited(scene.juliet, by: scene.romeo, to: balcony), "rooms do not share the bound")
    },
    Case(name: "why somebody is banned is kept, and what an invitation continues") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo], $0) }
      let banned = Member(
        room: room.id, party: scene.juliet, affiliation: .outcast, nick: nil, since: Position(3), joinedAt: scene.time,
        version: Position(4), reason: "A plague")
      try scene.write { try $0.put(banned, ordinal: 0) }
      try equal(
        try scene.read { try $0.members(of: room.id, among: [.outcast], after: nil, limit: 9).map(\.reason) },
        ["A plague"])
      var again = banned
      again.reason = nil
      try scene.write { [again] in try $0.put(again, ordinal: 0) }
      try equal(try scene.read { try $0.member(scene.juliet.id, of: room.id) }, again)
      let continuations: [Invitation.Continuation?] = [nil, .init(thread: nil), .init(thread: "e0ff")]
      for continuing in continuations {
        let invitation = Invitation(
          room: room.name, inviter: scene.romeo, reason: "Come", password: nil, continuing: continuing)
        let entry = try scene.write { try scene.note(.invitation(invitation), by: scene.juliet, $0) }
        guard case .invitation(let found)? = try scene.read({ try $0.entry(entry.position, in: entry.dialog)?.fact })
        else { throw Unmet(description: "no invitation") }
        try equal(found, invitation)
      }
    },
  ]
}
