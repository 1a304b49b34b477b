/// The recipients of a room's messages: sessions of occupants, and app sessions of members who follow the room. The
/// audiences change only with the committer's effects, in the order of the log, so that an entry reaches exactly those
/// who were present when it was committed. Confined to the committer's thread.
struct Audiences {
  struct Recipient {
    var session: any LiveSession
    let user: UserID
    /// Whether the recipient sees the occupants' addresses in a semi-anonymous room: for occupants, whether they are
    /// moderators, who also receive requests for voice; for app sessions, which have no role, it depends on the
    /// affiliation.
    var seesAddresses: Bool

    /// Returns the form in which an app session receives the room's entries.
    func feed(isSemiAnonymous: Bool) -> Form { isSemiAnonymous && !seesAddresses ? .feedAnonymized : .feed }
  }

  /// A set of recipients without order, with constant-time access by session.
  struct RecipientSet {
    private(set) var recipients: [Recipient] = []
    private var places: [SessionID: Int] = [:]

    mutating func put(_ recipient: Recipient) {
      if let place = places[recipient.session.id] {
        recipients[place] = recipient
      } else {
        places[recipient.session.id] = recipients.count
        recipients.append(recipient)
      }
    }

    @discardableResult
    mutating func remove(_ session: SessionID) -> Recipient? {
      guard let place = places.removeValue(forKey: session) else { return nil }
      recipients.swapAt(place, recipients.count - 1)
      let gone = recipients.removeLast()
      if place < recipients.count { places[recipients[place].session.id] = place }
      return gone
    }

    mutating func setSeesAddresses(_ sees: Bool, user: UserID) {
      for place in recipients.indices where recipients[place].user == user { recipients[place].seesAddresses = sees }
    }
  }

  struct Audience {
    var occupants = RecipientSet()
    /// The members' app sessions.
    var followers = RecipientSet()
    var count: Int { occupants.recipients.count + followers.recipients.count }
    var isEmpty: Bool { count == 0 }
  }

  private var rooms: [DialogID: Audience] = [:]
  private var followed: [SessionID: Set<DialogID>] = [:]

  func audience(of room: DialogID) -> Audience? { rooms[room] }

  mutating func addOccupant(_ session: any LiveSession, isModerator: Bool, in room: DialogID) {
    rooms[room, default: Audience()].occupants.put(
      Recipient(session: session, user: session.party.id, seesAddresses: isModerator))
  }

  /// Removes a recipient. Returns the occupant's user.
  mutating func unseat(_ session: SessionID, in room: DialogID) -> Party? {
    guard let recipient = rooms[room]?.occupants.remove(session) else { return nil }
    drop(room)
    return recipient.session.party
  }

  mutating func replace(from old: SessionID, to session: any LiveSession, in room: DialogID) {
    guard let was = rooms[room]?.occupants.remove(old) else { return }
    addOccupant(session, isModerator: was.seesAddresses, in: room)
  }

  mutating func setModerator(_ isModerator: Bool, user: UserID, in room: DialogID) {
    rooms[room]?.occupants.setSeesAddresses(isModerator, user: user)
  }

  mutating func follow(_ room: DialogID, by session: any LiveSession, seesAddresses: Bool) {
    rooms[room, default: Audience()].followers.put(
      Recipient(session: session, user: session.party.id, seesAddresses: seesAddresses))
    followed[session.id, default: []].insert(room)
  }

  mutating func unfollow(_ room: DialogID, by user: UserID) {
    for recipient in rooms[room]?.followers.recipients ?? [] where recipient.user == user {
      rooms[room]?.followers.remove(recipient.session.id)
      followed[recipient.session.id]?.remove(room)
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
    for recipient in audience.followers.recipients { followed[recipient.session.id]?.remove(room) }
  }

  private mutating func drop(_ room: DialogID) {
    if rooms[room]?.isEmpty == true { rooms[room] = nil }
  }
}
