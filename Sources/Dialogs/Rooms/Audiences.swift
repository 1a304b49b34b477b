/// The recipients of a room's messages: seats of occupants, and app sessions of members who follow the room. The
/// audiences change only with the committer's effects, in the order of the log, so that an entry reaches exactly those
/// who were present when it was committed. Confined to the committer's thread.
struct Audiences {
  struct Seat {
    var session: any LiveSession
    let user: UserID
    /// Whether the seat sees the occupants' addresses in a semi-anonymous room: for occupants, whether they are
    /// moderators, who also receive requests for voice; for app sessions, which have no role, it depends on the
    /// affiliation.
    var seesAddresses: Bool

    /// Returns the form in which an app session receives the room's entries.
    func feed(isSemiAnonymous: Bool) -> Form { isSemiAnonymous && !seesAddresses ? .feedVeiled : .feed }
  }

  /// A set of seats without order, with constant-time access by session.
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
    /// The members' app sessions.
    var followers = Crowd()
    /// The typing indicators of XMPP clients that the followers were sent; leaving ends them.
    var typing: [UserID: Typing] = [:]
    var isEmpty: Bool { occupants.seats.isEmpty && followers.seats.isEmpty }
  }

  struct Typing {
    let stanza: RelayedStanza
    let isSemiAnonymous: Bool

    /// The indicator that ends it, for followers of an occupant who left without ending it.
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

  /// Removes a seat. Returns the occupant's typing indicator.
  mutating func unseat(_ session: SessionID, in room: DialogID) -> Typing? {
    guard let seat = rooms[room]?.occupants.remove(session) else { return nil }
    let typing = rooms[room]?.typing.removeValue(forKey: seat.user)
    drop(room)
    return typing
  }

  /// Records a typing indicator, at most one per occupant; an app session ends its own.
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

  /// Removes a session that has ended.
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
