import Addresses
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Lists of people in rooms: XEP-0045 8, 9, 10")
struct RoomsQueryTests {
  private func get(_ items: String) throws -> AdminQuery {
    try AdminQuery(get: example("<query xmlns='http://jabber.org/protocol/muc#admin'>\(items)</query>"))
  }

  private func set(_ items: String) throws -> AdminQuery {
    try AdminQuery(set: example("<query xmlns='http://jabber.org/protocol/muc#admin'>\(items)</query>"))
  }

  private func change(
    _ address: String, _ affiliation: Affiliation, nick: String? = nil, reason: String? = nil
  ) throws -> AdminQuery.Change {
    AdminQuery.Change(person: .address(try bare(address)), affiliation: affiliation, nick: nick, reason: reason)
  }

  private func role(_ nick: String, _ role: Role, _ reason: String? = nil) -> RoleDraft {
    RoleDraft(nick: nick, role: role, reason: reason)
  }

  // MARK: Roles

  @Test func example89ModeratorKicksOccupant() throws {
    #expect(
      try set(
        """
        <item nick='pistol' role='none'>
          <reason>Avaunt, you cullion!</reason>
        </item>
        """) == .changeRoles([role("pistol", .none, "Avaunt, you cullion!")]))
  }

  @Test func example94ModeratorGrantsVoice() throws {
    #expect(try set("<item nick='thirdwitch' role='participant'/>") == .changeRoles([role("thirdwitch", .participant)]))
  }

  @Test func example95ModeratorGrantsVoiceWithAReason() throws {
    #expect(
      try set("<item nick='thirdwitch' role='participant'><reason>A worthy witch indeed!</reason></item>")
        == .changeRoles([role("thirdwitch", .participant, "A worthy witch indeed!")]))
  }

  @Test func example98ModeratorRevokesVoice() throws {
    #expect(try set("<item nick='thirdwitch' role='visitor'/>") == .changeRoles([role("thirdwitch", .visitor)]))
  }

  @Test func example103ModeratorRequestsVoiceList() throws {
    #expect(try get("<item role='participant'/>") == .role(.participant))
  }

  @Test func example104ServiceSendsVoiceList() throws {
    func occupant(
      _ nick: String, _ address: String, _ affiliation: Affiliation, _ resources: [String]
    ) throws -> OccupantView {
      OccupantView(
        nick: nick, key: nick, party: try person(address), affiliation: affiliation, role: .participant,
        resources: resources)
    }
    let occupants = try [
      occupant("Polo", "polonius@hamlet", .none, ["castle"]),
      occupant("horotoro", "horatio@hamlet", .none, ["castle", "ship"]),
      occupant("Hecate", "hecate@shakespeare.lit", .watcher, ["broom"]),
    ]
    #expect(
      try element { AdminQuery.write(occupants, showsAddresses: true, into: &$0) }
        == example(
          """
          <query xmlns='http://jabber.org/protocol/muc#admin'>
            <item affiliation='none'
                  jid='polonius@hamlet/castle'
                  nick='Polo'
                  role='participant'/>
            <item affiliation='none'
                  jid='horatio@hamlet/castle'
                  nick='horotoro'
                  role='participant'/>
            <item affiliation='member'
                  jid='hecate@shakespeare.lit/broom'
                  nick='Hecate'
                  role='participant'/>
          </query>
          """))
    #expect(!written { AdminQuery.write(occupants, showsAddresses: false, into: &$0) }.contains("jid"))
  }

  @Test func example105ModeratorSendsModifiedVoiceList() throws {
    #expect(
      try set(
        """
        <item nick='Hecate'
              role='visitor'/>
        <item nick='rosencrantz'
              role='participant'>
          <reason>A worthy fellow.</reason>
        </item>
        <item nick='guildenstern'
              role='participant'>
          <reason>A worthy fellow.</reason>
        </item>
        """)
        == .changeRoles([
          role("Hecate", .visitor), role("rosencrantz", .participant, "A worthy fellow."),
          role("guildenstern", .participant, "A worthy fellow."),
        ]))
  }

  @Test func example137AdminGrantsModeratorStatus() throws {
    #expect(try set("<item nick='thirdwitch' role='moderator'/>") == .changeRoles([role("thirdwitch", .moderator)]))
    // 17.4 rule 5: an address beside the nick says nothing.
    #expect(
      try set("<item nick='thirdwitch' role='moderator' jid='hag66@shakespeare.lit'/>")
        == .changeRoles([role("thirdwitch", .moderator)]))
  }

  // MARK: Affiliations

  @Test func example110AdminBansUser() throws {
    #expect(
      try set("<item affiliation='outcast' jid='earlofcambridge@shakespeare.lit'/>")
        == .changeAffiliations([change("earlofcambridge@shakespeare.lit", .outcast)]))
  }

  @Test func example111AdminBansUserWithAReason() throws {
    #expect(
      try set("<item affiliation='outcast' jid='earlofcambridge@shakespeare.lit'><reason>Treason</reason></item>")
        == .changeAffiliations([change("earlofcambridge@shakespeare.lit", .outcast, reason: "Treason")]))
  }

  /// 17.4 rule 6: a banned user or a stranger has no reserved nick.
  @Test(arguments: [Affiliation.outcast, Affiliation.none]) func noNickForStrangers(affiliation: Affiliation) throws {
    let item = "<item affiliation='\(affiliation.text)' jid='hag66@shakespeare.lit' nick='thirdwitch'/>"
    #expect(try set(item) == .changeAffiliations([change("hag66@shakespeare.lit", affiliation)]))
  }

  @Test func example116AdminRequestsBanList() throws {
    #expect(try get("<item affiliation='outcast'/>") == .affiliation(.outcast))
  }

  @Test func example117ServiceSendsBanList() throws {
    // The reason is not kept; a nick is not reserved for who is banned.
    let banned = [try member("earlofcambridge@shakespeare.lit", .outcast, nick: "cambridge")]
    #expect(
      try element { AdminQuery.write(banned, showsAddresses: true, into: &$0) }
        == example(
          """
          <query xmlns='http://jabber.org/protocol/muc#admin'>
            <item affiliation='outcast'
                  jid='earlofcambridge@shakespeare.lit'/>
          </query>
          """))
  }

  @Test func example118AdminSendsModifiedBanList() throws {
    #expect(
      try set(
        """
        <item affiliation='outcast'
              jid='lordscroop@shakespeare.lit'>
          <reason>Treason</reason>
        </item>
        <item affiliation='outcast'
              jid='sirthomasgrey@shakespeare.lit'>
          <reason>Treason</reason>
        </item>
        """)
        == .changeAffiliations([
          change("lordscroop@shakespeare.lit", .outcast, reason: "Treason"),
          change("sirthomasgrey@shakespeare.lit", .outcast, reason: "Treason"),
        ]))
  }

  @Test func example120AdminGrantsMembership() throws {
    #expect(
      try set("<item affiliation='member' jid='hag66@shakespeare.lit' nick='thirdwitch'/>")
        == .changeAffiliations([change("hag66@shakespeare.lit", .member, nick: "thirdwitch")]))
  }

  @Test func example124AdminRevokesMembership() throws {
    #expect(
      try set("<item affiliation='none' jid='hag66@shakespeare.lit'/>")
        == .changeAffiliations([change("hag66@shakespeare.lit", .none)]))
  }

  @Test func example129AdminRequestsMemberList() throws {
    #expect(try get("<item affiliation='member'/>") == .affiliation(.member))
  }

  /// The answer lacks the role of the example, which 17.4 rule 6 forbids.
  @Test func example130ServiceSendsMemberList() throws {
    let members = try [
      member("hag66@shakespeare.lit", .member, nick: "thirdwitch"), member("hecate@shakespeare.lit", .watcher),
    ]
    #expect(
      try element { AdminQuery.write(members, showsAddresses: true, into: &$0) }
        == example(
          """
          <query xmlns='http://jabber.org/protocol/muc#admin'>
            <item affiliation='member'
                  jid='hag66@shakespeare.lit'
                  nick='thirdwitch'/>
            <item affiliation='member'
                  jid='hecate@shakespeare.lit'/>
          </query>
          """))
    #expect(
      try element { AdminQuery.write(members, showsAddresses: false, into: &$0) }
        == example(
          """
          <query xmlns='http://jabber.org/protocol/muc#admin'>
            <item affiliation='member'
                  nick='thirdwitch'/>
          </query>
          """))
  }

  @Test func example131AdminSendsModifiedMemberList() throws {
    #expect(
      try set(
        """
        <item affiliation='none'
              jid='hag66@shakespeare.lit'/>
        <item affiliation='member'
              jid='hecate@shakespeare.lit'/>
        """)
        == .changeAffiliations([change("hag66@shakespeare.lit", .none), change("hecate@shakespeare.lit", .member)]))
    // 9.5: "To unset a reserved nickname, the 'nick' attribute must be set to an empty string."
    #expect(
      try set("<item affiliation='member' jid='hecate@shakespeare.lit' nick=''/>")
        == .changeAffiliations([change("hecate@shakespeare.lit", .member, nick: "")]))
  }

  @Test func example172OwnerGrantsOwnerStatus() throws {
    #expect(
      try set("<item affiliation='owner' jid='hecate@shakespeare.lit'/>")
        == .changeAffiliations([change("hecate@shakespeare.lit", .owner)]))
    // 10.3: of a full address the bare one counts.
    #expect(
      try set("<item affiliation='owner' jid='Hecate@Shakespeare.lit/broom'/>")
        == .changeAffiliations([change("hecate@shakespeare.lit", .owner)]))
  }

  @Test func example181OwnerRequestsOwnerList() throws {
    #expect(try get("<item affiliation='owner'/>") == .affiliation(.owner))
  }

  @Test func example198OwnerSendsModifiedAdminList() throws {
    #expect(
      try set(
        """
        <item affiliation='none'
              jid='hag66@shakespeare.lit'>
        </item>
        <item affiliation='admin'
              jid='hecate@shakespeare.lit'>
        </item>
        """)
        == .changeAffiliations([change("hag66@shakespeare.lit", .none), change("hecate@shakespeare.lit", .admin)]))
  }

  @Test func affiliationOfANick() throws {
    #expect(
      try set("<item affiliation='outcast' nick=' The  ♚ '/>")
        == .changeAffiliations([
          AdminQuery.Change(person: .occupant(nick: "The ♚"), affiliation: .outcast, nick: nil, reason: nil)
        ]))
    let draft = try change("hag66@shakespeare.lit", .member, nick: "thirdwitch", reason: "why").draft(
      of: bare("hag66@shakespeare.lit"))
    #expect(
      draft
        == MemberDraft(
          address: try bare("hag66@shakespeare.lit"), affiliation: .member, nick: "thirdwitch", reason: "why",
          keepsWatchers: true, bansAddress: true))
  }

  // MARK: Refusals

  @Test(arguments: [
    "", "<item/>", "<item affiliation='king'/>", "<item role='king'/>", "<item affiliation='member' role='visitor'/>",
    "<item affiliation='member'/><item affiliation='owner'/>", "<item affiliation='none'/>", "<item role='none'/>",
    "<item affiliation='Member'/>", "<item affiliation=''/>", "<item xmlns='x' affiliation='member'/>",
  ])
  func getsAreRefused(items: String) {
    #expect(refusal { _ = try get(items) } == .badRequest)
  }

  @Test(arguments: [
    ("", StanzaError.Condition.badRequest), ("<item/>", .badRequest), ("<item nick='a'/>", .badRequest),
    ("<item affiliation='member'/>", .badRequest), ("<item role='none'/>", .badRequest),
    ("<item role='none' jid='a@b'/>", .badRequest), ("<item affiliation='watcher' jid='a@b'/>", .badRequest),
    ("<item role='guest' nick='a'/>", .badRequest),
    // 17.4 rule 4.
    ("<item affiliation='admin' role='moderator' jid='a@b' nick='a'/>", .badRequest),
    ("<item affiliation='admin' jid='a@b'/><item role='moderator' nick='c'/>", .badRequest),
    ("<item affiliation='admin' jid='a@b'/><item affiliation='none' jid='A@b/c'/>", .badRequest),
    ("<item role='visitor' nick='a'/><item role='none' nick='a'/>", .badRequest),
    ("<item affiliation='admin' jid='@'/>", .jidMalformed), ("<item affiliation='admin' jid=''/>", .jidMalformed),
    ("<item role='none' nick=''/>", .jidMalformed), ("<item role='none' nick='   '/>", .jidMalformed),
    ("<item affiliation='member' jid='a@b' nick='&#9;'/>", .jidMalformed),
    ("<item role='none' nick='\u{202E}x'/>", .jidMalformed),
  ])
  func setsAreRefused(items: String, condition: StanzaError.Condition) {
    #expect(refusal { _ = try set(items) } == condition)
  }

  @Test func bounds() throws {
    let max = Limits.memberChangesMax
    func items(_ count: Int) -> String {
      (0..<count).map { "<item affiliation='member' jid='witch\($0)@shakespeare.lit'/>" }.joined()
    }
    #expect(refusal { _ = try set(items(max)) } == nil)
    #expect(refusal { _ = try set(items(max + 1)) } == .policyViolation)
    let nick = String(repeating: "x", count: Limits.nickBytesMax)
    #expect(refusal { _ = try set("<item role='none' nick='\(nick)'/>") } == nil)
    #expect(refusal { _ = try set("<item role='none' nick='\(nick)x'/>") } == .jidMalformed)
  }

  /// Reasons are cut, never within a character's bytes.
  @Test(arguments: ["x", "ü", "♚", "😀"]) func longReasonsAreCut(letter: String) throws {
    let long = String(repeating: letter, count: Limits.reasonBytesMax)
    guard case .changeRoles(let roles) = try set("<item nick='a' role='none'><reason>\(long)</reason></item>"),
      let reason = roles.first?.reason
    else {
      Issue.record("no roles")
      return
    }
    #expect(reason.utf8.count <= Limits.reasonBytesMax)
    #expect(reason.utf8.count > Limits.reasonBytesMax - 4)
    #expect(long.hasPrefix(reason))
    guard case .changeRoles(let bare) = try set("<item nick='a' role='none'><reason/></item>") else { return }
    #expect(bare.first?.reason == nil)
  }

  // MARK: Owners

  private func owner(_ content: String) throws -> OwnerQuery {
    try OwnerQuery(set: example("<query xmlns='http://jabber.org/protocol/muc#owner'>\(content)</query>"))
  }

  @Test func example156OwnerRequestsConfigurationForm() throws {
    #expect(try OwnerQuery(get: stanza("<query xmlns='http://jabber.org/protocol/muc#owner'/>")) == .form)
    let list = try stanza("<query xmlns='http://jabber.org/protocol/muc#owner'><item affiliation='owner'/></query>")
    #expect(refusal { _ = try OwnerQuery(get: list) } == .badRequest)
  }

  @Test func example155OwnerRequestsInstantRoom() throws {
    #expect(try owner("<x xmlns='jabber:x:data' type='submit'/>") == .submit(DataForm(.submit)))
  }

  @Test func example162OwnerCancelsInitialConfiguration() throws {
    #expect(try owner("<x xmlns='jabber:x:data' type='cancel'/>") == .cancel)
  }

  @Test func example201OwnerSubmitsRoomDestructionRequest() throws {
    #expect(
      try owner(
        """
        <destroy jid='coven@chat.shakespeare.lit'>
          <reason>Macbeth doth come.</reason>
        </destroy>
        """)
        == .destroy(
          OwnerQuery.Destruction(
            alternate: try bare("coven@chat.shakespeare.lit"), password: nil, reason: "Macbeth doth come.")))
    #expect(try owner("<destroy/>") == .destroy(OwnerQuery.Destruction()))
    #expect(
      try owner("<destroy jid='a@b'><password>bubble</password></destroy>")
        == .destroy(OwnerQuery.Destruction(alternate: try bare("a@b"), password: "bubble")))
  }

  @Test(arguments: [
    ("", StanzaError.Condition.badRequest), ("<x xmlns='jabber:x:data' type='form'/>", .badRequest),
    ("<x xmlns='jabber:x:data' type='result'/>", .badRequest), ("<x xmlns='jabber:x:data' type=''/>", .badRequest),
    ("<x xmlns='jabber:x:data' type='submit'/><destroy/>", .badRequest), ("<destroy/><destroy/>", .badRequest),
    ("<destroy xmlns='x'/>", .badRequest), ("<destroy jid='@'/>", .jidMalformed),
    ("<x xmlns='jabber:x:data' type='submit'><field/></x>", .badRequest),
  ])
  func ownersAreRefused(content: String, condition: StanzaError.Condition) {
    #expect(refusal { _ = try owner(content) } == condition)
  }
}
