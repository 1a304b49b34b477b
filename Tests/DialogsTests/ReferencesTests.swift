import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// The fold: what becomes of a message.
@Suite struct ReferencesTests {
  private static func party(_ number: Int64, _ name: String) -> Party {
    Party(id: UserID(number), realm: RealmID(1), address: BareJID(parsing: "\(name)@localhost")!)  // constants
  }
  private static let romeo = party(1, "romeo")
  private static let juliet = party(2, "juliet")
  private static let nurse = party(3, "nurse")
  private static let time = Timestamp(milliseconds: 1_700_000_000_000)

  private static func said(_ kind: Content.Kind = .text, sequence: Int64 = 1, _ state: MessageState? = nil) -> Entry {
    entry(
      .message(
        Message(
          sequence: sequence, content: Content(kind: kind, text: "Ay me"), envelope: Envelope(id: "m1"), traits: [])),
      state)
  }

  private static func entry(_ fact: Fact, _ state: MessageState? = nil) -> Entry {
    Entry(
      position: Position(5), time: time, dialog: DialogID(1), author: romeo, place: .peer(juliet), fact: fact,
      id: PublicID(high: 0, low: 5), state: state)
  }

  private func fold(
    _ kind: Reference.Kind, _ text: String = "Anew", by actor: Party, mayModerate: Bool = false,
    into state: MessageState? = nil, of target: Entry? = nil
  ) throws(ReferenceRefusal) -> MessageState? {
    try MessageState.folding(
      kind, text: text, by: actor, mayModerate: mayModerate, into: state, of: target ?? Self.said(),
      at: Position((state?.version.number ?? 9) + 1), id: "x", time: Self.time)
  }

  @Test func aReplyChangesNothing() throws {
    #expect(try fold(.reply, by: Self.juliet) == nil)
    #expect(throws: ReferenceRefusal.gone) { try fold(.reply, by: Self.juliet, into: try deleted()) }
  }

  private func deleted() throws -> MessageState { try #require(try fold(.retraction(reason: nil), by: Self.romeo)) }

  @Test func aCorrectionIsItsAuthorsAndTheLastOneCounts() throws {
    let first = try #require(try fold(.correction, "One", by: Self.romeo))
    #expect(
      first == MessageState(version: Position(10), revision: 1, text: "One", editedAt: Self.time, corrections: 1))
    let reacted = try #require(try fold(.reactions(["x"]), by: Self.juliet, into: first))
    let second = try #require(try fold(.correction, "Two", by: Self.romeo, into: reacted))
    #expect(second.text == "Two")
    #expect(second.revision == 3)
    #expect(second.version == Position(12))
    #expect(second.corrections == 2)
    // The reactions of others stay.
    #expect(second.reactions == [.init(user: Self.juliet, emoji: ["x"])])
    #expect(throws: ReferenceRefusal.foreign) { try fold(.correction, by: Self.juliet, mayModerate: true) }
    #expect(throws: ReferenceRefusal.unsuitable) { try fold(.correction, "", by: Self.romeo) }
    #expect(throws: ReferenceRefusal.unsuitable) { try fold(.correction, by: Self.romeo, of: Self.said(.encrypted)) }
  }

  @Test func reactionsReplaceThoseOfTheSamePersonInTheirPlace() throws {
    let one = try #require(try fold(.reactions(["a", "b", "a"]), by: Self.juliet))
    #expect(one.reactions == [.init(user: Self.juliet, emoji: ["a", "b"])])
    let two = try #require(try fold(.reactions(["c"]), by: Self.nurse, into: one))
    let three = try #require(try fold(.reactions(["d"]), by: Self.juliet, into: two))
    #expect(three.reactions == [.init(user: Self.juliet, emoji: ["d"]), .init(user: Self.nurse, emoji: ["c"])])
    let four = try #require(try fold(.reactions([]), by: Self.juliet, into: three))
    #expect(four.reactions == [.init(user: Self.nurse, emoji: ["c"])])
    #expect(try fold(.reactions([]), by: Self.juliet, into: four) == nil)
    #expect(try fold(.reactions([]), by: Self.juliet) == nil)
    // One may react to one's own, and to what is encrypted.
    #expect(try fold(.reactions(["a"]), by: Self.romeo, of: Self.said(.encrypted))?.reactions.count == 1)
  }

  @Test func reactionsAreBounded() throws {
    let long = String(repeating: "x", count: Limits.emojiBytesMax + 1)
    let many = (0..<100).map { "\($0)" }
    let state = try #require(try fold(.reactions(["", long] + many), by: Self.juliet))
    #expect(state.reactions[0].emoji == Array(many.prefix(Limits.reactionsMax)))
    #expect(try fold(.reactions([long]), by: Self.juliet) == nil)
    var full = MessageState(version: Position(9))
    full.reactions = (0..<Limits.reactingUsersMax).map {
      .init(user: Self.party(Int64($0 + 100), "u\($0)"), emoji: ["a"])
    }
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(["a"]), by: Self.juliet, into: full) }
    // A user who has reacted may still change the reaction.
    let changed = try #require(try fold(.reactions(["b"]), by: Self.party(100, "u0"), into: full))
    #expect(changed.reactions.count == Limits.reactingUsersMax)
    #expect(changed.reactions[0].emoji == ["b"])
  }

  /// A message with the reactions of `count` users, who choose 20 emoji each.
  private static func reacted(by count: Int, _ emoji: (_ user: Int, _ each: Int) -> String) -> MessageState {
    var state = MessageState(version: Position(9))
    state.reactions = (0..<count).map { user in
      .init(user: party(Int64(user + 100), "u\(user)"), emoji: (0..<Limits.reactionsMax).map { emoji(user, $0) })
    }
    return state
  }

  @Test func aMessageTakesSoManyDifferentEmoji() throws {
    let full = Self.reacted(by: Limits.differentReactionsMax / Limits.reactionsMax) { "\($0).\($1)" }
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(["new"]), by: Self.juliet, into: full) }
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(["0.0", "new"]), by: Self.juliet, into: full) }
    // Those that are there are everybody's.
    let two = try #require(try fold(.reactions(["0.0", "1.1"]), by: Self.juliet, into: full))
    #expect(two.reactions.last == MessageState.Reaction(user: Self.juliet, emoji: ["0.0", "1.1"]))
    // An emoji in place of one that nobody else has chosen is no further one, and what is removed leaves room.
    let own = (1..<Limits.reactionsMax).map { "0.\($0)" }
    #expect(try fold(.reactions(own + ["new"]), by: Self.party(100, "u0"), into: full) != nil)
    let fewer = try #require(try fold(.reactions(own), by: Self.party(100, "u0"), into: full))
    #expect(try fold(.reactions(["new"]), by: Self.juliet, into: fewer) != nil)
    // A set of several is accepted in the first half alone.
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(["0.1", "new"]), by: Self.juliet, into: fewer) }
    let half = Self.reacted(by: 2) { "\($0).\($1)" }
    let rest = (0..<Limits.differentReactionsMax / 2 - 2 * Limits.reactionsMax).map { "2.\($0)" }
    #expect(try fold(.reactions(rest), by: Self.juliet, into: half) != nil)
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(rest + ["new"]), by: Self.juliet, into: half) }
  }

  @Test func theReactionsOfAMessageHaveABoundOfBytes() throws {
    var state = MessageState(version: Position(9))
    /// Adds users with these emoji until one is refused, and returns how many there were.
    func fill(_ emoji: [String], _ name: String) -> Int {
      for number in 0...Limits.reactingUsersMax {
        let user = Self.party(Int64(1_000 + state.reactions.count), "\(name)\(number)")
        do throws(ReferenceRefusal) {
          if let next = try fold(.reactions(emoji), by: user, into: state) { state = next }
        } catch {
          #expect(error == .full)
          return number
        }
      }
      return -1
    }
    // As many and as long ones as one user may choose take half of the bytes.
    let long = (10..<10 + Limits.reactionsMax).map { "\($0)" + String(repeating: "x", count: Limits.emojiBytesMax - 2) }
    let many = fill(long, "u")
    #expect(many == 7)
    #expect(state.reactionBytes == 7 * 20 * (48 + 64))
    let half = fill(Array(long.prefix(10)), "u")
    #expect(half == 0)
    // Single ones take the other half; what counts are the addresses.
    let single = fill(["👍"], String(repeating: "n", count: 1_000))
    #expect(single == 16)
    #expect(state.reactionBytes <= Limits.reactionsBytesMax)
    // A set takes the place of one as large there, and a larger one does not.
    let other = Array(long.dropLast()) + [String(repeating: "y", count: Limits.emojiBytesMax)]
    #expect(try fold(.reactions(other), by: state.reactions[0].user, into: state) != nil)
    let last = try #require(state.reactions.last?.user)
    #expect(try fold(.reactions(["👎🏽"]), by: last, into: state) != nil)
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(["👍", "👎"]), by: last, into: state) }
    // One emoji of each user that may react fits.
    state = MessageState(version: Position(9))
    let users = fill(["👍🏽"], "user")
    #expect(users == Limits.reactingUsersMax)
    #expect(state.reactions.count == Limits.reactingUsersMax)
  }

  @Test func aMessageHasABoundedNumberOfCorrections() throws {
    var state = try #require(try fold(.correction, by: Self.romeo))
    state.corrections = Limits.correctionsMax - 1
    let last = try #require(try fold(.correction, by: Self.romeo, into: state))
    #expect(last.corrections == Limits.correctionsMax)
    #expect(throws: ReferenceRefusal.corrected) { try fold(.correction, by: Self.romeo, into: last) }
    // Whose message it is not learns nothing of that.
    #expect(throws: ReferenceRefusal.foreign) { try fold(.correction, by: Self.juliet, into: last) }
    #expect(try fold(.reactions(["a"]), by: Self.juliet, into: last)?.corrections == Limits.correctionsMax)
    #expect(try fold(.retraction(reason: nil), by: Self.romeo, into: last)?.retraction != nil)
  }

  @Test func reactionsBeyondTheBoundsDoNotGetMore() throws {
    let long = String(repeating: "x", count: 50)
    let old = Self.reacted(by: Limits.reactingUsersMax) { "\($0).\($1).\(long)" }
    let user = Self.party(100, "u0")
    #expect(try fold(.reactions([]), by: user, into: old)?.reactions.count == Limits.reactingUsersMax - 1)
    let own = old.reactions[0].emoji
    #expect(try fold(.reactions(Array(own.dropLast())), by: user, into: old)?.reactions[0].emoji.count == own.count - 1)
    #expect(try fold(.reactions(Array(own.dropLast()) + ["new"]), by: user, into: old) != nil)
    // One that is longer, and one more that is new although it is shorter.
    let longer = Array(own.dropLast()) + [String(repeating: "y", count: Limits.emojiBytesMax)]
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(longer), by: user, into: old) }
    var shared = old
    shared.reactions[1] = .init(user: old.reactions[1].user, emoji: own)
    #expect(throws: ReferenceRefusal.full) { try fold(.reactions(["new"]), by: old.reactions[1].user, into: shared) }
    #expect(try fold(.reactions([own[0]]), by: old.reactions[1].user, into: shared) != nil)
  }

  @Test func nothingLeavesATombstone() throws {
    let edited = try #require(try fold(.correction, by: Self.romeo))
    let gone = try #require(try fold(.retraction(reason: "why"), by: Self.romeo, into: edited))
    #expect(
      gone
        == MessageState(
          version: Position(11), revision: 2,
          retraction: .init(by: Self.romeo, at: Self.time, id: "x", reason: "why", isModeration: false)))
    let kinds: [Reference.Kind] = [
      .reply, .correction, .reactions(["a"]), .retraction(reason: nil), .moderation(reason: nil),
    ]
    for kind in kinds {
      #expect(throws: ReferenceRefusal.gone) { try fold(kind, by: Self.romeo, mayModerate: true, into: gone) }
    }
  }

  @Test func onlyTheAuthorRetractsAndOnlyModeratorsModerate() throws {
    #expect(throws: ReferenceRefusal.foreign) { try fold(.retraction(reason: nil), by: Self.juliet, mayModerate: true) }
    #expect(throws: ReferenceRefusal.foreign) { try fold(.moderation(reason: nil), by: Self.juliet) }
    #expect(throws: ReferenceRefusal.foreign) { try fold(.moderation(reason: nil), by: Self.romeo) }
    let gone = try #require(try fold(.moderation(reason: nil), by: Self.juliet, mayModerate: true))
    #expect(gone.retraction?.isModeration == true)
    #expect(gone.retraction?.by == Self.juliet)
  }

  @Test func aHiddenEntryCannotBeReferredTo() {
    let stanza = Self.said(.none, sequence: 0)
    let note = Self.entry(.dialogOpened)
    for target in [stanza, note] {
      #expect(throws: ReferenceRefusal.unsuitable) { try fold(.reactions(["a"]), by: Self.romeo, of: target) }
    }
  }
}

/// The same through the log: entries, deliveries and counters.
@Suite struct ReferencePostTests {
  /// Says something about an earlier message.
  private func refer(
    _ kind: Reference.Kind, _ target: ReferenceDraft.Target, text: String = "", id: String? = nil, isApp: Bool = false,
    from author: Party, to peer: Party, _ stage: Stage
  ) async throws -> Entry {
    let draft = MessageDraft(
      to: peer.address, content: Content(kind: text.isEmpty ? .none : .text, text: text),
      envelope: Envelope(type: .chat, id: id),
      traits: isApp ? [.archived, .fromApp] : text.isEmpty ? [.archived] : [.counts, .archived, .replayed],
      key: id.map { RepeatKey(rule: .xmpp, id: $0, bodyHash: 1) },
      reference: ReferenceDraft(kind: kind, target: target))
    return try #require(try await stage.parley.post(.message(draft), by: author).entry)
  }

  private func said(
    _ text: String, _ id: String, from author: Party, to peer: Party, _ stage: Stage
  ) async throws -> Entry {
    let draft = MessageDraft(
      to: peer.address, content: Content(kind: .text, text: text), envelope: Envelope(type: .chat, id: id),
      traits: [.counts, .archived, .replayed], key: RepeatKey(rule: .xmpp, id: id, bodyHash: 0))
    return try #require(try await stage.parley.post(.message(draft), by: author).entry)
  }

  private func reference(_ entry: Entry) -> Reference? {
    guard case .message(let message) = entry.fact else { return nil }
    return message.reference
  }

  private func sequence(_ entry: Entry) -> Int64? {
    guard case .message(let message) = entry.fact else { return nil }
    return message.sequence
  }

  @Test func changesCountForNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let one = try await said("one", "1", from: romeo, to: juliet, stage)
    func unread() async throws -> Int64 { try await stage.parley.read { try $0.unread(of: juliet.id) } }
    #expect(try await unread() == 1)
    for entry in [
      try await refer(.correction, .stanza("1"), text: "One", id: "2", from: romeo, to: juliet, stage),
      try await refer(.reactions(["a"]), .entry(one.id), isApp: true, from: romeo, to: juliet, stage),
    ] {
      #expect(sequence(entry) == 0)
    }
    #expect(try await unread() == 1)
    let retraction = try await refer(
      .retraction(reason: nil), .stanza("1"), text: "/me", id: "3", from: romeo, to: juliet, stage)
    #expect(sequence(retraction) == 0)
    // The retracted message counts no more.
    #expect(try await unread() == 0)
    _ = try await said("two", "4", from: romeo, to: juliet, stage)
    #expect(try await unread() == 1)
    // A recount by a marker says the same.
    try await stage.parley.post(
      .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(one.id))), by: juliet)
    #expect(try await unread() == 1)
    let last = try await said("three", "5", from: romeo, to: juliet, stage)
    #expect(try await unread() == 2)
    try await stage.parley.post(
      .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(last.id))), by: juliet)
    #expect(try await unread() == 0)
    #expect(sequence(last) == 3)
  }

  @Test func theOutcomeIsToldAsItHappensAlsoWhereNothingChanged() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let one = try await said("one", "1", from: romeo, to: juliet, stage)
    let first = try await refer(.reactions(["a"]), .stanza("1"), from: juliet, to: romeo, stage)
    #expect(reference(first)?.outcome?.state?.revision == 1)
    #expect(reference(first)?.targetStanzaID == "1")
    _ = try await refer(.reactions([]), .stanza("1"), from: juliet, to: romeo, stage)
    let nothing = try await refer(.reactions([]), .stanza("1"), from: juliet, to: romeo, stage)
    #expect(reference(nothing)?.outcome?.position == one.position)
    #expect(reference(nothing)?.outcome?.state?.revision == 2)
    let untouched = try await said("two", "2", from: romeo, to: juliet, stage)
    let still = try await refer(.reactions([]), .stanza("2"), from: juliet, to: romeo, stage)
    #expect(reference(still)?.outcome?.position == untouched.position)
    let reply = try await refer(.reply, .stanza("1"), text: "yes", from: juliet, to: romeo, stage)
    #expect(sequence(reply) == 3)
    let answer = try #require(reference(reply))
    #expect(answer.outcome == nil)
  }

  @Test func aStanzaIsKeptWhereTheAppIsRefused() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let one = try await said("one", "1", from: romeo, to: juliet, stage)
    let forged = try await refer(.correction, .stanza("1"), text: "lies", id: "2", from: juliet, to: romeo, stage)
    #expect(reference(forged) == nil)
    #expect(sequence(forged) == 2)
    let byID = try await refer(
      .correction, .stanza(one.id.description), text: "lies", id: "3", from: juliet, to: romeo, stage)
    #expect(reference(byID) == nil)
    func code(_ kind: Reference.Kind, _ id: PublicID, _ text: String = "", by author: Party) async throws -> String? {
      do {
        _ = try await refer(
          kind, .entry(id), text: text, isApp: true, from: author, to: author.id == romeo.id ? juliet : romeo, stage)
        return nil
      } catch let problem as Problem { return problem.code }
    }
    #expect(try await code(.correction, one.id, "lies", by: juliet) == "message-foreign")
    #expect(try await code(.moderation(reason: nil), one.id, by: juliet) == "message-foreign")
    #expect(try await code(.reactions(["a"]), PublicID(high: 1, low: 2), by: juliet) == "message-unknown")
    #expect(try await code(.retraction(reason: nil), one.id, by: romeo) == nil)
    #expect(try await code(.retraction(reason: nil), one.id, by: romeo) == "message-deleted")
    #expect(try await code(.reply, one.id, "yes", by: juliet) == "message-deleted")
  }

  @Test func aCorrectionTooManyIsRefusedInBothDoors() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let one = try await said("one", "1", from: romeo, to: juliet, stage)
    let first = try await refer(.correction, .stanza("1"), text: "uno", id: "2", from: romeo, to: juliet, stage)
    var full = try #require(reference(first)?.outcome?.state)
    #expect(full.corrections == 1)
    full.corrections = Limits.correctionsMax
    let state = full
    try await stage.parley.work { try $0.put(state, of: one.position, in: one.dialog) }
    let ofApp = try await problem {
      _ = try await refer(.correction, .entry(one.id), text: "un", isApp: true, from: romeo, to: juliet, stage)
    }
    #expect(ofApp?.kind == .tooLarge && ofApp?.code == "too-many-corrections" && ofApp?.field == "messageId")
    let ofClient = try await problem {
      _ = try await refer(.correction, .stanza("1"), text: "un", id: "3", from: romeo, to: juliet, stage)
    }
    #expect(ofClient?.kind == .tooLarge && ofClient?.code == "too-many-corrections")
    let found = try await stage.parley.read { try $0.entry(one.position, in: .server(one.dialog, .rules)) }
    #expect(found?.state == state)
    let gone = try await refer(.retraction(reason: nil), .stanza("1"), id: "4", from: romeo, to: juliet, stage)
    #expect(reference(gone)?.outcome?.state?.retraction != nil)
    let closed = try await stage.parley.read { try $0.entry(first.position, in: .server(one.dialog, .rules)) }
    #expect(closed?.state?.retraction?.id == "4")
  }

  /// What refers to a message repeats its id, and so does a tombstone: a long one would be stored many times.
  @Test func aLongStanzaIDIsKeptOnce() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let id = String(repeating: "x", count: Limits.stanzaIDBytesMax)
    let one = try await said("one", id, from: romeo, to: juliet, stage)
    let answer = try await refer(.reply, .entry(one.id), text: "yes", isApp: true, from: juliet, to: romeo, stage)
    #expect(reference(answer)?.targetStanzaID == id)
    let two = try await said("two", id + "y", from: romeo, to: juliet, stage)
    #expect(two.fact.stanza?.envelope.id == id + "y")
    let other = try await refer(.reply, .entry(two.id), text: "no", isApp: true, from: juliet, to: romeo, stage)
    #expect(reference(other)?.target == two.position && reference(other)?.targetStanzaID == nil)
    let gone = try await refer(
      .retraction(reason: nil), .stanza(two.id.description), id: id + "z", from: romeo, to: juliet, stage)
    #expect(reference(gone)?.outcome?.state?.retraction?.id == gone.id.description)
  }

  @Test func aReactionTooManyIsRelayedWhereTheAppIsRefused() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let one = try await said("one", "1", from: romeo, to: juliet, stage)
    var full = MessageState(version: one.position, revision: 1)
    full.reactions = try await stage.crowd(Limits.differentReactionsMax / Limits.reactionsMax).map { user in
      .init(user: user, emoji: (0..<Limits.reactionsMax).map { "\(user.id.number).\($0)" })
    }
    let state = full
    try await stage.parley.work { try $0.put(state, of: one.position, in: one.dialog) }
    let refused = try await problem {
      _ = try await refer(.reactions(["new"]), .entry(one.id), isApp: true, from: juliet, to: romeo, stage)
    }
    #expect(refused?.kind == .tooLarge && refused?.code == "too-many-reactions" && refused?.field == "emoji")
    // It remains a reaction of the stanza's, and no message to read, although it has a text for older clients.
    let relayed = try await refer(.reactions(["new"]), .stanza("1"), text: "new", from: juliet, to: romeo, stage)
    #expect(reference(relayed)?.kind == .reactions(["new"]))
    #expect(reference(relayed)?.outcome?.state == state)
    #expect(sequence(relayed) == 0)
    let known = state.reactions[0].emoji[0]
    let accepted = try await refer(.reactions([known]), .entry(one.id), isApp: true, from: juliet, to: romeo, stage)
    let last = reference(accepted)?.outcome?.state?.reactions.last
    #expect(last == MessageState.Reaction(user: juliet, emoji: [known]))
  }

  @Test func aCorrectionsIDMeansWhatItCorrects() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let one = try await said("one", "1", from: romeo, to: juliet, stage)
    let correction = try await refer(.correction, .stanza("1"), text: "uno", id: "2", from: romeo, to: juliet, stage)
    let again = try await refer(.correction, .stanza("2"), text: "un", id: "3", from: romeo, to: juliet, stage)
    #expect(reference(again)?.target == one.position)
    #expect(reference(again)?.outcome?.state?.text == "un")
    let reaction = try await refer(
      .reactions(["a"]), .stanza(correction.id.description), from: juliet, to: romeo, stage)
    #expect(reference(reaction)?.target == one.position)
  }

  /// XEP-0424 4: the id that clients see on the retraction.
  @Test func aTombstoneNamesWhatMadeIt() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for (number, isApp) in [false, true].enumerated() {
      let one = try await said("\(number)", "m\(number)", from: romeo, to: juliet, stage)
      let retraction = try await refer(
        .retraction(reason: String(repeating: "x", count: 5_000)), .entry(one.id), id: isApp ? nil : "r",
        isApp: isApp, from: romeo, to: juliet, stage)
      let state = try #require(reference(retraction)?.outcome?.state?.retraction)
      #expect(state.id == (isApp ? retraction.id.description : "r"))
      #expect(state.reason?.utf8.count == Limits.reasonBytesMax)
    }
  }
}
