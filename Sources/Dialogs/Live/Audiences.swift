/// Who is told what a room says: seats of occupants, and app sessions of
/// members who follow it. Changed only by what the committer tells, in the order
/// of the log, so that an entry reaches exactly those who were there when it was
/// committed. Confined to the committer's thread.
struct Audiences {
  struct Seat {
    var session: any LiveSession
    let user: UserID
    /// Sees addresses in a semi-anonymous room, and voice requests.
    var isModerator: Bool
  }

  struct Audience {
    var seats: [Seat] = []
    var followers: [any LiveSession] = []
    var isEmpty: Bool { seats.isEmpty && followers.isEmpty }
  }

  private var rooms: [DialogID: Audience] = [:]
  private var followed: [SessionID: [DialogID]] = [:]

  func audience(of room: DialogID) -> Audience? { rooms[room] }

  mutating func seat(_ session: any LiveSession, isModerator: Bool, in room: DialogID) {
    let seat = Seat(session: session, user: session.party.id, isModerator: isModerator)
    if let index = rooms[room]?.seats.firstIndex(where: { $0.session.id == session.id }) {
      rooms[room]?.seats[index] = seat
    } else {
      rooms[room, default: Audience()].seats.append(seat)
    }
  }

  mutating func unseat(_ session: SessionID, in room: DialogID) {
    guard let index = rooms[room]?.seats.firstIndex(where: { $0.session.id == session }) else { return }
    rooms[room]?.seats.remove(at: index)
    drop(room)
  }

  mutating func reseat(from old: SessionID, to session: any LiveSession, in room: DialogID) {
    guard let index = rooms[room]?.seats.firstIndex(where: { $0.session.id == old }) else { return }
    rooms[room]?.seats[index].session = session
  }

  mutating func setModerator(_ isModerator: Bool, user: UserID, in room: DialogID) {
    guard let seats = rooms[room]?.seats else { return }
    for (index, seat) in seats.enumerated() where seat.user == user { rooms[room]?.seats[index].isModerator = isModerator }
  }

  mutating func follow(_ room: DialogID, by session: any LiveSession) {
    guard rooms[room]?.followers.contains(where: { $0.id == session.id }) != true else { return }
    rooms[room, default: Audience()].followers.append(session)
    followed[session.id, default: []].append(room)
  }

  mutating func unfollow(_ room: DialogID, by user: UserID) {
    guard let followers = rooms[room]?.followers else { return }
    for session in followers where session.party.id == user { followed[session.id]?.removeAll { $0 == room } }
    rooms[room]?.followers.removeAll { $0.party.id == user }
    drop(room)
  }

  /// A session has ended.
  mutating func forget(_ session: SessionID) {
    for room in followed.removeValue(forKey: session) ?? [] {
      rooms[room]?.followers.removeAll { $0.id == session }
      drop(room)
    }
  }

  mutating func close(_ room: DialogID) {
    guard let audience = rooms.removeValue(forKey: room) else { return }
    for session in audience.followers { followed[session.id]?.removeAll { $0 == room } }
  }

  private mutating func drop(_ room: DialogID) {
    if rooms[room]?.isEmpty == true { rooms[room] = nil }
  }
}
