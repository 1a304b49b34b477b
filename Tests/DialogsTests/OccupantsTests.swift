import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// The occupants of a room as a value: every change can be undone to the same value.
@Suite struct OccupantsTests {
  private let romeo = Person("romeo", 1)
  private let juliet = Person("juliet", 2)

  struct Person {
    let party: Party
    let sessions: [RecordingSession]

    init(_ name: String, _ number: Int64) {
      let address = try? BareJID("\(name)@localhost")
      party = Party(id: UserID(number), realm: RealmID(1), address: address ?? .nowhere)
      let party = party
      sessions = (0..<3).map { _ in RecordingSession(party) }
    }

    func occupantSession(_ index: Int, _ availability: Presence.Availability = .online) -> Occupants.OccupantSession {
      Occupants.OccupantSession(
        session: sessions[index],
        presence: Presence(
          from: party, resource: "r\(index)", availability: availability, time: Timestamp(milliseconds: 0)))
    }
  }

  private func enter(
    _ occupants: inout Occupants, _ person: Person, _ occupantSession: Occupants.OccupantSession, _ nick: String? = nil,
    role: Role = .participant
  ) -> Occupants.Occupant {
    let nick = nick ?? person.party.name
    return occupants.enter(
      occupantSession, party: person.party, nick: nick, key: nick.lowercased(), affiliation: .member, role: role)
  }

  @Test func anOccupantWhoEntersAndLeavesLeavesNothing() {
    var occupants = Occupants()
    let occupant = enter(&occupants, romeo, romeo.occupantSession(0))
    #expect(occupant.sessions.count == 1)
    #expect(occupants.count == 1)
    #expect(occupants.key(of: romeo.sessions[0].id) == "romeo")
    #expect(occupants.key(of: romeo.party.id) == "romeo")
    let gone = occupants.exit(romeo.sessions[0].id)
    #expect(gone?.before == occupant)
    #expect(gone?.after == nil)
    #expect(occupants == Occupants())
    let again = occupants.exit(romeo.sessions[0].id)
    #expect(again == nil)
  }

  @Test func theLastOfSeveralSeatsEndsTheOccupant() {
    var occupants = Occupants()
    _ = enter(&occupants, romeo, romeo.occupantSession(0))
    let one = occupants
    _ = enter(&occupants, romeo, romeo.occupantSession(1))
    #expect(occupants.count == 1)
    #expect(Set(occupants.sessions) == [romeo.sessions[0].id, romeo.sessions[1].id])
    let gone = occupants.exit(romeo.sessions[1].id)
    // The sessions are different values: each made a presence of its own.
    #expect(gone?.after?.sessions.map(\.session.id) == [romeo.sessions[0].id])
    #expect(occupants == one)
    _ = occupants.exit(romeo.sessions[0].id)
    #expect(occupants == Occupants())
  }

  @Test func theSeatThatSpokeLastSpeaksForTheOccupant() {
    var occupants = Occupants()
    let sessions = [romeo.occupantSession(0), romeo.occupantSession(1), romeo.occupantSession(2)]
    for occupantSession in sessions { _ = enter(&occupants, romeo, occupantSession) }
    let away = romeo.occupantSession(0, .away).presence
    let shown = occupants.show(away, by: romeo.sessions[0].id)
    #expect(shown?.sessions.map(\.session.id) == [1, 2, 0].map { romeo.sessions[$0].id })
    #expect(shown?.sessions.last?.presence === away)
    // Entering again with the same session is no further occupantSession.
    _ = enter(&occupants, romeo, sessions[1])
    #expect(
      occupants.occupant(of: romeo.party.id)?.sessions.map(\.session.id) == [2, 0, 1].map { romeo.sessions[$0].id })
    let stranger = occupants.show(away, by: juliet.sessions[0].id)
    #expect(stranger == nil)
  }

  @Test func aNickIsChangedForAllSeatsThereAndBack() {
    var occupants = Occupants()
    _ = enter(&occupants, romeo, romeo.occupantSession(0))
    _ = enter(&occupants, romeo, romeo.occupantSession(1))
    _ = enter(&occupants, juliet, juliet.occupantSession(0))
    let before = occupants
    let renamed = occupants.rename(from: "romeo", to: "montague", nick: "Montague")
    #expect(renamed?.nick == "Montague")
    #expect(occupants.byKey["romeo"] == nil)
    for session in [0, 1] { #expect(occupants.occupant(of: romeo.sessions[session].id)?.nick == "Montague") }
    #expect(occupants.occupant(of: romeo.party.id)?.nick == "Montague")
    _ = occupants.rename(from: "montague", to: "romeo", nick: "romeo")
    #expect(occupants == before)
    let nobody = occupants.rename(from: "nobody", to: "x", nick: "x")
    #expect(nobody == nil)
    #expect(occupants == before)
  }

  @Test func anotherSpellingOfANickIsTheSamePlace() {
    var occupants = Occupants()
    _ = enter(&occupants, romeo, romeo.occupantSession(0))
    _ = occupants.rename(from: "romeo", to: "romeo", nick: "ROMEO")
    #expect(occupants.count == 1)
    #expect(occupants.occupant(of: romeo.sessions[0].id)?.nick == "ROMEO")
  }

  @Test func aNickIsComparedWithThoseThatOthersHaveNow() {
    var occupants = Occupants()
    _ = enter(&occupants, romeo, romeo.occupantSession(0))
    // The e is Cyrillic.
    let copy = NickLook("rom\u{435}o")
    #expect(occupants.looks.holder(ofOriginalOf: copy, besides: juliet.party.id) == romeo.party.id)
    #expect(occupants.looks.holder(ofOriginalOf: copy, besides: romeo.party.id) == nil)
    _ = occupants.rename(from: "romeo", to: "rose", nick: "Rose")
    #expect(occupants.looks.holder(ofOriginalOf: copy, besides: juliet.party.id) == nil)
    #expect(occupants.looks.holder(ofOriginalOf: NickLook("R\u{43E}se"), besides: juliet.party.id) == romeo.party.id)
    _ = enter(&occupants, juliet, juliet.occupantSession(0))
    _ = occupants.rename(from: "rose", to: "romeo", nick: "romeo")
    #expect(occupants.looks.holder(ofOriginalOf: copy, besides: juliet.party.id) == romeo.party.id)
    _ = occupants.exit(romeo.sessions[0].id)
    #expect(occupants.looks.count == 1)
    #expect(occupants.looks.holder(ofOriginalOf: copy, besides: juliet.party.id) == nil)
  }

  @Test func aKickedUserGoesWithAllSessions() {
    var occupants = Occupants()
    _ = enter(&occupants, juliet, juliet.occupantSession(0))
    let before = occupants
    for occupantSession in 0..<3 { _ = enter(&occupants, romeo, romeo.occupantSession(occupantSession)) }
    let gone = occupants.remove(key: "romeo")
    #expect(gone?.sessions.count == 3)
    #expect(occupants == before)
    let again = occupants.remove(key: "romeo")
    #expect(again == nil)
    for session in romeo.sessions { #expect(occupants.key(of: session.id) == nil) }
  }

  @Test func aResumedSessionHasTheSeatOfItsFormerSelf() {
    var occupants = Occupants()
    let occupantSession = romeo.occupantSession(0)
    _ = enter(&occupants, romeo, occupantSession)
    _ = enter(&occupants, romeo, romeo.occupantSession(1))
    let before = occupants
    let heir = RecordingSession(romeo.party)
    let moved = occupants.replace(from: romeo.sessions[0].id, to: heir)
    #expect(moved)
    #expect(occupants.key(of: romeo.sessions[0].id) == nil)
    // The new session has the old one's place, and its presence.
    #expect(occupants.occupant(of: heir.id)?.sessions.first?.session.id == heir.id)
    #expect(occupants.occupant(of: heir.id)?.sessions.first?.presence === occupantSession.presence)
    let again = occupants.replace(from: romeo.sessions[0].id, to: heir)
    #expect(!again)
    let back = occupants.replace(from: heir.id, to: romeo.sessions[0])
    #expect(back)
    #expect(occupants == before)
  }

  @Test func affiliationRoleAndBeingShownChangeByThemselves() {
    var occupants = Occupants()
    let was = enter(&occupants, romeo, romeo.occupantSession(0))
    var expected = was
    expected.role = .moderator
    let moderator = occupants.set(role: .moderator, key: "romeo")
    #expect(moderator == expected)
    expected.affiliation = .admin
    let admin = occupants.set(affiliation: .admin, key: "romeo")
    #expect(admin == expected)
    expected.isShown = false
    let hidden = occupants.set(isShown: false, key: "romeo")
    #expect(hidden == expected)
    let nobody = occupants.set(role: .visitor, key: "nobody")
    #expect(nobody == nil)
    let restored = occupants.set(affiliation: .member, role: .participant, isShown: true, key: "romeo")
    #expect(restored == was)
  }

  @Test func aboveTheBoundOnlyModeratorsAreShown() {
    var occupants = Occupants()
    let crowd = (1...Limits.shownOccupantsMax).map { Person("extra\($0)", Int64($0)) }
    for person in crowd {
      let occupant = enter(&occupants, person, person.occupantSession(0))
      #expect(occupant.isShown)
    }
    let (late, prince) = (Person("late", 10_001), Person("prince", 10_002))
    let hidden = enter(&occupants, late, late.occupantSession(0))
    #expect(!hidden.isShown)
    let moderator = enter(&occupants, prince, prince.occupantSession(0), role: .moderator)
    #expect(moderator.isShown)
    // A further occupantSession shows nobody who was not, and hides nobody who was.
    let further = enter(&occupants, late, late.occupantSession(1))
    #expect(!further.isShown)
    let seated = enter(&occupants, crowd[0], crowd[0].occupantSession(1))
    #expect(seated.isShown)
    // Room is made again.
    _ = occupants.exit(crowd[1].sessions[0].id)
    _ = occupants.exit(crowd[2].sessions[0].id)
    _ = occupants.exit(crowd[3].sessions[0].id)
    let next = Person("next", 10_003)
    let shown = enter(&occupants, next, next.occupantSession(0))
    #expect(shown.isShown)
  }

  /// Invariants: a session is in one place, a user has one nickname, and every occupant has a session.
  @Test func itsIndexesAgreeAfterAnyWalk() {
    var generator = Seeded(7)
    let people = (1...6).map { Person("p\($0)", Int64($0)) }
    var occupants = Occupants()
    for step in 0..<4_000 {
      let person = people.randomElement(using: &generator) ?? people[0]
      let session = person.sessions.randomElement(using: &generator) ?? person.sessions[0]
      let own = occupants.key(of: person.party.id)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0, 1:
        let nick = occupants.occupant(of: person.party.id)?.nick ?? "\(person.party.name)-\(step)"
        _ = enter(
          &occupants, person, person.occupantSession(person.sessions.firstIndex { $0.id == session.id } ?? 0), nick)
      case 2: _ = occupants.exit(session.id)
      case 3:
        if let own {
          _ = occupants.rename(from: own, to: "\(person.party.name)-\(step)", nick: "\(person.party.name)-\(step)")
        }
      case 4: _ = occupants.show(person.occupantSession(0).presence, by: session.id)
      default: if Bool.random(using: &generator), let own { _ = occupants.remove(key: own) }
      }
      var sessions: [SessionID: String] = [:]
      for (key, occupant) in occupants.byKey {
        #expect(!occupant.sessions.isEmpty)
        #expect(occupants.key(of: occupant.party.id) == key)
        for occupantSession in occupant.sessions {
          #expect(sessions.updateValue(key, forKey: occupantSession.session.id) == nil)
        }
      }
      #expect(Set(occupants.sessions) == Set(sessions.keys))
      for (session, key) in sessions { #expect(occupants.key(of: session) == key) }
      #expect(Set(occupants.byKey.values.map(\.party.id)).count == occupants.count)
    }
  }

  /// A change is noted as what stood there, however many others there are.
  @Test func aChangeCostsTheSameInALargeRoom() {
    var occupants = Occupants()
    for number in 1...2_000 {
      let person = Person("extra\(number)", Int64(number + 10))
      _ = enter(&occupants, person, person.occupantSession(0))
    }
    #expect(occupants.takeChanges().count == 2_000)
    let before = occupants
    _ = enter(&occupants, romeo, romeo.occupantSession(0))
    _ = occupants.rename(from: "romeo", to: "montague", nick: "montague")
    _ = occupants.show(romeo.occupantSession(0, .away).presence, by: romeo.sessions[0].id)
    _ = occupants.set(isShown: true, key: "montague")
    _ = occupants.exit(romeo.sessions[0].id)
    let changes = occupants.takeChanges()
    // Two of them where a nick goes and another comes.
    #expect(changes.map(\.key) == ["romeo", "romeo", "montague", "montague", "montague", "montague"])
    #expect(occupants == before)
    #expect(occupants.shown.count == Limits.shownOccupantsMax)
  }

  @Test func goingBackLeadsToWhatWas() {
    var generator = Seeded(11)
    let people = (1...6).map { Person("p\($0)", Int64($0)) }
    var occupants = Occupants()
    for batch in 0..<300 {
      let before = occupants
      for step in 0..<Int.random(in: 1...8, using: &generator) {
        let person = people.randomElement(using: &generator) ?? people[0]
        let index = Int.random(in: 0..<3, using: &generator)
        let session = person.sessions[index].id
        let own = occupants.key(of: person.party.id)
        let fresh = "\(person.party.name)-\(batch)-\(step)"
        switch Int.random(in: 0..<7, using: &generator) {
        case 0, 1:
          _ = enter(
            &occupants, person, person.occupantSession(index), occupants.occupant(of: person.party.id)?.nick ?? fresh)
        case 2: _ = occupants.exit(session)
        case 3: if let own { _ = occupants.rename(from: own, to: fresh, nick: fresh) }
        case 4: _ = occupants.show(person.occupantSession(index).presence, by: session)
        case 5: if let own { _ = occupants.set(role: .visitor, isShown: Bool.random(using: &generator), key: own) }
        default: if let own { _ = occupants.remove(key: own) }
        }
      }
      let after = occupants
      let changes = occupants.takeChanges()
      if batch.isMultiple(of: 2) {
        for change in changes.reversed() { occupants.undo(change) }
        #expect(occupants == before)
        #expect(occupants.takeChanges().isEmpty)
      } else {
        #expect(occupants == after)
      }
    }
  }
}
