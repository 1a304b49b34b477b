import Synchronization

/// The recipients of a room's messages: sessions of occupants, and app sessions of members who follow the room. The
/// audiences change only with the committer's effects, in the order of the log, so that an entry reaches exactly those
/// who were present when it was committed. Confined to the committer's thread.
struct Audiences {
  struct Recipient: Sendable {
    var session: any LiveSession
    let user: UserID
    /// Whether the recipient sees the occupants' addresses in a semi-anonymous room: for occupants, whether they are
    /// moderators, who also receive requests for voice; for app sessions, which have no role, it depends on the
    /// affiliation.
    var seesAddresses: Bool

    /// Returns the form in which an app session receives the room's entries.
    func feed(isSemiAnonymous: Bool) -> Form { isSemiAnonymous && !seesAddresses ? .feedAnonymized : .feed }
  }

  /// A set of recipients without order, with constant-time access by session. The committer hands over the parts of a lane,
  /// and the lane makes a delivery for each recipient, so that a message costs the committer nearly the same in a room of
  /// two and of five thousand.
  ///
  /// A change copies one part or two, as earlier deliveries still hold the former ones, and the lane looks only at the
  /// parts that are new to it (`LaneBacklog`): one act may end the presence of 256 people in a room of 10,000.
  struct RecipientSet {
    /// Some recipients of one lane. All parts of a lane are full, except for the last one.
    struct Part: Sendable {
      fileprivate(set) var recipients: [Recipient] = []
      /// A number that changes when a session comes; no two parts have the same.
      fileprivate(set) var edition: UInt64 = 0
      private static let editions = Atomic<UInt64>(0)

      fileprivate mutating func renew() {
        edition = Self.editions.wrappingAdd(1, ordering: .relaxed).newValue
      }
    }

    /// The recipients of one lane.
    struct OnLane: Sendable {
      let lane: Lane
      fileprivate(set) var parts: [Part] = []
      fileprivate(set) var count = 0
      var recipients: [Recipient] { parts.flatMap(\.recipients) }

      fileprivate mutating func append(_ recipient: Recipient) {
        if count == parts.count * RecipientSet.partSize { parts.append(Part()) }
        parts[parts.count - 1].recipients.append(recipient)
        parts[parts.count - 1].renew()
        count += 1
      }

      fileprivate mutating func removeLast() -> Recipient {
        let gone = parts[parts.count - 1].recipients.removeLast()
        if parts[parts.count - 1].recipients.isEmpty { parts.removeLast() }
        count -= 1
        return gone
      }

      /// Puts a recipient in the place of another one, and returns that.
      fileprivate mutating func replace(_ index: Int, by recipient: Recipient) -> Recipient {
        let (part, place) = index.quotientAndRemainder(dividingBy: RecipientSet.partSize)
        let gone = parts[part].recipients[place]
        parts[part].recipients[place] = recipient
        if gone.session.id != recipient.session.id { parts[part].renew() }
        return gone
      }
    }

    /// The recipients of one part. In a room of 10,000 with two lanes a lane has about as many parts, so that a change, which
    /// copies one part and the list of parts, costs the least.
    static let partSize = 64
    private(set) var lanes: [OnLane] = []
    private var places: [SessionID: (lane: Int, index: Int)] = [:]

    var count: Int { places.count }
    var recipients: [Recipient] { lanes.flatMap { $0.recipients } }

    mutating func put(_ recipient: Recipient) {
      if let place = places[recipient.session.id] {
        _ = lanes[place.lane].replace(place.index, by: recipient)
        return
      }
      let lane = recipient.session.lane
      let known = lanes.firstIndex { $0.lane === lane }
      if known == nil { lanes.append(OnLane(lane: lane)) }
      let place = known ?? lanes.count - 1
      places[recipient.session.id] = (place, lanes[place].count)
      lanes[place].append(recipient)
    }

    @discardableResult
    mutating func remove(_ session: SessionID) -> Recipient? {
      guard let place = places.removeValue(forKey: session) else { return nil }
      let last = lanes[place.lane].removeLast()
      if place.index == lanes[place.lane].count { return last }
      places[last.session.id] = place
      return lanes[place.lane].replace(place.index, by: last)
    }

    mutating func setSeesAddresses(_ sees: Bool, user: UserID) {
      for lane in lanes.indices {
        for part in lanes[lane].parts.indices {
          for index in lanes[lane].parts[part].recipients.indices
          where lanes[lane].parts[part].recipients[index].user == user {
            lanes[lane].parts[part].recipients[index].seesAddresses = sees
          }
        }
      }
    }

    func sessions(of user: UserID) -> [SessionID] {
      var found: [SessionID] = []
      for lane in lanes {
        for part in lane.parts {
          for recipient in part.recipients where recipient.user == user { found.append(recipient.session.id) }
        }
      }
      return found
    }
  }

  struct Audience {
    var occupants = RecipientSet()
    /// The members' app sessions.
    var followers = RecipientSet()
    var count: Int { occupants.count + followers.count }
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
    for session in rooms[room]?.followers.sessions(of: user) ?? [] {
      rooms[room]?.followers.remove(session)
      followed[session]?.remove(room)
    }
    drop(room)
  }

  mutating func setSeesAddresses(_ seesAddresses: Bool, user: UserID, in room: DialogID) {
    rooms[room]?.followers.setSeesAddresses(seesAddresses, user: user)
  }

  /// Returns the number of rooms that a session follows.
  func roomCount(of session: SessionID) -> Int { followed[session]?.count ?? 0 }

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
