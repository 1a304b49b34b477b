/// Who is told what a room says: seats of occupants, and app sessions of
/// members who follow it. Changed only by what the committer tells, in the order
/// of the log, so that an entry reaches exactly those who were there when it was
/// committed. Confined to the committer's thread.
struct Audiences {
  struct Seat {
    var session: any LiveSession
    let user: UserID
    /// Where a room hides them: of a moderator, who also hears who asks for voice;
    /// of an app session, which has no role there, by affiliation.
    var seesAddresses: Bool

    /// In what form an app session gets what the room says.
    func feed(isSemiAnonymous: Bool) -> Form { isSemiAnonymous && !seesAddresses ? .feedVeiled : .feed }
  }

  /// Seats in no order; that of a session is found without looking at the others.
  struct Crowd {
    private(set) var seats: [Seat] = []
    private var places: [SessionID: Int] = [:]

    mutating func put(_ seat: Seat) {
      if let place = places[seat.session.id] {
        seats[place] = seat
      } else {
        places[seat.session.id] = seats.count
        seats.append(seat)
      }
    }

    @discardableResult
    mutating func remove(_ session: SessionID) -> Seat? {
      guard let place = places.removeValue(forKey: session) else { return nil }
      seats.swapAt(place, seats.count - 1)
      let gone = seats.removeLast()
      if place < seats.count { places[seats[place].session.id] = place }
      return gone
    }

    mutating func setSeesAddresses(_ sees: Bool, user: UserID) {
      for place in seats.indices where seats[place].user == user { seats[place].seesAddresses = sees }
    }
  }

  struct Audience {
    var occupants = Crowd()
    /// App sessions.
    var followers = Crowd()
    /// Who is typing by XMPP, with what the followers were told of it: who leaves ends it.
    var typing: [UserID: Typing] = [:]
    var isEmpty: Bool { occupants.seats.isEmpty && followers.seats.isEmpty }
  }

  struct Typing {
    let stanza: RelayedStanza
    let isSemiAnonymous: Bool

    /// What followers are told when it has ended and nobody says so.
    var ended: RelayedStanza {
      RelayedStanza(
        name: stanza.name, from: stanza.from, fromResource: stanza.fromResource, room: stanza.room, to: stanza.to,
        toResource: nil, id: nil, extras: [], typing: false)
    }
  }

  private var rooms: [DialogID: Audience] = [:]
  private var followed: [SessionID: Set<DialogID>] = [:]

  func audience(of room: DialogID) -> Audience? { rooms[room] }

  mutating func seat(_ session: any LiveSession, isModerator: Bool, in room: DialogID) {
    rooms[room, default: Audience()].occupants.put(
      Seat(session: session, user: session.party.id, seesAddresses: isModerator))
  }

  /// - Returns: what the occupant was typing there.
  mutating func unseat(_ session: SessionID, in room: DialogID) -> Typing? {
    guard let seat = rooms[room]?.occupants.remove(session) else { return nil }
    let typing = rooms[room]?.typing.removeValue(forKey: seat.user)
    drop(room)
    return typing
  }

  /// At most one for each occupant is kept: an app's session ends its typing itself.
  mutating func note(_ stanza: RelayedStanza, isSemiAnonymous: Bool, in room: DialogID) {
    guard let on = stanza.typing, !stanza.extras.isEmpty, rooms[room]?.followers.seats.isEmpty == false else { return }
    rooms[room]?.typing[stanza.from.id] = on ? Typing(stanza: stanza, isSemiAnonymous: isSemiAnonymous) : nil
  }

  mutating func reseat(from old: SessionID, to session: any LiveSession, in room: DialogID) {
    guard let was = rooms[room]?.occupants.remove(old) else { return }
    seat(session, isModerator: was.seesAddresses, in: room)
  }

  mutating func setModerator(_ isModerator: Bool, user: UserID, in room: DialogID) {
    rooms[room]?.occupants.setSeesAddresses(isModerator, user: user)
  }

  mutating func follow(_ room: DialogID, by session: any LiveSession, seesAddresses: Bool) {
    rooms[room, default: Audience()].followers.put(
      Seat(session: session, user: session.party.id, seesAddresses: seesAddresses))
    followed[session.id, default: []].insert(room)
  }

  mutating func unfollow(_ room: DialogID, by user: UserID) {
    for seat in rooms[room]?.followers.seats ?? [] where seat.user == user {
      rooms[room]?.followers.remove(seat.session.id)
      followed[seat.session.id]?.remove(room)
    }
    drop(room)
  }

  mutating func setSeesAddresses(_ seesAddresses: Bool, user: UserID, in room: DialogID) {
    rooms[room]?.followers.setSeesAddresses(seesAddresses, user: user)
  }

  /// A session has ended.
  mutating func forget(_ session: SessionID) {
    for room in followed.removeValue(forKey: session) ?? [] {
      rooms[room]?.followers.remove(session)
      drop(room)
    }
  }

  mutating func close(_ room: DialogID) {
    guard let audience = rooms.removeValue(forKey: room) else { return }
    for seat in audience.followers.seats { followed[seat.session.id]?.remove(room) }
  }

  private mutating func drop(_ room: DialogID) {
    if rooms[room]?.isEmpty == true { rooms[room] = nil }
  }
}
