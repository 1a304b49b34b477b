import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// The hearing that users elsewhere get who are not known here (`Strangers.swift`), and the setting of each user
/// (`MessagesFrom.swift`).
@Suite struct StrangerTests {
  private func stage(strangers: StrangerPolicy) throws -> (stage: Stage, service: FederationTests.Service) {
    let stage = try Stage()
    let service = FederationTests.Service(refusing: [], strangers: strangers)
    stage.parley.hub.setFederation(service)
    return (stage, service)
  }

  private func party(_ address: String, _ stage: Stage) throws -> Party {
    let federated = stage.parley.federatedRealm(of: stage.parley.realms[0].id)
    return Party(remote: try BareJID(address), realm: federated.id)
  }

  private func stored(_ party: Party, _ stage: Stage) async throws -> User? {
    try await stage.parley.read { try $0.user(party.address, seenFrom: party.realm) }
  }

  @Test func aStrangerBeginsFewConversations() async throws {
    let (stage, _) = try stage(strangers: .limit)
    var hosts: [Party] = []
    for number in 0...Limits.conversationsPerStranger { hosts.append(try await stage.user("host\(number)")) }
    let juliet = try party("juliet@capulet.example", stage)
    for host in hosts.dropLast() { _ = try await stage.say("hi", from: juliet, to: host) }
    _ = try await stage.say("hi again", from: juliet, to: hosts[0])
    let last = try #require(hosts.last)
    let refusal = await #expect(throws: Problem.self) { try await stage.say("hi", from: juliet, to: last) }
    #expect(refusal?.code == "strangers-limited")
    // A request is a conversation as well, whether there is such a user or not.
    for address in [last.address, try BareJID("nobody@localhost")] {
      let refusal = await #expect(throws: Problem.self) {
        try await stage.parley.post(.subscription(.subscribe, to: address, stanza: nil), by: juliet)
      }
      #expect(refusal?.code == "strangers-limited")
    }
    // Who has written to her, or has her in the roster, hears her.
    _ = try await stage.say("are you there?", from: last, to: juliet)
    _ = try await stage.say("hi", from: juliet, to: last)
    // An hour later she is heard by others.
    let fresh = try await stage.user("fresh")
    await #expect(throws: Problem.self) { try await stage.say("hi", from: juliet, to: fresh) }
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    _ = try await stage.say("hi", from: juliet, to: fresh)
  }

  /// XEP-0489.
  @Test func anAnonymousStrangerBeginsOneConversation() async throws {
    let (stage, service) = try stage(strangers: .limit)
    let (romeo, mercutio) = (try await stage.user("romeo"), try await stage.user("mercutio"))
    let ghost = try party("ghost@denmark.example", stage)
    service.anonymize(ghost.address)
    for text in ["swear", "swear!"] { _ = try await stage.say(text, from: ghost, to: romeo) }
    let refusal = await #expect(throws: Problem.self) { try await stage.say("swear", from: ghost, to: mercutio) }
    #expect(refusal?.code == "strangers-limited")
    // To whoever has written to it, it is no stranger.
    _ = try await stage.say("rest", from: mercutio, to: ghost)
    _ = try await stage.say("swear", from: ghost, to: mercutio)
    // Others of its domain are heard as before.
    let hamlet = try party("hamlet@denmark.example", stage)
    for host in [romeo, mercutio] { _ = try await stage.say("hi", from: hamlet, to: host) }
  }

  @Test func aDomainWithoutAcquaintancesIsSoonAtItsBound() async throws {
    let (stage, _) = try stage(strangers: .limit)
    let romeo = try await stage.user("romeo")
    for number in 0..<Limits.conversationsPerDomain {
      _ = try await stage.say("buy", from: try party("bot\(number)@spam.example", stage), to: romeo)
    }
    let next = try party("next@spam.example", stage)
    let refusal = await #expect(throws: Problem.self) { try await stage.say("buy", from: next, to: romeo) }
    #expect(refusal?.code == "strangers-limited")
    #expect(try await stored(next, stage) == nil)
    // One whom somebody here knows has been heard from there: the domain has real users.
    let friend = try party("bot0@spam.example", stage)
    _ = try await stage.say("who are you?", from: romeo, to: friend)
    _ = try await stage.say("a friend", from: friend, to: romeo)
    _ = try await stage.say("hello", from: next, to: romeo)
  }

  @Test func strangersAreRefusedWhereNobodyHearsThem() async throws {
    let (stage, _) = try stage(strangers: .refuse)
    let romeo = try await stage.user("romeo")
    let juliet = try party("juliet@capulet.example", stage)
    await #expect(throws: Problem.strangersRefused) { try await stage.say("hi", from: juliet, to: romeo) }
    #expect(try await stored(juliet, stage) == nil)
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    _ = try await stage.say("hi", from: juliet, to: romeo)
  }

  // MARK: Limits are not turned against others

  /// A flood from one domain, or from an accomplice in a domain, hinders neither those of the domain who are known, nor
  /// the users here who are its targets.
  @Test func aFloodHindersNobodyWhoIsKnown() async throws {
    let (stage, _) = try stage(strangers: .limit)
    let romeo = try await stage.user("romeo")
    let (juliet, nurse) = (try party("juliet@capulet.example", stage), try party("nurse@capulet.example", stage))
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    _ = try await stage.say("good morrow", from: romeo, to: nurse)
    for number in 0..<Limits.conversationsPerDomain {
      _ = try await stage.say("buy", from: try party("bot\(number)@capulet.example", stage), to: romeo)
    }
    let stranger = try party("tybalt@capulet.example", stage)
    await #expect(throws: Problem.self) { try await stage.say("buy", from: stranger, to: romeo) }
    // Who is in a roster, and whoever was written to, is heard; that makes the domain a known one.
    _ = try await stage.say("ay me", from: juliet, to: romeo)
    _ = try await stage.say("peace", from: nurse, to: romeo)
    // Strangers of another domain have their own bounds.
    _ = try await stage.say("good day", from: try party("benvolio@montague.example", stage), to: romeo)
    // What strangers begin is not counted as new addresses of a young account that answers them.
    for number in 0..<Limits.conversationsPerDomain {
      _ = try await stage.say("no", from: romeo, to: try party("bot\(number)@capulet.example", stage))
    }
    _ = try await stage.say("hello", from: romeo, to: try party("friar@mantua.example", stage))
  }

  /// What is refused is not counted: nobody's hearing is used up by those who are not heard.
  @Test func whatIsRefusedCountsForNobody() async throws {
    let (stage, _) = try stage(strangers: .limit)
    let (romeo, mercutio) = (try await stage.user("romeo"), try await stage.user("mercutio"))
    let paris = try party("paris@verona.example", stage)
    try await stage.parley.post(.block([BlockPattern(JID(paris.address))]), by: romeo)
    _ = try await stage.set(messagesFrom: .contacts, of: mercutio)
    for _ in 0...Limits.conversationsPerStranger {
      await #expect(throws: Problem.self) { try await stage.say("buy", from: paris, to: romeo) }
      await #expect(throws: Problem.notHeard) { try await stage.say("buy", from: paris, to: mercutio) }
    }
    #expect(try await stored(paris, stage) == nil)
    for number in 0..<Limits.conversationsPerStranger {
      _ = try await stage.say("good day", from: paris, to: try await stage.user("host\(number)"))
    }
  }

  /// The transaction of a batch may fail although each act in it was accepted: what it counted is taken back.
  @Test func whatIsRolledBackCountsForNobody() async throws {
    let (stage, _) = try stage(strangers: .limit)
    let hosts = try await cast(stage)
    let juliet = try party("juliet@capulet.example", stage)
    func write(to host: Party) async throws { _ = try await stage.say("hi", from: juliet, to: host) }
    for _ in 0...Limits.conversationsPerStranger {
      stage.store.failNext(1)
      await #expect(throws: Problem.storage) { try await write(to: hosts.paris) }
    }
    #expect(try await stored(juliet, stage) == nil)
    // The addresses elsewhere to which a user here writes.
    for number in 0...Limits.addressesPerYoungAccount {
      let nobody = try party("nobody\(number)@mantua.example", stage)
      stage.store.failNext(1)
      await #expect(throws: Problem.storage) { _ = try await stage.say("hi", from: hosts.romeo, to: nobody) }
    }
    var others: [Party] = []
    for number in 0..<Limits.conversationsPerStranger { others.append(try await stage.user("host\(number)")) }
    for host in others { try await write(to: host) }
    #expect(try await problem { try await write(to: hosts.paris) }?.code == "strangers-limited")
    _ = try await stage.say("hi", from: hosts.romeo, to: try party("friar@mantua.example", stage))
  }

  @Test func aBatchThatIsRolledBackTakesBackWhatItCountedAlone() throws {
    let time = Timestamp(milliseconds: 7_200_000)
    let (host, home) = (try BareJID("romeo@localhost"), RealmID(1))
    var counts = StrangerCounts(KnownDomains())
    func stranger(_ number: Int) throws -> BareJID { try BareJID("bot\(number)@spam.example") }
    func begin(_ number: Int, at time: Timestamp) throws {
      try counts.begin(
        from: stranger(number), to: host, home: home, atMost: Limits.conversationsPerStranger, at: time)
    }
    for number in 0..<Limits.conversationsPerDomain - 1 { try begin(number, at: time) }
    counts.settled()
    let last = Limits.conversationsPerDomain
    try begin(last, at: time)
    // This one was counted before.
    try begin(0, at: time)
    #expect(throws: Problem.self) { try begin(last + 1, at: time) }
    counts.rollBack()
    try begin(last + 1, at: time)
    #expect(throws: Problem.self) { try begin(last + 2, at: time) }
    counts.settled()
    // An hour that begins in a batch stays empty after it.
    try begin(0, at: time + .seconds(3_600))
    counts.rollBack()
    for number in 0..<Limits.conversationsPerDomain { try begin(number, at: time + .seconds(3_600)) }
    #expect(throws: Problem.self) { try begin(last, at: time + .seconds(3_600)) }
  }

  /// Whoever has a zone is bounded in it, by however many subdomains.
  @Test func theSubdomainsOfAZoneAreBoundedTogether() throws {
    let time = Timestamp(milliseconds: 7_200_000)
    let (host, home) = (try BareJID("romeo@localhost"), RealmID(1))
    var counts = StrangerCounts(KnownDomains())
    func begin(_ domain: String) throws {
      try counts.begin(from: BareJID("bot@\(domain)"), to: host, home: home, atMost: 1, at: time)
    }
    for number in 0..<Limits.conversationsPerZone { try begin("s\(number).spam.example") }
    counts.settled()
    #expect(throws: Problem.self) { try begin("next.spam.example") }
    try begin("capulet.example")
    // One whose users are known here has its own bound.
    counts.met(try BareJID("friend@next.spam.example"), home: home)
    try begin("next.spam.example")
    counts.rollBack()
    #expect(throws: Problem.self) { try begin("next.spam.example") }

    func hear(_ domain: String) throws { try counts.count(BareJID("bot@\(domain)"), home: home, at: time) }
    for number in 1..<Limits.strangersPerZonePerDay { try hear("s\(number).spam.example") }
    counts.settled()
    try hear("last.spam.example")
    #expect(throws: Problem.self) { try hear("next.spam.example") }
    counts.rollBack()
    try hear("next.spam.example")
    #expect(throws: Problem.self) { try hear("last.spam.example") }
    try hear("capulet.example")
    // Whoever fills a zone keeps no domain out whose users are known here.
    counts.met(try BareJID("friend@last.spam.example"), home: home)
    try hear("last.spam.example")
  }

  /// An account here makes subdomains known by writing to them: together they leave most of what all domains have to others.
  @Test func theKnownSubdomainsOfAZoneAreBoundedTogether() throws {
    let time = Timestamp(milliseconds: 7_200_000)
    let (host, home) = (try BareJID("romeo@localhost"), RealmID(1))
    var counts = StrangerCounts(KnownDomains())
    let domains = (0..<30).map { "s\($0).spam.example" }
    for domain in domains { counts.met(try BareJID("friend@\(domain)"), home: home) }
    func bot(_ number: Int, of each: Int) throws -> BareJID { try BareJID("bot\(number)@\(domains[number / each])") }

    func begin(_ stranger: BareJID) throws {
      try counts.begin(from: stranger, to: host, home: home, atMost: 1, at: time)
    }
    for number in 0..<Limits.conversationsPerKnownZone {
      try begin(bot(number, of: Limits.conversationsPerKnownDomain))
    }
    #expect(throws: Problem.self) { try begin(BareJID("bot@s29.spam.example")) }
    // Domains that are not known have their own bound, as has another zone.
    try begin(BareJID("bot@new.spam.example"))
    try begin(BareJID("bot@capulet.example"))

    func hear(_ stranger: BareJID) throws { try counts.count(stranger, home: home, at: time) }
    for number in 0..<Limits.strangersPerKnownZonePerDay {
      try hear(bot(number, of: Limits.strangersPerDomainPerHour))
    }
    #expect(throws: Problem.self) { try hear(BareJID("bot@s29.spam.example")) }
    try hear(BareJID("bot@new.spam.example"))
    try hear(BareJID("bot@capulet.example"))

    func report(_ server: String) throws {
      try counts.checkReport(by: BareJID(server), home: home, at: time)
      counts.countReport(by: try BareJID(server), home: home)
    }
    for number in 0..<Limits.reportsOfKnownZonePerDayMax { try report(domains[number % domains.count]) }
    #expect(throws: Problem.self) { try report("s29.spam.example") }
    try report("new.spam.example")
    counts.rollBack()
    counts.met(try BareJID("friend@s29.spam.example"), home: home)
    try begin(BareJID("bot@s29.spam.example"))
    try hear(BareJID("bot@s29.spam.example"))
    try report("s29.spam.example")
  }

  // MARK: What is stored nowhere

  @Test func whereStrangersAreRefusedWhatIsStoredNowhereIsToo() async throws {
    for policy in StrangerPolicy.allCases {
      let (stage, _) = try stage(strangers: policy)
      let romeo = try await stage.user("romeo")
      let session = try await stage.session(romeo, "orchard")
      let (juliet, tybalt) = (try party("juliet@capulet.example", stage), try party("tybalt@capulet.example", stage))
      try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
      _ = session.taken()
      let hub = stage.parley.hub
      #expect(hub.mayBeHeardUnstored(juliet, by: romeo.address))
      #expect(hub.mayBeHeardUnstored(tybalt, by: romeo.address) == (policy == .allow))
      for author in [juliet, tybalt] { stage.relay(from: author, to: romeo.address) }
      #expect(session.taken().count == (policy == .refuse ? 1 : 2), "\(policy)")
      // A room elsewhere, as long as he is in it.
      let room = try party("feast@conference.capulet.example", stage)
      for availability in [Presence.Availability.online, .offline] {
        let presence = Presence(from: romeo, resource: "orchard", availability: availability, time: stage.clock.now)
        hub.direct(presence, of: session, to: room.address, resource: "Romeo")
        #expect(hub.mayBeHeardUnstored(room, by: romeo.address) == (policy == .allow || availability == .online))
      }
    }
  }

  // MARK: Block lists

  @Test func whoIsListedIsHeardByThoseAloneWhoKnowThem() async throws {
    for policy in StrangerPolicy.allCases {
      let (stage, service) = try stage(strangers: policy)
      let (romeo, mercutio) = (try await stage.user("romeo"), try await stage.user("mercutio"))
      let tybalt = try party("tybalt@capulet.example", stage)
      service.list(tybalt.address)
      for intent in [Intent.subscription(.subscribe, to: romeo.address, stanza: nil)] {
        await #expect(throws: Problem.addressListed) { try await stage.parley.post(intent, by: tybalt) }
      }
      await #expect(throws: Problem.addressListed) { try await stage.say("buy", from: tybalt, to: romeo) }
      #expect(try await stored(tybalt, stage) == nil)
      _ = try await stage.say("who are you?", from: mercutio, to: tybalt)
      _ = try await stage.say("thy king of cats", from: tybalt, to: mercutio)
      await #expect(throws: Problem.addressListed) { try await stage.say("buy", from: tybalt, to: romeo) }
    }
  }

  // MARK: messagesFrom

  @Test func whoeverTakesMessagesOfContactsAloneIsNotReachedByStrangers() async throws {
    let (stage, _) = try stage(strangers: .allow)
    let (romeo, juliet, nurse) = try await cast(stage)
    let tybalt = try party("tybalt@capulet.example", stage)
    _ = try await stage.say("before", from: nurse, to: romeo)
    _ = try await stage.set(messagesFrom: .contacts, of: romeo)
    let session = try await stage.session(romeo, "orchard")
    for stranger in [juliet, nurse, tybalt] {
      await #expect(throws: Problem.notHeard) { try await stage.say("hi", from: stranger, to: romeo) }
      stage.relay(from: stranger, to: romeo.address)
    }
    #expect(session.taken() == [])
    #expect(try await stored(tybalt, stage) == nil)
    // Whom he asks may answer, here and elsewhere.
    for stranger in [nurse, tybalt] {
      _ = try await stage.say("who are you?", from: romeo, to: stranger)
      _ = try await stage.say("a friend", from: stranger, to: romeo)
    }
    // A request passes; whoever is in the roster is heard, and what is stored nowhere as well.
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: nil), by: juliet)
    await #expect(throws: Problem.notHeard) { try await stage.say("hi", from: juliet, to: romeo) }
    try await stage.parley.post(.subscription(.subscribed, to: juliet.address, stanza: nil), by: romeo)
    _ = try await stage.say("hi", from: juliet, to: romeo)
    _ = session.taken()
    stage.relay(from: juliet, to: romeo.address)
    #expect(session.taken() == [.relayed(.direct)])
    // To himself he always may, and what others set is no matter for him.
    _ = try await stage.say("note", from: romeo, to: romeo)
    _ = try await stage.set(messagesFrom: .everybody, of: romeo)
    _ = try await stage.say("hi", from: try party("sampson@capulet.example", stage), to: romeo)
  }

  // MARK: Markers

  /// The stanza of a marker may contain anything: it is heard where a message is, and begins no dialog.
  @Test func aMarkerReachesNobodyWhomAMessageDoesNotReach() async throws {
    let (stage, service) = try stage(strangers: .limit)
    let (romeo, juliet, nurse) = try await cast(stage)
    _ = try await stage.set(messagesFrom: .contacts, of: romeo)
    let session = try await stage.session(romeo, "orchard")
    let (tybalt, sampson) = (try party("tybalt@capulet.example", stage), try party("sampson@capulet.example", stage))
    for stranger in [juliet, tybalt] {
      for kind in [Marker.Kind.displayed, .delivered] {
        await #expect(throws: Problem.notHeard) { try await stage.mark("nope", kind, from: stranger, to: romeo) }
      }
    }
    #expect(session.taken() == [])
    #expect(try await stored(tybalt, stage) == nil)
    // To whom anybody may write it is passed on, and that is all.
    let hall = try await stage.session(nurse, "hall")
    try await stage.mark("nope", from: juliet, to: nurse)
    #expect(hall.taken() == [.relayed(.direct)])
    for host in [romeo, nurse] { #expect(try await stage.dialog(of: juliet, and: host) == nil) }
    // It is a conversation of a stranger, and nothing of whoever is on a block list.
    for number in 0..<Limits.conversationsPerStranger {
      try await stage.mark("nope", from: tybalt, to: try await stage.user("host\(number)"))
    }
    #expect(try await problem { try await stage.mark("nope", from: tybalt, to: nurse) }?.code == "strangers-limited")
    service.list(sampson.address)
    await #expect(throws: Problem.addressListed) { try await stage.mark("nope", from: sampson, to: nurse) }
    #expect(hall.taken() == [])
    // Whom he has written to may mark that, and may then say what a message may say.
    for stranger in [juliet, tybalt] {
      let key = RepeatKey(rule: .xmpp, id: "m1", bodyHash: 1)
      let said = try await stage.say("who are you?", from: romeo, to: stranger, key: key)
      _ = session.taken()
      try await stage.mark("m1", from: stranger, to: romeo)
      #expect(session.taken() == [.marked(.displayed, by: stranger.name, told: true, asked: false)])
      let id = try #require(said.entry?.dialog)
      let dialog = try #require(try await stage.parley.read { try $0.dialog(id) })
      let reader = dialog.peer(of: romeo.id)
      #expect(try await stage.parley.read { try $0.mark(reader.id, in: dialog.id) }?.displayed == said.entry?.position)
      try await stage.mark("nope", from: stranger, to: romeo)
      #expect(session.taken() == [.said("", .direct)])
    }
  }

  /// The reason of an invitation is a message, also where somebody is made a member; and the invitation of somebody
  /// elsewhere begins a conversation.
  @Test func anInvitationIsNoWayToWriteToWhoeverDoesNotHear() async throws {
    let (stage, _) = try stage(strangers: .refuse)
    let (romeo, juliet, nurse) = try await cast(stage)
    let sessions = [try await stage.session(romeo, "orchard"), try await stage.session(nurse, "hall")]
    _ = try await stage.set(messagesFrom: .contacts, of: romeo)
    for session in sessions { _ = session.taken() }
    let room = try await stage.room(by: juliet, .open)
    for host in [romeo, nurse] {
      let drafts = [MemberDraft(address: host.address, affiliation: .member, reason: "Hear me")]
      for intent in [
        RoomIntent.invite(.dialog(room.dialog), to: host.address, reason: "Hear me"),
        .members(.dialog(room.dialog), drafts),
      ] {
        try await stage.act(intent, by: juliet)
      }
    }
    let reasons = sessions.map { session in
      session.deliveries().compactMap { delivery -> Invitation? in
        guard case .entry(let entry, _) = delivery, case .invitation(let invitation) = entry.fact else { return nil }
        return invitation
      }.map(\.reason)
    }
    #expect(reasons == [[nil, nil], ["Hear me", "Hear me"]])
    let tybalt = try party("tybalt@capulet.example", stage)
    try await stage.affiliate(tybalt, .member, in: room, by: juliet)
    let guest = try #require(try await stored(tybalt, stage))
    await #expect(throws: Problem.strangersRefused) {
      try await stage.parley.post(
        .room(.invite(.address(room.address), to: nurse.address, reason: nil)),
        by: Party(id: guest.id, realm: guest.realm, address: guest.address))
    }
  }

  /// A dialog that somebody opens shows their name: it is shown to those who hear them.
  @Test func aDialogIsNotShownToWhoeverDoesNotHearItsAuthor() async throws {
    let (stage, _) = try stage(strangers: .allow)
    let (romeo, juliet, nurse) = try await cast(stage)
    _ = try await stage.set(messagesFrom: .contacts, of: romeo)
    let phones = [
      try await stage.session(romeo, "phone", door: .app), try await stage.session(nurse, "phone", door: .app),
    ]
    let head = try await stage.parley.read { try $0.head().position }
    for host in [romeo, nurse] { try await stage.parley.post(.openDialog(host.address), by: juliet) }
    #expect(phones[0].taken() == [])
    #expect(phones[1].taken() == [.dialog])
    for (host, count) in [(romeo, 0), (nurse, 1), (juliet, 2)] {
      #expect(try await stage.dialogs(of: host) == count, "\(host.name)")
      let feed = try await stage.parley.read { try $0.feed(of: host.id, after: head, limit: 10).count }
      #expect(feed == count, "\(host.name)")
    }
    // Opened or written to by himself, it is in his list.
    try await stage.parley.post(.openDialog(juliet.address), by: romeo)
    #expect(try await stage.dialogs(of: romeo) == 1)
  }

  @Test func theSettingSurvivesAFailedBatch() async throws {
    let (stage, _) = try stage(strangers: .allow)
    let (romeo, juliet, _) = try await cast(stage)
    _ = try await stage.say("hi", from: juliet, to: romeo)
    stage.store.failNext(1)
    await #expect(throws: Problem.self) { try await stage.set(messagesFrom: .contacts, of: romeo) }
    _ = try await stage.say("hi", from: juliet, to: romeo)
  }
}

extension Stage {
  @discardableResult
  fileprivate func set(messagesFrom setting: Visibility, of user: Party) async throws -> Receipt {
    try await parley.post(.profile(ProfileDraft(settings: UserSettingsDraft(messagesFrom: setting))), by: user)
  }

  /// Marks a message of `peer` by the id of its stanza, with a stanza.
  fileprivate func mark(
    _ id: String, _ kind: Marker.Kind = .displayed, from author: Party, to peer: Party
  ) async throws {
    let stanza = (
      content: Content(kind: .none, extras: Array("<attention/>".utf8)),
      envelope: Envelope(type: .chat, fromResource: "r"), traits: Message.Traits.archived
    )
    try await parley.post(
      .marker(MarkerDraft(with: peer.address, kind: kind, target: .stanza(id), stanza: stanza)), by: author)
  }

  fileprivate func dialog(of a: Party, and b: Party) async throws -> Dialog? {
    try await parley.read { try $0.dialog(between: min(a.id, b.id), and: max(a.id, b.id)) }
  }

  /// Returns the number of dialogs in a user's list.
  fileprivate func dialogs(of user: Party) async throws -> Int {
    try await parley.read { try $0.dialogs(of: .own(user), before: .end, limit: 9).count }
  }

  /// Relays a message that is stored nowhere.
  fileprivate func relay(from author: Party, to address: BareJID) {
    let stanza = RelayedStanza(
      name: .message(.headline), from: author, fromResource: "r", to: address, toResource: nil, id: nil, extras: [])
    parley.hub.signal(.stanza(stanza), from: nil, party: author, to: .user(address, resource: nil))
  }
}
