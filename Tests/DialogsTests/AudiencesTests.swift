import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// The audience of a room: a session is found without looking at the others, and each session occurs once.
@Suite struct AudiencesTests {
  private let room = DialogID(7)
  private let people: [RecordingSession] = (1...6).map { number in
    RecordingSession(
      Party(id: UserID(Int64(number)), realm: RealmID(1), address: (try? BareJID("p\(number)@localhost")) ?? .nowhere))
  }

  private func heard(_ audiences: Audiences) -> (occupants: [SessionID], followers: [SessionID]) {
    let audience = audiences.audience(of: room)
    return (
      audience?.occupants.recipients.map(\.session.id) ?? [], audience?.followers.recipients.map(\.session.id) ?? []
    )
  }

  @Test func whoeverComesAndGoesIsThereOnceOrNot() {
    var generator = Seeded(3)
    var audiences = Audiences()
    var (seated, following): (Set<SessionID>, Set<SessionID>) = ([], [])
    for _ in 0..<3_000 {
      let session = people.randomElement(using: &generator) ?? people[0]
      switch Int.random(in: 0..<7, using: &generator) {
      case 0, 1:
        audiences.addOccupant(session, isModerator: false, in: room)
        seated.insert(session.id)
      case 2:
        _ = audiences.unseat(session.id, in: room)
        seated.remove(session.id)
      case 3, 4:
        audiences.follow(room, by: session, seesAddresses: false)
        following.insert(session.id)
      case 5:
        audiences.unfollow(room, by: session.party.id)
        following.remove(session.id)
      default:
        audiences.forget(session.id)
        following.remove(session.id)
      }
      let heard = heard(audiences)
      #expect(Set(heard.occupants) == seated && heard.occupants.count == seated.count)
      #expect(Set(heard.followers) == following && heard.followers.count == following.count)
      #expect((audiences.audience(of: room) == nil) == (seated.isEmpty && following.isEmpty))
    }
  }

  private final class Listener: LiveSession {
    let id: SessionID
    let party: Party
    let lane: Lane
    init(_ number: Int, _ lane: Lane) {
      id = SessionID(UInt64(number))
      party = Party(id: UserID(Int64(number % 3)), realm: RealmID(1), address: .nowhere)
      self.lane = lane
    }
    func receive(_ delivery: Delivery) {}
    func batchEnded() {}
  }

  /// Each lane has its own recipients: those of a session that has left are closed up.
  @Test func recipientsAreKeptByLane() {
    let lanes = [Lane { $0() }, Lane { $0() }]
    let sessions = (0..<6).map { Listener($0, lanes[$0 % 2]) }
    var hearing = Audiences.RecipientSet()
    for session in sessions + sessions {
      hearing.put(Audiences.Recipient(session: session, user: session.party.id, seesAddresses: false))
    }
    func numbers() -> [[UInt64]] { hearing.lanes.map { lane in lane.recipients.map { $0.session.id.number } } }
    #expect(numbers() == [[0, 2, 4], [1, 3, 5]])
    #expect(hearing.lanes[0].lane === lanes[0] && hearing.lanes[1].lane === lanes[1])
    #expect(hearing.remove(SessionID(0))?.session.id == SessionID(0))
    #expect(hearing.remove(SessionID(0)) == nil)
    #expect(numbers() == [[4, 2], [1, 3, 5]])
    #expect(hearing.remove(SessionID(2))?.session.id == SessionID(2))
    #expect(hearing.count == 4)
    hearing.setSeesAddresses(true, user: UserID(1))
    #expect(hearing.recipients.filter(\.seesAddresses).map(\.session.id.number) == [4, 1])
    #expect(hearing.sessions(of: UserID(1)) == [SessionID(4), SessionID(1)])
  }

  /// Hundreds may leave a large room in one act, and each is announced to those who are left: whoever comes or leaves makes
  /// one part new to a lane, not all of them.
  @Test func oneWhoComesOrLeavesChangesOnePart() {
    let lane = Lane { $0() }
    var generator = Seeded(37)
    let size = Audiences.RecipientSet.partSize
    var hearing = Audiences.RecipientSet()
    var present: [Int] = []
    var seen: [UInt64: Set<SessionID>] = [:]
    func come(_ number: Int) {
      hearing.put(Audiences.Recipient(session: Listener(number, lane), user: UserID(1), seesAddresses: false))
      present.append(number)
    }
    func check(new most: Int) {
      let parts = hearing.lanes[0].parts
      var new = 0
      for part in parts {
        let sessions = Set(part.recipients.map(\.session.id))
        if let known = seen[part.edition] {
          #expect(sessions.isSubset(of: known))
        } else {
          seen[part.edition] = sessions
          new += 1
        }
      }
      #expect(new <= most)
      #expect(parts.dropLast().allSatisfy { $0.recipients.count == size })
      #expect(parts.count == (present.count + size - 1) / size && hearing.lanes[0].count == present.count)
      #expect(Set(hearing.recipients.map(\.session.id.number)) == Set(present.map { UInt64($0) }))
    }
    for number in 0..<(20 * size) { come(number) }
    check(new: 20)
    for number in 0..<400 {
      if number % 3 == 0 {
        come(100_000 + number)
      } else {
        let gone = present.remove(at: Int.random(in: 0..<present.count, using: &generator))
        let removed = hearing.remove(SessionID(UInt64(gone)))
        #expect(removed?.session.id.number == UInt64(gone))
      }
      check(new: 1)
    }
  }

  @Test func aModeratorIsOneWithAllSeatsAndAfterAResumption() {
    var audiences = Audiences()
    let second = RecordingSession(people[0].party)
    for session in [people[0], people[1], second] { audiences.addOccupant(session, isModerator: false, in: room) }
    audiences.setModerator(true, user: people[0].party.id, in: room)
    let heir = RecordingSession(people[0].party)
    audiences.replace(from: second.id, to: heir, in: room)
    let moderators = audiences.audience(of: room)?.occupants.recipients.filter(\.seesAddresses).map(\.session.id) ?? []
    #expect(Set(moderators) == [people[0].id, heir.id])
    #expect(!heard(audiences).occupants.contains(second.id))
    // Nobody is made a recipient by what is said of one who has gone.
    audiences.replace(from: second.id, to: second, in: room)
    #expect(heard(audiences).occupants.count == 3)
  }

  @Test func aRoomThatEndsIsHeardByNobody() {
    var audiences = Audiences()
    audiences.addOccupant(people[0], isModerator: true, in: room)
    audiences.follow(room, by: people[1], seesAddresses: false)
    audiences.close(room)
    #expect(audiences.audience(of: room) == nil)
    // Its follower is told of other rooms, and leaves nothing behind.
    audiences.forget(people[1].id)
    #expect(audiences.audience(of: room) == nil)
  }
}
