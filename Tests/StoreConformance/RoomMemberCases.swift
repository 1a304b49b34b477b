import Addresses
import Basics
import Dialogs

extension StoreConformance {
  static let roomMembers: [Case] = [
    Case(name: "a member is kept whole, replaced, and found by user and by nick") { scene in
      let room = try scene.write { try scene.make("orchard", $0) }
      var member = Member(
        room: room.id, party: scene.romeo, affiliation: .owner, nick: "R\u{f6}meo  M", since: Position(3),
        joinedAt: Timestamp(milliseconds: 4), version: Position(5))
      let key = try Precis.nicknameKey("R\u{f6}meo M")
      try scene.write { [member] in try $0.put(member, ordinal: 0) }
      try scene.read { reader in
        try equal(try reader.member(scene.romeo.id, of: room.id), member)
        try equal(try reader.member(nickKey: key, of: room.id), member)
        try equal(try reader.member(scene.romeo.id, of: room.id)?.party.address, scene.romeo.address)
        try equal(try reader.member(scene.juliet.id, of: room.id), nil)
        try equal(try reader.member(scene.romeo.id, of: DialogID(99)), nil)
        try equal(try reader.member(nickKey: "romeo", of: room.id), nil)
        try equal(try reader.member(nickKey: key, of: DialogID(99)), nil)
      }
      for affiliation in [Affiliation.admin, .member, .watcher] {
        member.affiliation = affiliation
        member.nick = affiliation == .watcher ? nil : "\(affiliation)"
        member.isKicked = affiliation == .member
        member.isNickRegistered = affiliation == .admin
        member.version = member.version.next
        try scene.write { [member] in try $0.put(member, ordinal: 9) }
        try equal(try scene.read { try $0.member(scene.romeo.id, of: room.id) }, member)
      }
      try equal(try scene.read { try $0.member(nickKey: key, of: room.id) }, nil)
    },
    Case(name: "a nick belongs to one member of a room, until they give it up or leave") { scene in
      let (room, other) = try scene.write { writer in
        let room = try scene.make("a", writer)
        let other = try scene.make("b", writer)
        try scene.join(scene.romeo, room.id, nick: "Rose", writer)
        try scene.join(scene.romeo, other.id, nick: "Rose", writer)
        return (room, other)
      }
      func claim(_ party: Party, _ nick: String?, _ affiliation: Affiliation = .member) throws {
        try scene.write { writer in
          try writer.put(
            Member(
              room: room.id, party: party, affiliation: affiliation, nick: nick, since: .zero, joinedAt: scene.time,
              version: scene.position),
            ordinal: 0)
        }
      }
      for nick in ["Rose", "ROSE", " rose "] { try conflicts(nick) { try claim(scene.juliet, nick) } }
      // The refusal does not end the transaction.
      try scene.write { writer in
        try conflicts("rose") { try scene.join(scene.juliet, room.id, nick: "rose", writer) }
        try scene.join(scene.juliet, room.id, nick: "Juliet", writer)
      }
      try claim(scene.romeo, "rose")
      try claim(scene.romeo, "Romeo")
      try claim(scene.juliet, "rose")
      try claim(scene.juliet, "rose", .none)
      try equal(try scene.read { try $0.member(nickKey: "rose", of: room.id) }, nil)
      try claim(scene.nurse, "rose")
      try claim(scene.nurse, "rose", .outcast)
      try claim(scene.romeo, "rose")
      try equal(try scene.read { try $0.member(nickKey: "rose", of: room.id)?.party }, scene.romeo)
      try equal(try scene.read { try $0.member(nickKey: "rose", of: other.id)?.party }, scene.romeo)
    },
    Case(name: "members are listed by affiliation and number, in pages") { scene in
      let room = try scene.write { writer in
        let room = try scene.make("orchard", writer)
        try scene.join(scene.nurse, room.id, as: .watcher, writer)
        try scene.join(scene.romeo, room.id, as: .owner, writer)
        try scene.join(scene.juliet, room.id, as: .member, writer)
        try scene.join(scene.romeo, try scene.make("other", writer).id, as: .admin, writer)
        return room
      }
      func members(_ among: Set<Affiliation>, after: Party? = nil, limit: Int = 99) throws -> [Party] {
        try scene.read {
          try $0.members(of: room.id, among: among, after: after?.id, limit: limit).map(\.party)
        }
      }
      let all = Set(Affiliation.allCases)
      try equal(try members(all), [scene.romeo, scene.juliet, scene.nurse])
      try equal(try members(all, limit: 2), [scene.romeo, scene.juliet])
      try equal(try members(all, after: scene.juliet, limit: 2), [scene.nurse])
      try equal(try members(all, after: scene.nurse), [])
      try equal(try members([.owner, .watcher]), [scene.romeo, scene.nurse])
      try equal(try members([.owner, .watcher], after: scene.romeo), [scene.nurse])
      try equal(try members([.admin]), [])
      try equal(try members([]), [])
      try scene.write {
        try scene.join(scene.juliet, room.id, as: .none, $0)
        try scene.join(scene.nurse, room.id, as: .outcast, $0)
      }
      try equal(try members([.watcher, .member, .admin, .owner]), [scene.romeo])
      try equal(try members([.outcast]), [scene.nurse])
      try equal(
        try scene.read { try $0.members(of: room.id, among: [.outcast], after: nil, limit: 9).map(\.nick) }, [nil])
    },
    Case(name: "changes of the member list come by version, those who left included") { scene in
      let room = try scene.write { try scene.make("orchard", $0) }
      func change(_ party: Party, _ affiliation: Affiliation) throws -> Position {
        try scene.write { try scene.join(party, room.id, as: affiliation, nick: party.name, $0).position }
      }
      func changes(_ after: Position, _ limit: Int = 99) throws -> [String] {
        try scene.read {
          try $0.memberChanges(of: room.id, after: after, limit: limit).map {
            "\($0.party.name) \($0.affiliation) \($0.nick ?? "-") \($0.version.number)"
          }
        }
      }
      let first = try change(scene.romeo, .owner)
      let second = try change(scene.juliet, .member)
      let third = try change(scene.nurse, .member)
      let last = try change(scene.juliet, .none)
      let banned = try change(scene.nurse, .outcast)
      try equal(
        try changes(.zero),
        [
          "romeo owner romeo \(first.number)", "juliet none - \(last.number)", "nurse outcast - \(banned.number)",
        ])
      try equal(try changes(.zero, 1).count, 1)
      try equal(try changes(second), try changes(third))
      try equal(try changes(last), ["nurse outcast - \(banned.number)"])
      try equal(try changes(banned), [])
      // A user who left is no member, and may come back.
      try equal(try scene.read { try $0.member(scene.juliet.id, of: room.id) }, nil)
      try equal(try scene.read { try $0.member(scene.nurse.id, of: room.id)?.affiliation }, .outcast)
      let again = try change(scene.juliet, .member)
      try equal(try changes(banned), ["juliet member juliet \(again.number)"])
      // A user who never was a member can be removed.
      _ = try change(scene.nurse, .none)
      try equal(try changes(again).count, 1)
    },
    Case(name: "a member's mark is made with them, stays while they do, and goes with them") { scene in
      let room = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo], writer)
        for index in 1...3 { try scene.say("\(index)", by: scene.romeo, in: room.id, writer) }
        return room
      }
      func mark(_ party: Party) throws -> Mark? { try scene.read { try $0.mark(party.id, in: room.id) } }
      func unread(_ party: Party) throws -> Int64 { try scene.read { try $0.unread(of: party.id) } }
      try equal(try mark(scene.romeo), Mark(dialog: room.id, user: scene.romeo.id, own: 3))
      try equal(try mark(scene.juliet), nil)
      try scene.write { try scene.join(scene.juliet, room.id, $0) }
      try equal(try mark(scene.juliet), Mark(dialog: room.id, user: scene.juliet.id, displayedOrdinal: 3))
      try equal(try unread(scene.juliet), 0, "what was before")
      try scene.write {
        try scene.say("4", by: scene.romeo, in: room.id, $0)
        try scene.say("5", by: scene.juliet, in: room.id, $0)
        try scene.join(scene.juliet, room.id, as: .watcher, $0)
      }
      try equal(try mark(scene.juliet), Mark(dialog: room.id, user: scene.juliet.id, displayedOrdinal: 3, own: 1))
      try equal(try unread(scene.juliet), 1)
      for gone in [Affiliation.none, .outcast] {
        try scene.write { try scene.join(scene.juliet, room.id, as: gone, $0) }
        try equal(try mark(scene.juliet), nil)
        try equal(try unread(scene.juliet), 0)
        // A mark that comes too late changes nothing.
        try scene.write { try $0.put(Mark(dialog: room.id, user: scene.juliet.id, own: 9), superseded: .zero) }
        try equal(try mark(scene.juliet), nil)
        try scene.write { try scene.join(scene.juliet, room.id, as: .member, $0) }
        try equal(try mark(scene.juliet), Mark(dialog: room.id, user: scene.juliet.id, displayedOrdinal: 5))
      }
      try equal(try mark(scene.romeo)?.own, 4)
      let put = Mark(
        dialog: room.id, user: scene.romeo.id, delivered: Position(8), displayed: Position(7), displayedOrdinal: 6,
        own: 5, ownAtDisplayed: 4, position: Position(9))
      try scene.write { try $0.put(put, superseded: .zero) }
      try equal(try mark(scene.romeo), put)
    },
    Case(name: "memberships are the rooms a user belongs to, by number") { scene in
      let (first, second, since) = try scene.write { writer in
        let first = try scene.make("b", writer)
        _ = try scene.dialog(scene.romeo, scene.juliet, writer)
        let second = try scene.make("a", writer)
        let late = try scene.join(scene.romeo, second.id, writer)
        let early = try scene.join(scene.romeo, first.id, as: .watcher, writer)
        try scene.join(scene.romeo, try scene.make("banned", writer).id, as: .outcast, writer)
        try scene.join(scene.juliet, try scene.make("hers", writer).id, writer)
        let left = try scene.make("left", writer)
        try scene.join(scene.romeo, left.id, writer)
        try scene.join(scene.romeo, left.id, as: .none, writer)
        return (first, second, [early.position, late.position])
      }
      func found() throws -> [(room: RoomName, since: Position, affiliation: Affiliation)] {
        try scene.read { try $0.memberships(of: scene.romeo.id) }
      }
      try equal(try found().map(\.room.address), [first.address, second.address])
      try equal(try found().map(\.since), since)
      try equal(try found().map(\.affiliation), [.watcher, .member])
      try equal(try scene.read { try $0.membershipCount(of: scene.romeo.id) }, 2)
      // An invitation to another room, or of another user, counts for nothing.
      try scene.write { writer in
        try writer.putInvitation(of: scene.romeo.id, by: scene.juliet.id, to: first.id, at: since[0])
        try writer.putInvitation(of: scene.romeo.id, by: scene.nurse.id, to: first.id, at: since[0])
        try writer.putInvitation(of: scene.nurse.id, by: scene.juliet.id, to: second.id, at: since[0])
      }
      for (inviter, count) in [(scene.juliet.id, 1), (scene.nurse.id, 1), (scene.romeo.id, 0), (nil, 1)]
        as [(UserID?, Int)]
      {
        try equal(try scene.read { try $0.membershipCount(of: scene.romeo.id, invitedBy: inviter) }, count)
      }
      try scene.write { _ = try scene.end(first.id, $0) }
      try equal(try found().map(\.room), [second.name])
    },
    Case(name: "a user's rooms are listed newest first, in pages, with mark and last message") { scene in
      let (said, noted) = try scene.write { writer in
        let quiet = try scene.make("quiet", writer)
        try writer.put(
          Member(
            room: quiet.id, party: scene.romeo, affiliation: .owner, nick: nil, since: .zero, joinedAt: scene.time,
            version: .zero),
          ordinal: 0)
        let room = try scene.room("orchard", of: [scene.juliet, scene.romeo], writer)
        let said = try scene.say("1", by: scene.romeo, in: room.id, writer)
        let other = try scene.room("balcony", of: [scene.romeo], writer)
        let noted = try scene.note(.created, by: scene.romeo, in: other.id, writer)
        try scene.say("to juliet", by: scene.romeo, to: scene.juliet, writer)
        try scene.say(
          "not romeo's", by: scene.juliet, in: try scene.room("hers", of: [scene.juliet], writer).id, writer)
        // Entries that are not shown do not move the room up.
        try scene.say("", by: scene.juliet, in: room.id, traits: [], isShown: false, writer)
        try scene.display(said, by: scene.juliet, in: room.id, writer)
        return (said, noted)
      }
      func rooms(_ before: Position = .end, _ limit: Int = 9) throws -> [RoomView] {
        try scene.read { try $0.rooms(of: scene.romeo.id, before: before, limit: limit) }
      }
      let views = try rooms()
      try equal(views.map { $0.room.address.local }, ["balcony", "orchard", "quiet"])
      try equal(views.map { $0.lastMessage?.position }, [noted.position, said.position, nil])
      try equal(views[1].lastMessage, said)
      try equal(views.map(\.mark.own), [0, 1, 0])
      try equal(views.map(\.mark.user), [UserID](repeating: scene.romeo.id, count: 3))
      try equal(views.map(\.member.affiliation), [.member, .member, .owner])
      try equal(views.map(\.member.party), [Party](repeating: scene.romeo, count: 3))
      try scene.read { reader in
        for view in views {
          try equal(view.room, try scene.stored(view.room.id, reader))
          try equal(view.member, try reader.member(scene.romeo.id, of: view.room.id))
          try equal(view.mark, try reader.mark(scene.romeo.id, in: view.room.id))
        }
      }
      try equal(try rooms(.end, 1).map(\.room), [views[0].room])
      try equal(try rooms(views[0].room.shown, 1).map(\.room), [views[1].room])
      try equal(try rooms(views[2].room.shown).count, 0)
      // Rooms and private dialogs are two lists.
      try equal(try scene.read { try $0.dialogs(of: scene.romeo.id, before: .end, limit: 9).count }, 1)
      try scene.write { _ = try scene.end(views[0].room.id, $0) }
      try equal(try rooms().map(\.room), [views[1].room, views[2].room])
    },
    Case(name: "a destroyed room has members no more, and what was said stays") { scene in
      let (room, said) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try scene.join(scene.nurse, try scene.room("other", of: [scene.romeo], writer).id, writer)
        let said = try scene.say("1", by: scene.romeo, in: room.id, writer)
        try scene.end(room.id, writer)
        // A change after the room's destruction makes nobody a member.
        try scene.join(scene.nurse, room.id, writer)
        return (try scene.stored(room.id, writer), said)
      }
      try scene.read { reader in
        try equal(try reader.room(room.id), room)
        for party in [scene.romeo, scene.juliet, scene.nurse] {
          try equal(try reader.mark(party.id, in: room.id), nil)
          try require(try !reader.memberships(of: party.id).contains { $0.room == room.name }, "a membership")
          try require(try !reader.rooms(of: party.id, before: .end, limit: 9).contains { $0.room == room }, "a view")
          try equal(try reader.unread(of: party.id), 0)
        }
        try equal(try reader.memberships(of: scene.nurse.id).count, 1)
        try equal(try reader.entry(said.position, in: room.id), said)
      }
    },
    Case(name: "a room that is ending is in no list, and each member finds its end once") { scene in
      let (room, end) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try scene.say("romeo", by: scene.juliet, in: room.id, writer)
        try writer.setMentioned([scene.romeo.id], by: said.position, in: room.id)
        let end = try scene.note(.destroyed(reason: nil, alternate: nil), by: scene.juliet, in: room.id, writer)
        var ending = try scene.stored(room.id, writer)
        ending.isDestroyed = true
        ending.isEnding = true
        for isAbandoned in [true, false] {
          ending.isAbandoned = isAbandoned
          try writer.update(ending)
          try equal(try writer.room(room.id), ending)
        }
        return (ending, end.position)
      }
      try scene.reopen()
      func found(_ party: Party) throws -> [Position] {
        try scene.read { reader in
          let rooms = try reader.memberships(of: party.id).map { (room: $0.room.dialog, since: $0.since) }
          return try reader.feed(of: party.id, rooms: rooms, after: Position(end.number - 1), limit: 9, all: true)
            .map(\.position)
        }
      }
      // As a session reads it that has found the place before the end.
      func atItsPlace(_ party: Party) throws -> [Position] {
        let places = [FeedPlaces.Place(end, in: room.id)]
        let log = LogAccess.withMemberships(of: party)
        return try scene.read { try $0.entries(of: log, at: places[...], limit: 9, bytesMax: .max).map(\.position) }
      }
      func hasNothing(of party: Party) throws {
        try scene.read { reader in
          try equal(try reader.rooms(of: party.id, before: .end, limit: 9).count, 0)
          try equal(try reader.dialogSummaries(of: party.id).map(\.dialog).filter { $0 == room.id }, [])
          try equal(try reader.unread(of: party.id), 0)
          try equal(try reader.mentions(of: party.id, in: nil), 0)
        }
      }
      for party in [scene.romeo, scene.juliet] {
        try hasNothing(of: party)
        try equal(try found(party), [end])
        try equal(try atItsPlace(party), [end])
      }
      try equal(try scene.read { try $0.temporaryRooms(after: DialogID(0), limit: 9).map(\.id) }, [room.id])
      // Twice, as after a crash.
      for _ in 0..<2 {
        try scene.write { writer in
          try writer.endMembers(
            [scene.romeo.id], of: room.id, feeds: [FeedRow(user: scene.romeo.id, traits: .inbound)], at: end)
        }
      }
      try equal(try scene.read { try $0.memberships(of: scene.romeo.id).count }, 0)
      try equal(try scene.read { try $0.memberships(of: scene.juliet.id).count }, 1)
      for party in [scene.romeo, scene.juliet] {
        try hasNothing(of: party)
        try equal(try found(party), [end])
        try equal(try atItsPlace(party), [end])
      }
      try scene.write { writer in
        try writer.endMembers(
          [scene.juliet.id], of: room.id, feeds: [FeedRow(user: scene.juliet.id, traits: .inbound)], at: end)
        var ended = room
        ended.isEnding = false
        try writer.update(ended)
        try equal(try writer.room(room.id), ended)
      }
      try equal(try found(scene.juliet), [end])
      try equal(try scene.read { try $0.mark(scene.juliet.id, in: room.id) }, nil)
    },
    Case(name: "erasing a user's personal data ends what they are in rooms") { scene in
      let room = try scene.write { writer in
        let room = try scene.make("orchard", writer)
        try scene.join(scene.romeo, room.id, as: .owner, nick: "rose", writer)
        try scene.join(scene.juliet, room.id, nick: "juliet", writer)
        try scene.say("1", by: scene.nurse, in: room.id, writer)
        try scene.say("2", by: scene.nurse, to: scene.romeo, writer)
        try writer.erasePersonalData(scene.romeo.id)
        return room
      }
      try scene.read { reader in
        try equal(try reader.member(scene.romeo.id, of: room.id), nil)
        try equal(try reader.mark(scene.romeo.id, in: room.id), nil)
        try equal(try reader.memberships(of: scene.romeo.id).count, 0)
        try equal(try reader.member(nickKey: "rose", of: room.id), nil)
        let changes = try reader.memberChanges(of: room.id, after: .zero, limit: 9)
        try equal(changes.map(\.affiliation), [.none, .member])
        try equal(changes.map(\.nick), [nil, "juliet"])
        try equal(try reader.memberships(of: scene.juliet.id).count, 1)
        try equal(try reader.unread(of: scene.juliet.id), 1)
        // Private dialogs are the other side's too.
        let dialog = try reader.dialog(between: scene.romeo.id, and: scene.nurse.id)
        try require(try dialog.flatMap { try reader.mark(scene.romeo.id, in: $0.id) } != nil, "a private mark is gone")
      }
    },
  ]
}
