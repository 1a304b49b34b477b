import Addresses
import Basics
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Entering rooms, invitations: XEP-0045 7.2, 7.8, 7.9")
struct RoomsEnteringTests {
  private func join(_ content: String) throws -> JoinElement {
    JoinElement(try example("<x xmlns='http://jabber.org/protocol/muc'>\(content)</x>"))
  }

  @Test func example18UserSeeksToEnterARoom() throws {
    #expect(try join("") == JoinElement())
  }

  @Test func example26UserProvidesPassword() throws {
    #expect(try join("<password>cauldronburn</password>") == JoinElement(password: "cauldronburn"))
    #expect(try join("<password/>").password == "")
  }

  // MARK: History

  private func history(_ attributes: String) throws -> HistoryRequest { try join("<history \(attributes)/>").history }

  @Test func example35LimitOnNumberOfCharacters() throws {
    #expect(try history("maxchars='65000'") == HistoryRequest(charactersMax: 65_000))
  }

  @Test func example36LimitOnNumberOfMessages() throws {
    #expect(try history("maxstanzas='20'") == HistoryRequest(stanzasMax: 20))
  }

  @Test func example37HistoryInLast3Minutes() throws {
    #expect(try history("seconds='180'") == HistoryRequest(seconds: 180))
  }

  @Test func example38AllHistorySinceTheUnixEra() throws {
    let request = try history("since='1970-01-01T00:00:00Z'")
    #expect(request == HistoryRequest(since: Timestamp(milliseconds: 0)))
    // "the service SHOULD NOT return all messages".
    #expect(request.limit == DoorLimits.historyMax)
  }

  @Test func example39NoHistory() throws {
    let request = try history("maxchars='0'")
    #expect(request == HistoryRequest(charactersMax: 0))
    #expect(request.limit == 0)
    #expect(request.select(messages(10), now: someTime) == 0)
  }

  @Test(arguments: [
    "maxchars='-1' maxstanzas='x' seconds='' since='yesterday'", "maxstanzas='99999999999999999999'",
    "since='1970-01-01'", "maxstanzas='1.5'", "",
  ])
  func unreadableHistoryRequestsAreIgnored(attributes: String) throws {
    #expect(try history(attributes) == HistoryRequest())
  }

  /// The newest `someTime` old, one a minute, each of 1,000 bytes.
  private func messages(_ count: Int) -> [(time: Timestamp, byteCount: Int)] {
    (0..<count).map { (Timestamp(milliseconds: someTime.milliseconds - Int64($0) * 60_000), 1_000) }
  }

  @Test(arguments: [
    (HistoryRequest(), DoorLimits.historyDefault),
    (HistoryRequest(stanzasMax: 7), 7), (HistoryRequest(stanzasMax: 0), 0),
    (HistoryRequest(stanzasMax: .max), DoorLimits.historyMax),
    (HistoryRequest(charactersMax: 2_999), 2), (HistoryRequest(charactersMax: 3_000), 3),
    (HistoryRequest(charactersMax: 999), 0), (HistoryRequest(charactersMax: .max), DoorLimits.historyMax),
    // Said exactly then is still within.
    (HistoryRequest(seconds: 180), 4), (HistoryRequest(seconds: 179), 3), (HistoryRequest(seconds: 0), 0),
    (HistoryRequest(seconds: .max), DoorLimits.historyMax),
    (HistoryRequest(since: Timestamp(milliseconds: someTime.milliseconds - 60_000)), 2),
    (HistoryRequest(since: Timestamp(milliseconds: someTime.milliseconds + 1)), 0),
    (HistoryRequest(since: Timestamp(milliseconds: .min)), DoorLimits.historyMax),
    // Every bound holds.
    (HistoryRequest(charactersMax: 5_000, stanzasMax: 4, seconds: 120, since: someTime), 1),
    (HistoryRequest(charactersMax: 5_000, stanzasMax: 4, seconds: 120), 3),
    (HistoryRequest(charactersMax: 2_000, stanzasMax: 4, seconds: 120), 2),
  ])
  func selects(request: HistoryRequest, count: Int) {
    #expect(request.select(messages(500), now: someTime) == count)
    #expect(request.select(messages(0), now: someTime) == 0)
  }

  /// Complete stanzas only, and nothing from behind one that does not fit.
  @Test func sizes() {
    let large = (someTime, DoorLimits.historyBytesMax)
    let small = (someTime, 1)
    #expect(HistoryRequest().select([large, small], now: someTime) == 1)
    #expect(HistoryRequest().select([small, large, small], now: someTime) == 1)
    #expect(HistoryRequest().select([(someTime, DoorLimits.historyBytesMax + 1)], now: someTime) == 0)
  }

  // MARK: XEP-0463

  @Test("XEP-0463, examples 1 and 2") func memberLists() throws {
    #expect(try join("<mav xmlns='urn:xmpp:muc:affiliations:1'/>").known == .nothing)
    #expect(try join("<mav xmlns='urn:xmpp:muc:affiliations:1' since='9pacabr2q1'/>").known == .until("9pacabr2q1"))
    let long = String(repeating: "9", count: XMPPLimits.resultSetAnchorBytesMax + 1)
    #expect(try join("<mav xmlns='urn:xmpp:muc:affiliations:1' since='\(long)'/>").known == .nothing)
    #expect(try join("<mav xmlns='urn:xmpp:muc:affiliations:0'/>").known == nil)
  }

  // MARK: Invitations

  private func user(_ content: String) throws -> UserElement? {
    try UserElement.read(example("<x xmlns='http://jabber.org/protocol/muc#user'>\(content)</x>"))
  }

  private func asked(_ to: String, _ reason: String?, thread: String? = nil) throws -> UserElement.Asked {
    UserElement.Asked(to: try JID(to), reason: reason, isContinued: thread != nil, thread: thread)
  }

  @Test func example56OccupantSendsAMediatedInvitation() throws {
    #expect(
      try user(
        """
        <invite to='hecate@shakespeare.lit'>
          <reason>Hey Hecate, this is the place for all good witches!</reason>
        </invite>
        """)
        == .invite([asked("hecate@shakespeare.lit", "Hey Hecate, this is the place for all good witches!")]))
  }

  @Test func example58InviteeDeclinesInvitation() throws {
    #expect(
      try user(
        """
        <decline to='crone1@shakespeare.lit'>
          <reason>Sorry, I'm too busy right now.</reason>
        </decline>
        """)
        == .decline(
          UserElement.Declined(to: try JID("crone1@shakespeare.lit"), reason: "Sorry, I'm too busy right now.")))
  }

  @Test func example63OwnerSendsInvitationsIncludingContinueFlag() throws {
    let (reason, thread) = (
      "This coven needs both wiccarocks and hag66.", "e0ffe42b28561960c6b12b944a092794b9683a38"
    )
    #expect(
      try user(
        """
        <invite to='wiccarocks@shakespeare.lit/laptop'>
          <reason>This coven needs both wiccarocks and hag66.</reason>
          <continue thread='e0ffe42b28561960c6b12b944a092794b9683a38'/>
        </invite>
        <invite to='hag66@shakespeare.lit'>
          <reason>This coven needs both wiccarocks and hag66.</reason>
          <continue thread='e0ffe42b28561960c6b12b944a092794b9683a38'/>
        </invite>
        """)
        == .invite([
          asked("wiccarocks@shakespeare.lit/laptop", reason, thread: thread),
          asked("hag66@shakespeare.lit", reason, thread: thread),
        ]))
  }

  @Test func nothingSaid() throws {
    // A private message (7.5), and what only rooms say (17.3 rule 6).
    #expect(try user("") == nil)
    #expect(try user("<item affiliation='owner' role='moderator'/><status code='110'/><password>x</password>") == nil)
  }

  @Test(arguments: [
    ("<invite/>", StanzaError.Condition.badRequest), ("<decline/>", .badRequest), ("<invite to='@'/>", .jidMalformed),
    ("<decline to=''/>", .jidMalformed), ("<invite to='a@b'/><decline to='a@b'/>", .badRequest),
    ("<decline to='a@b'/><decline to='a@b'/>", .badRequest),
  ])
  func refusals(content: String, condition: StanzaError.Condition) {
    #expect(refusal { _ = try user(content) } == condition)
  }

  @Test func bounds() {
    func invites(_ count: Int) -> String { (0..<count).map { "<invite to='witch\($0)@b'/>" }.joined() }
    #expect(refusal { _ = try user(invites(DoorLimits.invitationsMax)) } == nil)
    #expect(refusal { _ = try user(invites(DoorLimits.invitationsMax + 1)) } == .policyViolation)
  }
}
