import Addresses
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// The users whom a message mentions, and those whose counter it increments.
@Suite struct MentionTests {
  private func at(_ address: String, _ begin: Int? = nil, _ end: Int? = nil) throws -> MentionDraft {
    MentionDraft(address: try JID(address), begin: begin, end: end)
  }

  private func draft(
    _ text: String, _ mentions: [MentionDraft], app: Bool = false, kind: Content.Kind = .text,
    _ reference: ReferenceDraft? = nil
  ) -> RoomMessageDraft {
    RoomMessageDraft(
      content: Content(kind: kind, text: text), envelope: Envelope(type: .groupchat, fromResource: "r"),
      traits: app ? [.counts, .archived, .fromApp] : [.counts, .archived], key: nil, reference: reference,
      mentions: mentions)
  }

  private func said(_ entry: Entry?) throws -> [Mention] {
    guard case .message(let message) = try #require(entry).fact else { return [] }
    return message.mentions
  }

  private func count(_ user: Party, in room: RoomName? = nil, _ stage: Stage) async throws -> Int64 {
    try await stage.parley.read { try $0.mentions(of: user.id, in: room?.dialog) }
  }

  /// Returns the count by reading everything unread.
  private func recount(_ user: Party, in room: RoomName, _ stage: Stage) async throws -> Int64 {
    try await stage.parley.read { reader in
      guard let mark = try reader.mark(user.id, in: room.dialog),
        let member = try reader.member(user.id, of: room.dialog)
      else { return 0 }
      let unread = try reader.history(
        of: room.dialog, after: mark.displayed == .zero ? member.since : mark.displayed, before: .end, limit: 1_000,
        ascending: true)
      return Int64(
        unread.filter { entry in entry.author != user && entry.mentions.contains { $0.party == user } }.count)
    }
  }

  @Test func membersAreFoundByAddressAndByNickWhetherThereOrNot() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let tybalt = try await stage.user("tybalt")
    let room = try await stage.room(by: juliet, with: [(romeo, .member), (nurse, .watcher), (tybalt, .outcast)])
    try await stage.act(
      .members(.dialog(room.dialog), [MemberDraft(address: nurse.address, affiliation: nil, nick: "Old Nurse")]),
      by: juliet)
    let session = try await stage.seats(room, romeo)[0]
    let drafts = try [
      at("juliet@localhost", 0, 6), at("\(room.address)/OLD  nurse", 7, 9), at("\(room.address)/romeo"),
      // Nobody here, banned, a full address, another room, the room itself, a place outside, half a place.
      at("paris@localhost"), at("tybalt@localhost"), at("juliet@localhost/r"),
      at("mantua@\(room.address.domain)/romeo"),
      at("\(room.address)"), at("\(room.address)/tybalt"), at("juliet@elsewhere.example"), at("nurse@localhost", 8, 11),
      at("nurse@localhost", 3, 3), at("nurse@localhost", 3, nil),
    ]
    let entry = try await stage.act(
      .say(.address(room.address), draft("Juliet \u{1F339}\u{1F339}!", drafts)), by: session
    ).entry
    #expect(
      try said(entry) == [
        Mention(party: juliet, name: .address, place: 0..<6), Mention(party: nurse, name: .address, place: 7..<9),
        Mention(party: romeo, name: .address, place: nil), Mention(party: nurse, name: .address, place: nil),
        Mention(party: nurse, name: .address, place: nil), Mention(party: nurse, name: .address, place: nil),
      ])
    #expect(try await count(juliet, in: room, stage) == 1)
    #expect(try await count(nurse, in: room, stage) == 1)
    #expect(try await count(nurse, stage) == 1)
    #expect(try await count(romeo, in: room, stage) == 0)
    #expect(try await count(tybalt, stage) == 0)
  }

  @Test func theAppIsToldWhatIsNoMention() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await stage.user("tybalt")
    let room = try await stage.room(by: juliet, with: [(romeo, .member)])
    func code(_ mentions: [MentionDraft]) async throws -> String? {
      try await problem {
        try await stage.act(.say(.dialog(room.dialog), draft("Romeo", mentions, app: true)), by: juliet)
      }?.code
    }
    let unread = try await stage.unread(romeo)
    for (address, begin, end) in [
      ("romeo@localhost", -1, 2), ("romeo@localhost", 2, 2), ("romeo@localhost", 3, 2), ("romeo@localhost", 0, 6),
      ("romeo@localhost", 0, nil), ("romeo@localhost", nil, 1),
    ] as [(String, Int?, Int?)] {
      #expect(try await code([at(address, begin, end)]) == "mention-misplaced", "\(begin ?? -9)..<\(end ?? -9)")
    }
    #expect(try await code([at("tybalt@localhost", 0, 5)]) == "mention-unknown")
    #expect(try await code([at("nobody@localhost", 0, 5)]) == "mention-unknown")
    #expect(try await stage.unread(romeo) == unread, "nothing was said")
    let many = try Array(repeating: at("romeo@localhost", 0, 5), count: Limits.mentionsMax)
    #expect(try await code(many + [at("romeo@localhost")]) == "too-many-mentions")
    #expect(try await code(many) == nil)
    #expect(try await count(romeo, in: room, stage) == 1)
    let session = try await stage.seats(room, romeo)[0]
    let entry = try await stage.act(
      .say(.address(room.address), draft("x", try many.map { _ in try at("juliet@localhost") } + many)), by: session
    ).entry
    #expect(try said(entry).map(\.party) == Array(repeating: juliet, count: Limits.mentionsMax))
  }

  @Test func hiddenAddressesFindNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let room = try await stage.room(by: juliet, .open, with: [(romeo, .member), (nurse, .member)])
    try await stage.act(
      .members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: nil, nick: "Lady")]), by: juliet
    )
    let paris = try await stage.user("paris")
    let sessions = try await stage.seats(room, romeo, paris)
    let mentions = try [at("juliet@localhost"), at("\(room.address)/lady"), at("\(room.address)/paris")]
    let entry = try await stage.act(.say(.address(room.address), draft("x", mentions)), by: sessions[0]).entry
    // Paris is there and no member.
    #expect(try said(entry) == [Mention(party: juliet, name: .nick("Lady"), place: nil)])
    // An app says members' ids.
    let all = try [at("juliet@localhost"), at("romeo@localhost"), at("nurse@localhost")]
    let names = try said(try await stage.act(.say(.dialog(room.dialog), draft("x", all, app: true)), by: juliet).entry)
      .map(\.name)
    #expect(names.prefix(2) == [.nick("Lady"), .nick("romeo")])
    let reserved = try await stage.member(nurse, of: room)?.nick
    #expect(names.last == reserved.map { Mention.Name.nick($0) } ?? Mention.Name.unnamed)
    #expect(try await count(juliet, in: room, stage) == 1)
    #expect(try await count(nurse, in: room, stage) == 1)
  }

  /// Nor in the app: the answer would tell which member, under which nick, has an address.
  @Test func aUserWhoMayNotSeeAddressesFindsOnlyThemselvesByAddress() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    _ = try await stage.user("tybalt")
    let room = try await stage.room(by: juliet, .open, with: [(romeo, .member), (nurse, .admin)])
    func say(_ name: String, by author: Party) async throws -> [Party] {
      let draft = draft("x", [try at("\(name)@localhost")], app: true)
      return try said(try await stage.act(.say(.dialog(room.dialog), draft), by: author).entry).map(\.party)
    }
    // The answer is the same for a member, a stranger and an unknown user.
    for name in ["juliet", "nurse", "tybalt", "nobody"] {
      #expect(try await problem { _ = try await say(name, by: romeo) }?.code == "mention-unknown", "\(name)")
    }
    for author in [romeo, juliet, nurse] { #expect(try await say("romeo", by: author) == [romeo]) }
  }

  @Test func anEncryptedMessageHasNoPlacesAndAnEmptyOneNoMentions() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: juliet, with: [(romeo, .member)])
    let session = try await stage.seats(room, romeo)[0]
    let secret = try await stage.act(
      .say(.address(room.address), draft("fallback", [try at("juliet@localhost", 0, 2)], kind: .encrypted)), by: session
    )
    #expect(try said(secret.entry) == [Mention(party: juliet, name: .address, place: nil)])
    var silent = draft("", [try at("juliet@localhost")], kind: .none)
    silent.traits = [.archived]
    #expect(try said(try await stage.act(.say(.address(room.address), silent), by: session).entry) == [])
    #expect(try await count(juliet, in: room, stage) == 1)
  }

  @Test func aMentionedUserWhoBlocksTheAuthorIsShownAndDoesNotCount() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let room = try await stage.room(by: juliet, with: [(romeo, .member), (nurse, .member)])
    let session = try await stage.seats(room, romeo)[0]
    let mentions = try [at("juliet@localhost"), at("nurse@localhost")]
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    try await stage.parley.post(.block([BlockPattern(try JID("romeo@localhost/r"))]), by: nurse)
    let entry = try await stage.act(.say(.address(room.address), draft("x", mentions)), by: session).entry
    #expect(try said(entry).map(\.party) == [juliet, nurse])
    #expect(try await count(juliet, in: room, stage) == 0)
    #expect(try await count(nurse, in: room, stage) == 0)
    #expect(try await stage.unread(juliet) == 1)
    try await stage.parley.post(.unblock([]), by: juliet)
    try await stage.act(.say(.address(room.address), draft("x", mentions)), by: session)
    #expect(try await count(juliet, in: room, stage) == 1)
    #expect(try await count(nurse, in: room, stage) == 0)
  }

  @Test func theNewestStateCountsAndNothingTwice() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let room = try await stage.room(by: juliet, with: [(romeo, .member), (nurse, .member)])
    func counts() async throws -> [Int64] {
      [try await count(juliet, in: room, stage), try await count(nurse, in: room, stage)]
    }
    func say(_ mentions: [MentionDraft], _ reference: ReferenceDraft? = nil) async throws -> Entry {
      let intent = RoomIntent.say(.dialog(room.dialog), draft("some text", mentions, app: true, reference))
      return try #require(try await stage.act(intent, by: romeo).entry)
    }
    let one = try await say([try at("juliet@localhost", 0, 4), try at("juliet@localhost", 5, 9)])
    #expect(try await counts() == [1, 0])
    let target = ReferenceDraft.Target.entry(one.id)
    let edit = try await say(
      [try at("nurse@localhost"), try at("juliet@localhost")], ReferenceDraft(kind: .correction, target: target))
    #expect(try await counts() == [1, 1])
    guard case .message(let message) = edit.fact else { return }
    #expect(message.mentions.map(\.party) == [nurse, juliet])
    #expect(message.reference?.outcome?.mentions.map(\.party) == [nurse, juliet])
    _ = try await say([try at("nurse@localhost")], ReferenceDraft(kind: .correction, target: target))
    #expect(try await counts() == [0, 1])
    // An answer is a message of its own.
    _ = try await say([try at("juliet@localhost")], ReferenceDraft(kind: .reply, target: target))
    #expect(try await counts() == [1, 1])
    try await stage.act(
      .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: one.id)), by: nurse)
    #expect(try await counts() == [1, 0])
    // A read message stays read.
    _ = try await say(
      [try at("nurse@localhost"), try at("juliet@localhost")], ReferenceDraft(kind: .correction, target: target))
    #expect(try await counts() == [2, 0])
    _ = try await say([], ReferenceDraft(kind: .correction, target: target))
    #expect(try await counts() == [1, 0])
    _ = try await say([try at("juliet@localhost")], ReferenceDraft(kind: .correction, target: target))
    try await stage.act(
      .say(
        .dialog(room.dialog),
        draft("", [], app: true, kind: .none, ReferenceDraft(kind: .moderation(reason: nil), target: target))),
      by: juliet)
    #expect(try await counts() == [1, 0])
    #expect(try await stage.parley.read { try $0.entry(one.position, in: room.dialog)?.mentions } == [])
  }

  @Test func aPrivateDialogHasTwoToMention() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await stage.user("nurse")
    func said(_ mentions: [MentionDraft], app: Bool) async throws -> Entry? {
      let draft = MessageDraft(
        to: juliet.address, content: Content(kind: .text, text: "Juliet"), envelope: Envelope(type: .chat),
        traits: app ? [.counts, .archived, .fromApp] : [.counts, .archived], key: nil, mentions: mentions)
      return try await stage.parley.post(.message(draft), by: romeo).entry
    }
    let mentions = try [at("juliet@localhost", 0, 6), at("romeo@localhost")]
    let entry = try #require(try await said(mentions, app: true))
    #expect(
      try self.said(entry) == [
        Mention(party: juliet, name: .address, place: 0..<6), Mention(party: romeo, name: .address, place: nil),
      ])
    #expect(try await problem { _ = try await said([at("nurse@localhost")], app: true) }?.code == "mention-unknown")
    #expect(try self.said(try await said([at("nurse@localhost"), at("juliet@localhost/r")], app: false)) == [])
    #expect(try await count(juliet, stage) == 1)
    #expect(try await count(romeo, stage) == 0)
    try await stage.parley.post(
      .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(entry.id))), by: juliet)
    #expect(try await count(juliet, stage) == 0)
  }

  /// After any change, the count is that of the unread messages that mention the member now.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func aRecountSaysTheSame(_ seed: UInt64) async throws {
    var dice = Dice(state: seed)
    let stage = try Stage()
    var people: [Party] = []
    for name in ["juliet", "romeo", "nurse", "paris"] { people.append(try await stage.user(name)) }
    let juliet = people[0]
    let room = try await stage.room(by: juliet, with: people.dropFirst().map { ($0, .member) })
    var messages: [Entry] = []
    var members = Set(people)
    for _ in 0..<120 {
      let who = people[dice.below(people.count)]
      let mentions = try people.filter { members.contains($0) && dice.below(3) == 0 }.map { try at("\($0.address)") }
      let target = messages.isEmpty ? nil : messages[dice.below(messages.count)]
      var intent: RoomIntent?
      var author = who
      func say(_ text: String, _ mentions: [MentionDraft], _ kind: Reference.Kind? = nil) -> RoomIntent {
        .say(
          .dialog(room.dialog),
          draft(
            text, mentions, app: true, kind: text.isEmpty ? .none : .text,
            kind.flatMap { kind in target.map { ReferenceDraft(kind: kind, target: .entry($0.id)) } }))
      }
      switch dice.below(10) {
      case 0...4: intent = say("text", mentions)
      case 5:
        author = target?.author ?? who
        intent = say("anew", mentions, .correction)
      case 6:
        author = target?.author ?? who
        intent = say("", [], dice.below(3) == 0 ? .retraction(reason: nil) : .reactions(["x"]))
      case 7:
        author = juliet
        intent = say("", [], dice.below(3) == 0 ? .moderation(reason: nil) : .reactions(["y"]))
      case 8:
        if let target {
          intent = .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: target.id))
        }
      default:
        guard who != juliet else { break }
        let isMember = members.contains(who)
        try await stage.affiliate(who, isMember ? .none : .member, in: room, by: juliet)
        if isMember { members.remove(who) } else { members.insert(who) }
      }
      if let intent {
        // Refused where they are no member, or what they mean is gone.
        _ = try await problem {
          let entry = try await stage.act(intent, by: author).entry
          if let entry, case .message(let message) = entry.fact, message.sequence > 0 { messages.append(entry) }
        }
      }
      for person in people {
        let (counted, expected) = (try await count(person, in: room, stage), try await recount(person, in: room, stage))
        #expect(counted == expected, "\(person.name) after \(messages.count) messages")
        #expect(try await count(person, stage) == expected)
      }
    }
    #expect(messages.count > 20)
  }

  private struct Dice {
    var state: UInt64
    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }
}
