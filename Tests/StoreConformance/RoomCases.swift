import Addresses
import Basics
import Dialogs

extension StoreConformance {
  static let rooms: [Case] = roomItself + roomMembers + roomLog + roomFeed + roomArchive + roomEnds

  /// Settings in which no field has its default.
  static func whole() -> RoomSettings {
    var settings = RoomSettings()
    settings.name = "The \u{d6}rchard \u{1F339}"
    settings.about = ""
    settings.metadata = "{\"a\":[1]}"
    settings.avatarHash = "00ff"
    settings.isMembersOnly = false
    settings.isListed = true
    settings.isModerated = true
    settings.isReadOnly = true
    settings.showsAddresses = false
    settings.password = "rose"
    settings.occupantsMax = 1 << 40
    settings.whispers = .moderators
    settings.membersInvite = true
    settings.membersPin = true
    settings.acceptsRemote = false
    settings.participantsSetTopic = true
    settings.history = .sinceJoin
    settings.slowModeSeconds = 30
    settings.retentionDays = 7
    settings.language = "it"
    settings.lifetime = .temporary
    settings.historyMax = 3
    return settings
  }

  static func conflicts(_ what: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch is StoreConflict {
      return
    }
    throw Unmet(description: "no conflict: \(what)")
  }

  private static let roomItself: [Case] = [
    Case(name: "a room is found by number, address and external id") { scene in
      let (room, other) = try scene.write { writer in
        let room = try scene.make("orchard", externalID: .backend("Ext 1"), settings: whole(), writer)
        try equal(try writer.room(room.id), room, "in the same transaction")
        return (room, try scene.make("b\u{e1}lcony", writer))
      }
      try equal(room.address, try BareJID("orchard@rooms.verona.example"))
      try equal(room.name.realm, scene.realm.id)
      try equal(room.createdAt, scene.time)
      try equal(
        [room.sequence, room.ordinal, room.last.number, room.version.number, Int64(room.memberCount)], [0, 0, 0, 0, 0])
      try require(room.topic == nil && !room.isDestroyed, "a new room has a topic or is destroyed")
      try scene.read { reader in
        for found in [
          try reader.room(room.id), try reader.room(at: room.address),
          try reader.room(externalID: .backend("Ext 1"), in: scene.realm.id),
        ] { try equal(found, room) }
        let name = try reader.roomName(room.id)
        try equal(name?.address, room.address)
        try equal(name?.realm, scene.realm.id)
        try equal(try reader.room(at: BareJID("b\u{e1}lcony@rooms.verona.example")), other)
        try equal(try reader.room(at: BareJID("nowhere@rooms.verona.example")), nil)
        try equal(try reader.room(at: BareJID("orchard@verona.example")), nil)
        try equal(try reader.room(at: BareJID("rooms.verona.example")), nil)
        try equal(try reader.room(externalID: .backend("ext 1"), in: scene.realm.id), nil)
        try equal(try reader.room(externalID: .backend("Ext 1"), in: RealmID(99)), nil)
        try equal(try reader.room(DialogID(99)), nil)
        try equal(try reader.roomName(DialogID(99)), nil)
        try equal(try reader.dialog(room.id), nil, "a room is no private dialog")
      }
    },
    Case(name: "rooms and private dialogs have numbers of their own") { scene in
      try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        let rooms = [try scene.make("a", writer), try scene.make("b", writer)]
        let own = try scene.dialog(scene.romeo, scene.romeo, writer)
        try equal(Set([dialog.id, own.id] + rooms.map(\.id)).count, 4)
        try equal(try writer.room(dialog.id), nil)
        try equal(try writer.roomName(dialog.id), nil)
        try equal(try writer.dialog(own.id), own)
        try equal(try writer.dialog(between: scene.romeo.id, and: scene.juliet.id), dialog)
      }
    },
    Case(name: "a room's address and external id are given out once, also after it is gone") { scene in
      try scene.write { writer in
        var room = try scene.make("orchard", externalID: .backend("x"), writer)
        try conflicts("the address") { _ = try scene.make("orchard", writer) }
        room.isDestroyed = true
        try writer.update(room)
        try conflicts("the address") { _ = try scene.make("orchard", externalID: .backend("y"), writer) }
        try conflicts("the external id") { _ = try scene.make("balcony", externalID: .backend("x"), writer) }
        // The refusals have left nothing.
        _ = try scene.make("balcony", externalID: .backend("y"), writer)
        _ = try scene.make("tomb", writer)
        _ = try scene.make("cell", writer)
        let mantua = try writer.insertRealm(domain: "mantua.example", rooms: "rooms.mantua.example", key: [1], epoch: 1)
        let other = try writer.insertRoom(
          localpart: "orchard", in: mantua.id, externalID: .backend("x"), settings: .open, createdAt: scene.time)
        try equal(other.address, try BareJID("orchard@rooms.mantua.example"))
        try equal(try writer.room(at: room.address)?.isDestroyed, true)
        try equal(try writer.room(externalID: .backend("x"), in: scene.realm.id)?.id, room.id)
        try equal(try writer.room(externalID: .backend("x"), in: mantua.id), other)
      }
    },
    Case(name: "the external ids of the backend and of each user are spaces of their own") { scene in
      try scene.write { writer in
        func find(_ id: ExternalID) throws -> Room? { try writer.room(externalID: id, in: scene.realm.id) }
        let ids: [ExternalID] = [.backend("x"), .user(scene.romeo.id, "x"), .user(scene.juliet.id, "x")]
        var rooms: [Room] = []
        for (index, id) in ids.enumerated() {
          try equal(try find(id), nil)
          rooms.append(try scene.make("room\(index)", externalID: id, writer))
        }
        for (room, id) in zip(rooms, ids) {
          try equal(try find(id), room)
          try conflicts("\(id)") { _ = try scene.make("other", externalID: id, writer) }
        }
        try equal(rooms.map(\.externalID), ["x", nil, nil])
        try equal(rooms.map(\.creator), [nil, scene.romeo.id, scene.juliet.id])
        try equal(rooms.map(\.userExternalID), [nil, "x", "x"])
        try equal(rooms.map { $0.externalID(for: scene.romeo.id) }, ["x", "x", nil])
        for id in [ExternalID.user(scene.romeo.id, "X"), .user(UserID(99), "x")] { try equal(try find(id), nil) }
        // It is given once in its space, also after the room is gone.
        rooms[1].isDestroyed = true
        try writer.update(rooms[1])
        try equal(try find(ids[1]), rooms[1])
        try conflicts("the id of a room that is gone") { _ = try scene.make("other", externalID: ids[1], writer) }
        _ = try scene.make("other", externalID: .user(scene.romeo.id, "y"), writer)
        for (index, party) in [scene.romeo, scene.juliet].enumerated() {
          try scene.join(party, rooms[2 * index].id, writer)
        }
      }
      // A member's list has all that the room itself has.
      for (party, id) in [
        (scene.romeo, ExternalID.backend("x")), (scene.juliet, ExternalID.user(scene.juliet.id, "x")),
      ] {
        try scene.read { reader in
          let views = try reader.rooms(of: party.id, before: .end, limit: 9)
          try equal(views.map { Optional($0.room) }, [try reader.room(externalID: id, in: scene.realm.id)])
          try equal(views.map(\.member.party.id), [party.id])
          try equal(views.map { Optional($0.mark) }, [try reader.mark(party.id, in: views[0].room.id)])
        }
      }
    },
    Case(name: "a room's settings come back as they were, every field") { scene in
      for (index, settings) in [whole(), RoomSettings(), .group, .open, .instant].enumerated() {
        var room = try scene.write { try scene.make("room\(index)", settings: settings, $0) }
        try equal(try scene.read { try $0.room(room.id)?.settings }, settings)
        for whispers in [RoomSettings.Whispers.anyone, .participants, .none] {
          room.settings = whole()
          room.settings.whispers = whispers
          room.settings.name = nil
          room.settings.occupantsMax = 0
          try scene.write { [room] in try $0.update(room) }
          try equal(try scene.read { try $0.room(room.id) }, room)
        }
      }
    },
    Case(name: "a room's topic, members' count, version and end change; its counters by themselves") { scene in
      var room = try scene.write { try scene.make("orchard", $0) }
      for topic in [
        Topic(text: "t \u{1F339}", nick: "n", time: Timestamp(milliseconds: 5)),
        Topic(text: "", nick: nil, time: Timestamp(milliseconds: 0)), nil,
      ] {
        room.topic = topic
        room.memberCount += 3
        room.version = room.version.next
        try scene.write { [room] writer in
          var other = room
          other.sequence = 99
          other.ordinal = 99
          other.end(at: Position(99), isShown: true)
          try writer.update(other)
        }
        try equal(try scene.read { try $0.room(room.id) }, room)
      }
      room.sequence = 7
      room.ordinal = 6
      room.end(at: Position(8))
      try scene.write { [room] writer in
        var other = room
        other.topic = Topic(text: "x", nick: nil, time: .init(milliseconds: 1))
        other.memberCount = 99
        other.settings.name = "x"
        try writer.updateCounters(of: other)
      }
      try equal(try scene.read { try $0.room(room.id) }, room)
      room.isDestroyed = true
      try scene.write { [room] in try $0.update(room) }
      try equal(try scene.read { try $0.room(at: room.address) }, room)
    },
    Case(name: "rooms move with their domain") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo], $0) }
      let said = try scene.write { try scene.say("1", by: scene.romeo, in: room.id, $0) }
      try equal(try scene.read { try $0.entry(said.position, in: room.id)?.addressee }, room.address)
      try scene.write { try $0.setRooms("halls.verona.example", of: scene.realm.id) }
      let moved = try BareJID("orchard@halls.verona.example")
      try scene.read { reader in
        try equal(try reader.realms().map(\.rooms), ["halls.verona.example"])
        try equal(try reader.realms().map(\.domain), ["verona.example"])
        try equal(try reader.room(at: moved)?.id, room.id)
        try equal(try reader.room(at: room.address), nil)
        try equal(try reader.room(room.id)?.address, moved)
        try equal(try reader.roomName(room.id)?.address, moved)
        try equal(try reader.entry(said.position, in: room.id)?.addressee, moved)
        try equal(try reader.memberships(of: scene.romeo.id).map(\.room.address), [moved])
        try equal(try reader.party(scene.romeo.id)?.address, scene.romeo.address)
      }
    },
    Case(name: "rooms of a realm are listed by localpart, in pages") { scene in
      try scene.write { writer in
        for (localpart, name, isListed, isDestroyed) in [
          ("cell", "Friar Laurence", true, false), ("balcony", "\u{c9}lan CAPULET", true, false),
          ("tomb", nil, false, false), ("ball", "Masks", true, true), ("orchard", "The Capulets", false, false),
        ] {
          var settings = RoomSettings.group
          settings.name = name
          settings.isListed = isListed
          var room = try scene.make(localpart, settings: settings, writer)
          guard isDestroyed else { continue }
          room.isDestroyed = true
          try writer.update(room)
        }
      }
      func names(
        _ matching: String? = nil, listed: Bool = false, after: String? = nil, limit: Int = 99
      ) throws -> [String] {
        try scene.read {
          try $0.rooms(in: scene.realm.id, listed: listed, matching: matching, after: after, limit: limit)
            .map { $0.address.local ?? "" }
        }
      }
      try equal(try names(), ["balcony", "cell", "orchard", "tomb"])
      try equal(try names(listed: true), ["balcony", "cell"])
      try equal(try names(limit: 3), ["balcony", "cell", "orchard"])
      try equal(try names(after: "orchard", limit: 3), ["tomb"])
      try equal(try names(listed: true, limit: 1), ["balcony"])
      try equal(try names(listed: true, after: "balcony", limit: 1), ["cell"])
      try equal(try names(listed: true, after: "cell"), [])
      try equal(try names(limit: 0), [])
      try equal(try names("capulet"), ["balcony", "orchard"])
      try equal(try names("\u{e9}LAN"), ["balcony"])
      try equal(try names("capulet", listed: true), ["balcony"])
      func end(_ count: Int, after: String? = nil) throws -> String? {
        try scene.read { try $0.listedRoomsEnd(in: scene.realm.id, after: after, count: count) }
      }
      try equal(try [end(1), end(2), end(3), end(1, after: "balcony")], ["balcony", "cell", nil, "cell"])
      let part = try scene.read {
        try $0.rooms(in: scene.realm.id, listed: false, matching: "capulet", after: nil, through: "cell", limit: 9)
      }
      try equal(part.map { $0.address.local ?? "" }, ["balcony"])
      try equal(try names("bal"), ["balcony"])
      try equal(try names("alcony"), [])
      try equal(try names("%"), [])
      try equal(try names("c", after: "balcony", limit: 1), ["cell"])
      try equal(
        try scene.read { try $0.rooms(in: RealmID(99), listed: false, matching: nil, after: nil, limit: 9).count }, 0)
      // The list of rooms and their names follow the settings.
      try scene.write { writer in
        guard var tomb = try writer.room(at: BareJID("tomb@rooms.verona.example")) else { return }
        tomb.settings.isListed = true
        tomb.settings.name = "Monument"
        try writer.update(tomb)
      }
      try equal(try names("monu", listed: true), ["tomb"])
    },
    Case(name: "a room's values are kept by node and item, apart from users'") { scene in
      let large = [UInt8](repeating: 0xab, count: 98_304)
      let (room, other) = try scene.write { (try scene.make("a", $0), try scene.make("b", $0)) }
      let user = UserID(room.id.number)
      try scene.write {
        try $0.setValue(of: room.id, node: "avatar", item: "bytes", large)
        try $0.setValue(of: room.id, node: "avatar", item: "type", [1])
        try $0.setValue(of: other.id, node: "avatar", item: "bytes", [])
      }
      try scene.read { reader in
        try equal(try reader.value(of: room.id, node: "avatar", item: "bytes"), large)
        try equal(try reader.value(of: room.id, node: "avatar", item: "type"), [1])
        try equal(try reader.value(of: other.id, node: "avatar", item: "bytes"), [])
        try equal(try reader.value(of: other.id, node: "avatar", item: "type"), nil)
        try equal(try reader.value(of: user, node: "avatar", item: "bytes"), nil)
      }
      try scene.write {
        try $0.setValue(of: room.id, node: "avatar", item: "bytes", [7])
        try $0.setValue(of: room.id, node: "avatar", item: "type", nil)
        try $0.setValue(of: room.id, node: "never", item: "there", nil)
        try $0.erasePersonalData(user)
      }
      try equal(try scene.read { try $0.value(of: room.id, node: "avatar", item: "bytes") }, [7])
      try equal(try scene.read { try $0.value(of: room.id, node: "avatar", item: "type") }, nil)
    },
    Case(name: "a room that was never committed leaves nothing, and its number may become another's") { scene in
      struct Refusal: Error {}
      var number: DialogID?
      do {
        try scene.write { writer in
          let room = try scene.room("orchard", of: [scene.romeo], writer)
          try writer.setValue(of: room.id, node: "n", item: "i", [1])
          // Also what is remembered between transactions.
          try equal(try writer.roomName(room.id)?.address, room.address)
          number = room.id
          throw Refusal()
        }
      } catch is Refusal {}
      guard let number else { throw Unmet(description: "no room was made") }
      try scene.read { reader in
        try equal(try reader.room(number), nil)
        try equal(try reader.roomName(number), nil)
        try equal(try reader.room(at: BareJID("orchard@rooms.verona.example")), nil)
        try equal(try reader.memberships(of: scene.romeo.id).count, 0)
        try equal(try reader.value(of: number, node: "n", item: "i"), nil)
      }
      let next = try scene.write { try scene.make("balcony", externalID: .backend("x"), $0) }
      try equal(try scene.read { try $0.roomName(next.id)?.address }, try BareJID("balcony@rooms.verona.example"))
      try equal(try scene.read { try $0.room(next.id) }, next)
    },
    Case(name: "rooms are there after reopening") { scene in
      let (room, said) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try scene.say("1", by: scene.romeo, in: room.id, writer)
        return (try scene.stored(room.id, writer), said)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.room(room.id), room)
        try equal(try reader.entry(said.position, in: room.id), said)
        try equal(try reader.unread(of: scene.juliet.id), 1)
        try equal(try reader.memberships(of: scene.juliet.id).map(\.room), [room.name])
      }
    },
  ]
}
