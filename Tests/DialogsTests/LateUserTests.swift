import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// Users who register a name that others have put into their rosters before.
@Suite struct LateUserTests {
  private func subscription(_ stage: Stage, _ owner: Party, _ address: BareJID) async throws -> Subscription? {
    try await stage.parley.read { try $0.ownContact(of: owner.id, address)?.subscription }
  }

  /// An approval in advance (RFC 6121 3.4) and a request are of the person whom the owner meant.
  @Test(arguments: [SubscriptionAct.subscribed, .subscribe])
  func whatWasSentToNobodyIsVoid(_ act: SubscriptionAct) async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let address = try BareJID("ghost@localhost")
    try await stage.parley.post(.subscription(act, to: address, stanza: nil), by: juliet)
    let ghost = try await stage.user("ghost")
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: ghost)
    try await stage.parley.post(.subscription(.subscribed, to: juliet.address, stanza: nil), by: ghost)
    let asked = try #require(try await subscription(stage, juliet, address))
    #expect(asked.pendingIn && !asked.from && !asked.to && asked.isInRoster)
    #expect(try await subscription(stage, ghost, juliet.address)?.to == false)
    // Her own answer is to this user.
    try await stage.parley.post(.subscription(.subscribed, to: address, stanza: nil), by: juliet)
    #expect(try await subscription(stage, juliet, address)?.from == true)
    #expect(try await subscription(stage, ghost, juliet.address)?.to == true)
  }

  /// Whoever asks or approves again, as a client shows no difference, means the user that there is now.
  @Test func whatIsSentAgainHolds() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let address = try BareJID("ghost@localhost")
    func post(_ act: SubscriptionAct) async throws {
      try await stage.parley.post(.subscription(act, to: address, stanza: nil), by: juliet)
    }
    for act in [SubscriptionAct.subscribe, .subscribed] { try await post(act) }
    let ghost = try await stage.user("ghost")
    for act in [SubscriptionAct.subscribe, .subscribed] { try await post(act) }
    for act in [SubscriptionAct.subscribed, .subscribe] {
      try await stage.parley.post(.subscription(act, to: juliet.address, stanza: nil), by: ghost)
    }
    #expect(try await subscription(stage, juliet, address) == Subscription.both.listed)
    #expect(try await subscription(stage, ghost, juliet.address) == Subscription.both.listed)
  }

  /// The twin: an approval for somebody who exists holds, as RFC 6121 3.4 has it.
  @Test func anApprovalForSomebodyHolds() async throws {
    let stage = try Stage()
    let (juliet, romeo) = (try await stage.user("juliet"), try await stage.user("romeo"))
    try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: juliet)
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    #expect(try await subscription(stage, juliet, romeo.address)?.from == true)
  }

  /// Nor does the approval let the user who comes later have pushes sent to a client of the owner.
  @Test func nobodysPushServiceIsThatOfWhoComesLater() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let approval = Intent.subscription(.subscribed, to: try BareJID("ghost@localhost"), stanza: nil)
    try await stage.parley.post(approval, by: juliet)
    let ghost = try await stage.user("ghost")
    let service = try JID("juliet@localhost/phone")
    func serves() async throws -> Bool {
      try await stage.parley.read { try $0.mayServe(service, asPushServiceOf: ghost) }
    }
    #expect(try await !serves())
    try await stage.parley.post(approval, by: juliet)
    #expect(try await serves())
  }

  /// Where only contacts may write, an item of a name that nobody had does not count, until the owner confirms it.
  @Test func aNameInTheRosterLetsNobodyWriteWhoComesLater() async throws {
    let stage = try Stage()
    let juliet = try await stage.user("juliet")
    let address = try BareJID("ghost@localhost")
    var settings = UserSettingsDraft()
    settings.messagesFrom = .contacts
    try await stage.parley.post(.profile(ProfileDraft(settings: settings)), by: juliet)
    let item = Intent.contact(address: address, name: "A friend", groups: [])
    try await stage.parley.post(item, by: juliet)
    let ghost = try await stage.user("ghost")
    let problem = await #expect(throws: Problem.self) { try await stage.say("boo", from: ghost, to: juliet) }
    #expect(problem?.code == "not-a-contact")
    // A request is no way round.
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: ghost)
    await #expect(throws: Problem.self) { try await stage.say("boo", from: ghost, to: juliet) }
    try await stage.parley.post(item, by: juliet)
    _ = try await stage.say("boo", from: ghost, to: juliet)
  }

  /// What is relayed without the store is decided by the snapshot of the roster, by the same rule.
  @Test func theSnapshotHasTheSameRule() async throws {
    let stage = try Stage()
    let (juliet, romeo) = (try await stage.user("juliet"), try await stage.user("romeo"))
    let (late, elsewhere) = (try BareJID("ghost@localhost"), try BareJID("ghost@mantua.example"))
    for address in [late, elsewhere, romeo.address] {
      try await stage.parley.post(.contact(address: address, name: nil, groups: []), by: juliet)
    }
    _ = try await stage.session(juliet, "phone")
    let snapshot = try #require(stage.parley.hub.contactSnapshot(of: juliet.id))
    #expect(snapshot.hasInRoster(romeo.address) && snapshot.hasInRoster(elsewhere) && !snapshot.hasInRoster(late))
  }
}
