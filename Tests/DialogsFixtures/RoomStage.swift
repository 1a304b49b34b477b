import Addresses
import Basics
package import Dialogs
import StoreConformance
import Testing

/// A room on the stage, and people in it.
extension Stage {
  package func room(
    _ name: String = "verona", by owner: Party, _ settings: RoomSettings = .group,
    with members: [(Party, Affiliation)] = []
  ) async throws -> RoomName {
    let draft = RoomDraft(
      localpart: name, settings: settings,
      members: members.map { MemberDraft(address: $0.0.address, affiliation: $0.1) })
    let receipt = try await parley.post(.room(.create(draft)), by: owner)
    guard let room = receipt.room else { throw StageError.full }
    return room.name
  }

  package func stored(_ room: RoomName) async throws -> Room {
    guard let room = try await parley.read({ try $0.room(room.dialog) }) else { throw StageError.full }
    return room
  }

  package func member(_ party: Party, of room: RoomName) async throws -> Member? {
    try await parley.read { try $0.member(party.id, of: room.dialog) }
  }

  package func presence(_ session: RecordingSession, _ availability: Presence.Availability = .online) -> Presence {
    Presence(from: session.party, resource: "r", availability: availability, time: clock.now)
  }

  package func entering(
    _ session: RecordingSession, _ nick: String, password: String? = nil, isJoin: Bool = true
  ) -> Entering {
    Entering(session: session, nick: nick, password: password, presence: presence(session), isJoin: isJoin)
  }

  /// A session that need not be registered with the hub: rooms do not ask for it.
  @discardableResult
  package func enter(
    _ room: RoomName, _ session: RecordingSession, _ nick: String? = nil, password: String? = nil, isJoin: Bool = true
  ) async throws -> EnteredRoom? {
    let nick = nick ?? session.party.name
    let receipt = try await act(
      .enter(.address(room.address), entering(session, nick, password: password, isJoin: isJoin)), by: session)
    return receipt.value as? EnteredRoom
  }

  /// Lets every party enter the room with a new session, and discards the deliveries of that.
  package func seats(_ room: RoomName, _ parties: Party...) async throws -> [RecordingSession] {
    var sessions: [RecordingSession] = []
    for party in parties {
      let session = RecordingSession(party)
      try await enter(room, session)
      sessions.append(session)
    }
    for session in sessions { _ = session.taken() }
    return sessions
  }

  /// Posts as an XMPP session does, and waits for the outcome.
  @discardableResult
  package func act(_ intent: RoomIntent, by session: RecordingSession) async throws -> Receipt {
    let token = submit(intent, by: session)
    // Alone in its batch, and told to everybody before this returns.
    await session.waitForOutcome(of: token)
    try await settle(session.party)
    guard let outcome = session.outcome(of: token) else { throw StageError.full }
    return try outcome.get()
  }

  /// Posts as the app does.
  @discardableResult
  package func act(_ intent: RoomIntent, by party: Party) async throws -> Receipt {
    try await parley.post(.room(intent), by: party)
  }

  @discardableResult
  package func submit(_ intent: RoomIntent, by session: RecordingSession) -> UInt64 {
    let token = session.nextToken()
    #expect(
      parley.submit(Post(author: session.party, intent: .room(intent), completion: .session(session, token: token))))
    return token
  }

  /// Returns when everything submitted has been committed and delivered.
  package func settle(_ party: Party) async throws { try await parley.post(.confirm(.zero), by: party) }

  /// Commits the posts that `body` submits as one batch.
  package func together(_ party: Party, _ body: () -> Void) async throws {
    let gate = Gate()
    let held = Task { try await parley.work { _ in gate.wait() } }
    await gate.entered()
    body()
    gate.open()
    try await held.value
    try await settle(party)
  }

  /// Submits a post that makes its whole batch fail, which is then retried without it.
  package func submitPoison(_ session: RecordingSession) {
    let (user, now) = (session.party.id, clock.now)
    let work = WriteTransaction { writer in
      try writer.setLastSeen(now, for: user)
      throw Problem(.conflict, "poison", "It does not work.")
    }
    #expect(
      parley.submit(
        Post(
          author: session.party, intent: .work(work),
          completion: .session(session, token: session.nextToken()))))
  }

  /// Fails alone, so that no part of it is ever stored.
  package func failing(_ intent: RoomIntent, by session: RecordingSession) async throws {
    store.failNext(1)
    await #expect(throws: Problem.storage) { try await act(intent, by: session) }
  }

  package func draft(_ text: String, app: Bool = false, key: RepeatKey? = nil) -> RoomMessageDraft {
    RoomMessageDraft(
      content: Content(kind: .text, text: text), envelope: Envelope(type: .groupchat),
      traits: app ? [.counts, .archived, .fromApp] : [.counts, .archived], key: key)
  }

  @discardableResult
  package func say(
    _ text: String, in room: RoomName, by session: RecordingSession, key: RepeatKey? = nil
  ) async throws -> Receipt {
    try await act(.say(.address(room.address), draft(text, key: key)), by: session)
  }

  @discardableResult
  package func say(_ text: String, in room: RoomName, by party: Party, key: RepeatKey? = nil) async throws -> Receipt {
    try await act(.say(.dialog(room.dialog), draft(text, app: true, key: key)), by: party)
  }

  package func affiliate(_ party: Party, _ affiliation: Affiliation, in room: RoomName, by actor: Party) async throws {
    try await act(
      .members(.dialog(room.dialog), [MemberDraft(address: party.address, affiliation: affiliation)]), by: actor)
  }

  package func role(_ nick: String, _ role: Role, in room: RoomName, by actor: RecordingSession) async throws {
    try await act(.roles(.address(room.address), [RoleDraft(nick: nick, role: role, reason: nil)]), by: actor)
  }

  package func occupancy(_ room: RoomName, for party: Party) async throws -> Occupancy {
    guard let value = try await act(.occupants(.address(room.address)), by: party).value as? Occupancy else {
      throw StageError.full
    }
    return value
  }

  package func nicks(_ room: RoomName, for party: Party) async throws -> Set<String> {
    Set(try await occupancy(room, for: party).occupants.map(\.nick))
  }

  package func unread(_ party: Party) async throws -> Int64 { try await parley.read { try $0.unread(of: party.id) } }

  /// Many accounts in one transaction.
  package func crowd(_ count: Int, _ name: String = "extra", displayName: String? = nil) async throws -> [Party] {
    let (realm, now) = (parley.realms[0], clock.now)
    return try await parley.work { writer in
      try (1...count).map { number in
        let address = try BareJID("\(name)\(number)@localhost")
        let user = try writer.insertUser(
          address, in: realm.id, profile: Profile(displayName: displayName), createdAt: now)
        return Party(id: user.id, realm: user.realm, address: user.address)
      }
    }
  }
}

extension RoomSettings {
  package func with(_ change: (inout RoomSettings) -> Void) -> RoomSettings {
    var settings = self
    change(&settings)
    return settings
  }
}

extension SettingsDraft {
  package static func change(_ apply: @escaping @Sendable (inout RoomSettings) -> Void) -> SettingsDraft {
    SettingsDraft(apply: apply)
  }
}

extension RecordingSession {
  /// Returns the deliveries since the last call, without outcomes of the session's own posts.
  package func effects() -> [Heard] {
    taken().filter {
      switch $0 {
      case .done, .refused: false
      default: true
      }
    }
  }
}

/// The problem that `body` ends with.
package func problem(_ body: () async throws -> Void) async throws -> Problem? {
  do {
    try await body()
    return nil
  } catch let problem as Problem {
    return problem
  }
}

package func cast(_ stage: Stage) async throws -> (romeo: Party, juliet: Party, paris: Party) {
  (try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris"))
}

package func whisper(_ author: Party, _ name: RelayedStanza.Name = .message(.chat)) -> RelayedStanza {
  RelayedStanza(name: name, from: author, fromResource: "r", to: author.address, toResource: nil, id: nil, extras: [])
}
