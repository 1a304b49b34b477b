import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Accounts
@testable import Dialogs

/// Calls as the committer carries them out: time, devices that sleep, what is bounded, what fails.
@Suite struct CallTests {
  private struct Cast {
    let stage: Stage
    let romeo: Party
    let juliet: Party

    init() async throws {
      stage = try Stage(pushes: PushPolicy(providers: [.fcm]))
      romeo = try await stage.user("romeo")
      juliet = try await stage.user("juliet")
      try await befriend(romeo, juliet)
    }

    func befriend(_ one: Party, _ other: Party) async throws {
      try await stage.parley.post(.link(other.address, name: nil, groups: nil, mutual: true), by: one)
    }

    var now: Int64 { stage.clock.now.milliseconds }
    func wait(_ seconds: Int64) { stage.clock.set(now + seconds * 1_000) }

    @discardableResult
    func ring(_ id: String = "c1", from caller: Party? = nil, to callee: Party? = nil) async throws -> Call {
      let receipt = try await stage.parley.post(
        .call(
          .start(
            CallDraft(
              to: (callee ?? juliet).address, kind: .audio, resource: "app-phone",
              key: RepeatKey(rule: .app, id: id, bodyHash: 1)))), by: caller ?? romeo)
      return try #require(receipt.value as? Call)
    }

    @discardableResult
    func move(_ call: Call, _ move: CallMove, by party: Party, _ resource: String = "app-phone") async throws -> Call {
      let receipt = try await stage.parley.post(.call(.move(call.id, move, resource: resource)), by: party)
      return try #require(receipt.value as? Call)
    }

    /// Sends the message of an XMPP client.
    func say(
      _ act: CallAct, _ name: String, from author: Party, _ resource: String, to peer: Party, id: String? = nil
    ) async throws {
      let draft = MessageDraft(
        to: peer.address, content: Content(kind: .none, extras: Array("<\(name)/>".utf8)),
        envelope: Envelope(type: .chat, fromResource: resource, id: id), traits: [.archived],
        key: id.map { RepeatKey(rule: .xmpp, id: $0, bodyHash: 2) })
      try await stage.parley.post(
        .call(.said(CallStanza(message: draft, name: name, act: act, kind: .audio, reason: nil))), by: author)
    }

    func found(_ call: Call) async throws -> Call? { try await stage.parley.read { try $0.call(call.id) } }

    func logged() async throws -> [String] {
      let (one, other) = (min(romeo.id, juliet.id), max(romeo.id, juliet.id))
      return try await stage.parley.read { reader in
        guard let dialog = try reader.dialog(between: one, and: other) else { return [] }
        return try reader.history(of: dialog.id, after: .zero, before: .end, limit: 99, ascending: true).compactMap {
          guard case .message(let message) = $0.fact, message.content.kind == .call else { return nil }
          return message.content.text
        }
      }
    }

    func owed(to user: Party) async throws -> [OwedPush] {
      try await stage.parley.read { try $0.pushesOwed(to: user.id, limit: 9) }
    }

    /// A device for calls of a login.
    func sleep(_ user: Party) async throws {
      let row = try #require(try await stage.parley.read { try $0.user(user.id) })
      let login = try await stage.accounts.logIn(row, device: "phone", client: nil)
      var device = PushDevice(id: "a", provider: .fcm, token: "t", registeredAt: stage.clock.now)
      device.kind = .voip
      _ = try await stage.register(device, by: stage.accounts.caller(accessToken: login.accessToken))
    }
  }

  @Test func itRingsForAMinuteAndEndsOnce() async throws {
    let cast = try await Cast()
    let call = try await cast.ring()
    #expect(await Calls(cast.stage.parley).endDue() == .seconds(60))
    cast.wait(59)
    #expect(await Calls(cast.stage.parley).endDue() == .seconds(1))
    #expect(try await cast.found(call)?.state == .ringing)
    cast.wait(1)
    #expect(await Calls(cast.stage.parley).endDue() == nil)
    #expect(await Calls(cast.stage.parley).endDue() == nil)
    // A second expiry of the same call, which another run saw due at the same time, changes nothing.
    try await cast.stage.parley.post(.call(.expire(call.id)), by: cast.romeo)
    #expect(try await cast.found(call)?.reason == .timeout)
    #expect(try await cast.logged() == ["Missed audio call"])
    await #expect(throws: Problem.self) { try await cast.move(call, .accept, by: cast.juliet) }
  }

  @Test func anAnswerStopsTheTimerForADay() async throws {
    let cast = try await Cast()
    let call = try await cast.ring()
    try await cast.move(call, .accept, by: cast.juliet)
    cast.wait(60)
    #expect(await Calls(cast.stage.parley).endDue() == .seconds(60))
    #expect(try await cast.found(call)?.state == .accepted)
    cast.wait(86_400)
    #expect(await Calls(cast.stage.parley).endDue() == nil)
    #expect(try await cast.found(call)?.reason == .failed)
    #expect(try await cast.logged() == ["Audio call"])
  }

  @Test func oneOfManyConcurrentAnswersIsTheFirst() async throws {
    let cast = try await Cast()
    let call = try await cast.ring()
    let answered = await withTaskGroup(of: Bool.self) { group in
      for device in 0..<20 {
        group.addTask {
          do { return try await cast.move(call, .accept, by: cast.juliet, "app-\(device)").state == .accepted } catch {
            return false
          }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(answered == 1)
  }

  @Test func aCommitThatFailsLeavesNothing() async throws {
    let cast = try await Cast()
    cast.stage.store.failNext(1)
    await #expect(throws: Problem.self) { try await cast.ring() }
    #expect(try await Calls(cast.stage.parley).open(of: cast.juliet).isEmpty)
    let call = try await cast.ring()
    cast.stage.store.failNext(1)
    await #expect(throws: Problem.self) { try await cast.move(call, .end(nil), by: cast.romeo) }
    #expect(try await cast.found(call)?.state == .ringing)
    #expect(try await cast.logged() == [])
    try await cast.move(call, .end(nil), by: cast.romeo)
    #expect(try await cast.logged() == ["Missed audio call"])
  }

  @Test func aRepeatIsTheSameCallWhateverBecameOfIt() async throws {
    let cast = try await Cast()
    let call = try await cast.ring()
    #expect(try await cast.ring().id == call.id)
    try await cast.move(call, .end(nil), by: cast.romeo)
    #expect(try await cast.ring().state == .ended)
    // A clientId that a message has.
    _ = try await cast.stage.say(
      "hi", from: cast.romeo, to: cast.juliet, key: RepeatKey(rule: .app, id: "m", bodyHash: 1))
    await #expect(throws: Problem.self) { try await cast.ring("m") }
  }

  @Test func onlySoManyAtATime() async throws {
    let cast = try await Cast()
    for number in 0..<Limits.callsRingingMax { try await cast.ring("r\(number)") }
    do {
      try await cast.ring("more")
      Issue.record("a fifth call rings")
    } catch let problem as Problem { #expect(problem.code == "too-many-calls") }
    for call in try await Calls(cast.stage.parley).open(of: cast.romeo) {
      try await cast.move(call, .end(nil), by: cast.romeo)
    }
    for number in Limits.callsRingingMax..<Limits.callsPerMinuteMax {
      try await cast.move(cast.ring("r\(number)"), .end(nil), by: cast.romeo)
    }
    do {
      try await cast.ring("too fast")
      Issue.record("an eleventh call in a minute")
    } catch let problem as Problem { #expect(problem.code == "calls-too-fast" && problem.retryAfter == 60) }
    cast.wait(61)
    try await cast.ring("later")
  }

  @Test func aSleepingDeviceIsWokenAndToldOfTheEnd() async throws {
    let cast = try await Cast()
    try await cast.sleep(cast.juliet)
    let call = try await cast.ring()
    #expect(try await cast.owed(to: cast.juliet).map(\.kind) == [.alert])
    try await cast.move(call, .accept, by: cast.juliet, "app-tablet")
    let owed = try await cast.owed(to: cast.juliet)
    #expect(owed.map(\.kind) == [.alert, .callEnd] && owed.last?.subject == call.id)
    // The later end of the call makes no push, and no missed call.
    try await cast.move(call, .end(nil), by: cast.romeo)
    #expect(try await cast.owed(to: cast.juliet).count == 2)
    #expect(try await cast.owed(to: cast.romeo).isEmpty)
  }

  @Test func busyWakesNobodyForTheRingButForTheMessage() async throws {
    let cast = try await Cast()
    let nurse = try await cast.stage.user("nurse")
    try await cast.befriend(nurse, cast.juliet)
    try await cast.move(cast.ring(), .accept, by: cast.juliet, "app-phone")
    _ = try await cast.stage.session(cast.juliet, "app-phone", door: .app)
    let other = try await cast.ring("n", from: nurse)
    #expect(other.state == .ended && other.reason == .busy)
  }

  @Test func theMessagesOfAnXMPPClientMoveTheCall() async throws {
    let cast = try await Cast()
    let app = try await cast.stage.session(cast.juliet, "app-phone", door: .app)
    let commitLoop = try await cast.stage.session(cast.romeo, "desk")
    _ = app.taken()
    try await cast.say(.ring, "a", from: cast.romeo, "orchard", to: cast.juliet, id: "1")
    // The same stanza again, by a client that did not hear of the first.
    try await cast.say(.ring, "a", from: cast.romeo, "orchard", to: cast.juliet, id: "1")
    #expect(app.taken() == [.call(.ring, .ringing, nil, .feed)])
    let call = try #require(try await Calls(cast.stage.parley).open(of: cast.juliet).first)
    try await cast.move(call, .accept, by: cast.juliet)
    #expect(commitLoop.taken() == [.call(.accept, .accepted, nil, .direct)])
    try await cast.say(.finish, "a", from: cast.romeo, "orchard", to: cast.juliet)
    #expect(
      app.taken() == [
        .call(.accept, .accepted, nil, .feed), .call(.finish, .ended, .hungUp, .feed), .said("Audio call, 0:00", .feed),
      ])
    // A repeated end of the call changes nothing, and is passed on.
    try await cast.say(.finish, "a", from: cast.romeo, "orchard", to: cast.juliet)
    #expect(app.taken() == [.said("", .feed)])
    // A message of an unknown call is passed on, and makes no call.
    try await cast.say(.accept, "unknown", from: cast.romeo, "orchard", to: cast.juliet)
    #expect(app.taken() == [.said("", .feed)])
  }

  @Test func strangersAreTurnedAway() async throws {
    let cast = try await Cast()
    let tybalt = try await cast.stage.user("tybalt")
    func refusal(_ body: () async throws -> Void) async -> String? {
      do {
        try await body()
        return nil
      } catch { return (error as? Problem)?.code }
    }
    #expect(await refusal { try await cast.ring("t", from: tybalt) } == "not-a-contact")
    #expect(
      await refusal { try await cast.say(.ring, "t", from: tybalt, "street", to: cast.juliet) } == "not-a-contact")
    // Nothing of it is there: no dialog, no call.
    let juliet = cast.juliet.id
    let dialog = try await cast.stage.parley.read {
      try $0.dialog(between: min(juliet, tybalt.id), and: max(juliet, tybalt.id))
    }
    #expect(dialog == nil)
    try await cast.stage.parley.post(
      .profile(ProfileDraft(settings: UserSettingsDraft(callsFrom: .everybody))), by: cast.juliet)
    #expect(await refusal { try await cast.ring("t", from: tybalt) } == nil)
    try await cast.stage.parley.post(.block([BlockPattern(JID(tybalt.address))]), by: cast.juliet)
    #expect(await refusal { try await cast.ring("t2", from: tybalt) } == "user-unreachable")
    let nobody = Party(id: UserID(99), realm: tybalt.realm, address: try BareJID("nobody@localhost"))
    #expect(await refusal { try await cast.ring("t3", from: tybalt, to: nobody) } == "user-unreachable")
  }

  @Test func aUserWhoGoesOfflineForGoodHangsUp() async throws {
    let cast = try await Cast()
    let session = try await cast.stage.session(cast.juliet, "app-phone", door: .app)
    try await cast.ring()
    _ = session.taken()
    let id = cast.romeo.id
    let romeo = try await cast.stage.parley.read { try $0.user(id) }
    try await cast.stage.accounts.endCalls(of: #require(romeo))
    #expect(
      session.taken() == [.call(.retract, .ended, .cancelled, .feed), .said("Missed audio call", .feed)])
  }

  @Test func bothCallAtOnceAndAnXMPPClientIsAnswered() async throws {
    let cast = try await Cast()
    let orchard = try await cast.stage.session(cast.romeo, "orchard")
    let call = try await cast.ring(from: cast.juliet, to: cast.romeo)
    _ = orchard.taken()
    // Ids are hexadecimal: this name is behind all of them, the other before.
    let draft = MessageDraft(
      to: cast.juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat, fromResource: "orchard"),
      traits: [.archived], key: nil)
    for (name, heard) in [
      ("~", Heard.call(.reject, .ended, .crossed, .direct)), ("!", .call(.retract, .ended, .crossed, .direct)),
    ] {
      let said = CallStanza(message: draft, name: name, act: .ring, kind: .audio, reason: nil)
      let token = orchard.nextToken()
      #expect(
        cast.stage.parley.submit(
          Post(author: cast.romeo, intent: .call(.said(said)), completion: .session(orchard, token: token))))
      await orchard.waitForOutcome(of: token)
      #expect(orchard.taken() == [heard, .done(token)])
    }
    #expect(try await cast.found(call)?.reason == .crossed)
    #expect(try await cast.logged() == [])
    let open = try await Calls(cast.stage.parley).open(of: cast.juliet)
    #expect(open.map(\.name) == ["!"])
  }

  @Test func signalsOfACallReachItsDeviceAlone() async throws {
    let cast = try await Cast()
    let phone = try await cast.stage.session(cast.juliet, "app-phone", door: .app)
    let tablet = try await cast.stage.session(cast.juliet, "app-tablet", door: .app)
    let client = try await cast.stage.session(cast.juliet, "app-tablet")
    let call = try await cast.ring()
    let offer = CallSignal.Body(action: .offer, sdp: "v=0")
    func say() async throws {
      try await cast.stage.parley.post(.call(.signal(call.id, offer, resource: "app-phone")), by: cast.romeo)
    }
    await #expect(throws: Problem.self) { try await say() }
    try await cast.move(call, .accept, by: cast.juliet, "app-tablet")
    for session in [phone, tablet, client] { _ = session.taken() }
    try await say()
    #expect(tablet.taken() == [.signalled(offer)])
    #expect(phone.taken().isEmpty && client.taken().isEmpty)
    cast.stage.parley.hub.unregister(tablet, time: cast.stage.clock.now)
    do {
      try await say()
      Issue.record("it was said to nobody")
    } catch let problem as Problem { #expect(problem.code == "peer-not-connected") }
  }

  @Test func aClientNegotiatesInItsOwnCallWithAnAppAlone() async throws {
    let cast = try await Cast()
    let phone = try await cast.stage.session(cast.romeo, "app-phone", door: .app)
    let client = try await cast.stage.session(cast.juliet, "desk")
    let namesake = try await cast.stage.session(cast.juliet, "desk", door: .app)
    let call = try await cast.ring()
    let offer = CallSignal.Body(action: .offer, sdp: "v=0")
    let answer = CallSignal.Body(action: .answer, sdp: "v=0")
    func negotiate(
      _ act: CallNegotiation.Act, by author: Party? = nil, name: String? = nil, to device: String = "app-phone",
      from resource: String = "desk"
    ) async throws -> String {
      do throws(Problem) {
        let negotiation = CallNegotiation(
          name: name ?? call.name, with: cast.romeo.address, toResource: device, resource: resource, act: act)
        try await cast.stage.parley.post(.call(.negotiation(negotiation)), by: author ?? cast.juliet)
        return "done"
      } catch { return error.code }
    }
    #expect(try await negotiate(.signal(answer)) == "call-unknown")
    try await cast.say(.accept, call.name, from: cast.juliet, "desk", to: cast.romeo)
    for session in [phone, client, namesake] { _ = session.taken() }
    let nurse = try await cast.stage.user("nurse")
    #expect(try await negotiate(.signal(answer), by: nurse) == "call-unknown")
    #expect(try await negotiate(.signal(answer), name: "another") == "call-unknown")
    #expect(try await negotiate(.signal(answer), to: "app-tablet") == "call-unknown")
    #expect(try await negotiate(.end(nil, byApp: false), from: "phone") == "call-unknown")
    #expect(phone.taken().isEmpty)
    #expect(try await negotiate(.signal(answer)) == "done")
    #expect(phone.taken() == [.signalled(answer)])
    try await cast.stage.parley.post(.call(.signal(call.id, offer, resource: "app-phone")), by: cast.romeo)
    #expect(client.taken() == [.signalled(offer)])
    #expect(namesake.taken().isEmpty)
    #expect(try await negotiate(.end(.incompatible, byApp: true)) == "done")
    // For the client it is the app that has ended the call.
    #expect(!client.taken().isEmpty)
    #expect(try await cast.found(call)?.reason == .incompatible)
    #expect(try await negotiate(.end(.failed, byApp: false)) == "done")
    #expect(try await cast.found(call)?.reason == .incompatible)
    #expect(try await negotiate(.signal(answer)) == "call-ended")
  }
}
