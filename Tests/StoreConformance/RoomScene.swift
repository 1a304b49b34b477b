import Dialogs

/// The hand that writes as the core does, in rooms.
extension Scene {
  func make(
    _ localpart: String, externalID: ExternalID? = nil, settings: RoomSettings = .group,
    _ writer: any StoreWriter
  ) throws -> Room {
    try writer.insertRoom(
      localpart: localpart, in: realm.id, externalID: externalID, settings: settings, createdAt: time)
  }

  /// A room in which these have joined one after the other, as members.
  func room(_ localpart: String = "orchard", of parties: [Party], _ writer: any StoreWriter) throws -> Room {
    let room = try make(localpart, writer)
    for party in parties { try join(party, room.id, writer) }
    return try stored(room.id, writer)
  }

  func stored(_ room: DialogID, _ reader: any StoreReader) throws -> Room {
    guard let room = try reader.room(room) else { throw Unmet(description: "no room \(room.number)") }
    return room
  }

  /// Ends a room and the memberships in it, as the core does in pieces.
  @discardableResult
  func end(_ id: DialogID, freesAddress: Bool = false, _ writer: any StoreWriter) throws -> Room {
    var room = try stored(id, writer)
    let people = try writer.members(of: .server(id, .rules), after: nil, limit: 99).map(\.party.id)
    try writer.endMembers(people, of: id, feeds: [], at: room.last)
    room.isDestroyed = true
    room.isAddressFree = freesAddress
    try writer.update(room)
    return room
  }

  /// An entry of a room with its counters.
  @discardableResult
  func add(
    _ id: DialogID, by author: Party, feeds: [FeedRow] = [], key: RepeatKey? = nil, _ writer: any StoreWriter,
    _ fact: (inout Room) throws -> Fact
  ) throws -> Entry {
    var room = try stored(id, writer)
    let position = step()
    room.end(at: position)
    let fact = try fact(&room)
    room.end(at: position, isShown: fact.isShown)
    let entry = Entry(
      position: position, time: time, dialog: id, author: author, place: .room(room.name), fact: fact,
      id: self.id(position))
    try writer.insert(entry, feeds: feeds, key: key)
    try writer.updateCounters(of: room)
    return entry
  }

  @discardableResult
  func say(
    _ text: String, by author: Party, in room: DialogID, id: String? = nil, key: RepeatKey? = nil,
    traits: Message.Traits = [.counts, .archived], isShown: Bool = true, _ writer: any StoreWriter
  ) throws -> Entry {
    let entry = try add(room, by: author, key: key, writer) { room in
      if isShown { room.sequence += 1 }
      if traits.contains(.counts) { room.ordinal += 1 }
      return .message(
        Message(
          sequence: isShown ? room.sequence : 0, content: Content(kind: isShown ? .text : .none, text: text),
          envelope: Envelope(type: .groupchat, fromResource: author.name, id: id), traits: traits))
    }
    if traits.contains(.counts), var mark = try writer.mark(author.id, in: room) {
      mark.own += 1
      try writer.put(mark, superseded: .zero)
    }
    return entry
  }

  /// A message that changes an earlier one.
  @discardableResult
  func change(
    _ target: Entry, _ kind: Reference.Kind, by author: Party, in room: DialogID, _ writer: any StoreWriter
  ) throws -> Entry {
    try add(room, by: author, writer) { _ in .message(Self.change(target, kind)) }
  }

  @discardableResult
  func note(
    _ change: RoomChange.Change, by author: Party, in room: DialogID, stanza: Message? = nil,
    feeds: [FeedRow] = [], isShown: Bool = true, _ writer: any StoreWriter
  ) throws -> Entry {
    try add(room, by: author, feeds: feeds, writer) { room in
      if isShown { room.sequence += 1 }
      return .room(RoomChange(sequence: isShown ? room.sequence : 0, change: change, stanza: stanza))
    }
  }

  /// Notes a change of a user's affiliation, in the user's feed too if the user joins or leaves.
  @discardableResult
  func join(
    _ party: Party, _ room: DialogID, as affiliation: Affiliation = .member, nick: String? = nil,
    _ writer: any StoreWriter
  ) throws -> Entry {
    let before = try writer.member(party.id, of: room)
    let was = before?.affiliation ?? .none
    let crosses = was.isMember != affiliation.isMember
    let entry = try note(
      .member(MemberChange(party: party, was: was, now: affiliation, nick: nick, reason: nil)), by: party, in: room,
      feeds: crosses ? [FeedRow(user: party.id, traits: .inbound)] : [], writer)
    let member = Member(
      room: room, party: party, affiliation: affiliation, nick: nick,
      since: crosses ? entry.position : before?.since ?? entry.position,
      joinedAt: crosses ? entry.time : before?.joinedAt ?? entry.time, version: entry.position)
    try writer.put(member, ordinal: try stored(room, writer).ordinal)
    return entry
  }

  /// A marker with everything it entails; `told`: the room sees it.
  @discardableResult
  func display(
    _ target: Entry, by reader: Party, in room: DialogID, told: Bool = true, _ writer: any StoreWriter
  ) throws -> Entry {
    guard var mark = try writer.mark(reader.id, in: room) else {
      throw Unmet(description: "\(reader.address) has no mark")
    }
    let counts = try writer.counting(in: room, upTo: target.position, by: reader.id)
    let superseded = mark.position
    mark.delivered = target.position
    mark.displayed = target.position
    mark.displayedOrdinal = counts.all
    mark.ownAtDisplayed = counts.own
    let feeds = told ? [] : [FeedRow(user: reader.id, traits: .mark)]
    let entry = try add(room, by: reader, feeds: feeds, writer) { room in
      mark.position = room.last
      return .marker(
        Marker(
          kind: .displayed, mark: mark, target: target.position, targetID: target.id, targetStanzaID: nil,
          stanza: nil, told: told, asked: false))
    }
    try writer.put(mark, superseded: superseded)
    return entry
  }
}
