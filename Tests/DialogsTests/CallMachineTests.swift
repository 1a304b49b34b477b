import Addresses
import Basics
import Testing

@testable import Dialogs

/// The actions of users in a call, and the states that follow.
@Suite struct CallMachineTests {
  private static let romeo = Party(id: UserID(1), realm: RealmID(1), address: BareJID(parsing: "romeo@localhost")!)
  private static let juliet = Party(id: UserID(2), realm: RealmID(1), address: BareJID(parsing: "juliet@localhost")!)
  private static let nurse = Party(id: UserID(3), realm: RealmID(1), address: BareJID(parsing: "nurse@localhost")!)
  private static func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1_000) }

  /// Romeo calls Juliet.
  private static func call(
    _ change: (inout Call) -> Void = { _ in }, from caller: Party = romeo, to callee: Party = juliet,
    name: String = "b", isApp: Bool = true
  ) -> Call {
    var call = Call(
      id: Position(7), dialog: DialogID(4), name: name, kind: .audio,
      caller: Call.CallParty(caller, resource: "app-phone", isApp: isApp),
      callee: Call.CallParty(callee, resource: nil, isApp: false), rangAt: at(0), due: at(60))
    change(&call)
    return call
  }

  private static func accepted(_ call: inout Call) {
    call.state = .accepted
    call.acceptedAt = at(5)
    call.callee = Call.CallParty(call.callee.party, resource: "app-tablet", isApp: true)
    call.due = at(5) + Limits.callMax
  }

  private static func ended(_ reason: Call.Reason, at seconds: Int64 = 9) -> (inout Call) -> Void {
    { call in
      call.state = .ended
      call.reason = reason
      call.endedAt = at(seconds)
      call.due = nil
    }
  }

  private static func after(
    _ call: Call, _ move: CallMove, by party: Party, _ resource: String? = "app-tablet", isApp: Bool = true
  ) throws -> Call? {
    try call.after(move, by: party.id, resource: resource, isApp: isApp, at: at(9))?.call
  }

  @Test func itRingsOnceAndForTheCallee() throws {
    let heard = try #require(try Self.after(Self.call(), .heard, by: Self.juliet))
    #expect(heard == Self.call { $0.heardAt = Self.at(9) })
    #expect(try Self.after(heard, .heard, by: Self.juliet) == nil)
    #expect(throws: Problem.callNotYours) { try Self.after(Self.call(), .heard, by: Self.romeo) }
    #expect(try Self.after(Self.call(Self.accepted), .heard, by: Self.juliet) == nil)
  }

  @Test func theFirstDeviceAnswers() throws {
    let (call, act) = try #require(
      try Self.call().after(.accept, by: Self.juliet.id, resource: "app-tablet", isApp: true, at: Self.at(5)))
    #expect(call == Self.call(Self.accepted) && act == .accept)
    #expect(call.media == .sdp && Self.call().media == nil)
    // The same device again, the same resource of another protocol, another device.
    #expect(try Self.after(call, .accept, by: Self.juliet) == nil)
    #expect(throws: Problem.callAnswered) { try Self.after(call, .accept, by: Self.juliet, isApp: false) }
    #expect(throws: Problem.callAnswered) { try Self.after(call, .accept, by: Self.juliet, "app-phone") }
    #expect(throws: Problem.callNotYours) { try Self.after(Self.call(), .accept, by: Self.romeo) }
    #expect(throws: Problem.callEnded) {
      try Self.after(Self.call(Self.ended(.cancelled)), .accept, by: Self.juliet)
    }
  }

  @Test func anXMPPClientMakesItJingle() throws {
    let call = try #require(try Self.after(Self.call(), .accept, by: Self.juliet, "orchard", isApp: false))
    #expect(call.media == .jingle)
    #expect(Self.call(isApp: false).media == .jingle)
  }

  @Test(
    arguments: [
      (juliet, nil, Call.Reason.rejected, CallAct.reject), (juliet, .busy, .busy, .reject),
      (juliet, .crossed, .crossed, .reject), (juliet, .timeout, .rejected, .reject),
      (romeo, nil, .cancelled, .retract), (romeo, .timeout, .timeout, .retract), (romeo, .busy, .cancelled, .retract),
    ] as [(Party, Call.Reason?, Call.Reason, CallAct)])
  func endsWhileItRings(by party: Party, saying reason: Call.Reason?, is expected: Call.Reason, act: CallAct) throws {
    let next = try #require(
      try Self.call().after(.end(reason), by: party.id, resource: nil, isApp: true, at: Self.at(9)))
    #expect(next.call == Self.call(Self.ended(expected)) && next.act == act)
  }

  @Test(
    arguments: [
      (nil, .hungUp), (.hungUp, .hungUp), (.failed, .failed), (.incompatible, .incompatible), (.replaced, .replaced),
      (.rejected, .hungUp), (.busy, .hungUp),
    ] as [(Call.Reason?, Call.Reason)])
  func eitherHangsUp(saying reason: Call.Reason?, is expected: Call.Reason) throws {
    for party in [Self.romeo, Self.juliet] {
      let next = try #require(
        try Self.call(Self.accepted).after(.end(reason), by: party.id, resource: "x", isApp: true, at: Self.at(9)))
      #expect(
        next.call
          == Self.call {
            Self.accepted(&$0)
            Self.ended(expected)(&$0)
          } && next.act == .finish)
    }
  }

  @Test func anEndedCallStaysEnded() throws {
    for reason in Call.Reason.allCases {
      let call = Self.call(Self.ended(reason))
      #expect(try Self.after(call, .end(.failed), by: Self.romeo) == nil)
      #expect(call.expired(at: Self.at(90_000)) == nil)
    }
  }

  @Test func itsTimeIsOver() {
    #expect(Self.call().expired(at: Self.at(59)) == nil)
    let rang = Self.call().expired(at: Self.at(60))
    #expect(rang?.call == Self.call(Self.ended(.timeout, at: 60)) && rang?.act == .retract)
    let stood = Self.call(Self.accepted).expired(at: Self.at(86_405))
    #expect(stood?.call.reason == .failed && stood?.act == .finish && stood?.call.duration == nil)
  }

  @Test func callsThatCountAsMissed() {
    let missed: Set<Call.Reason> = [.cancelled, .busy, .timeout, .failed, .incompatible]
    for reason in Call.Reason.allCases {
      #expect(Self.call(Self.ended(reason)).isMissed == missed.contains(reason))
      let talked = Self.call {
        Self.accepted(&$0)
        Self.ended(reason)(&$0)
      }
      #expect(!talked.isMissed)
    }
  }

  // MARK: More than one

  private static func opening(
    _ calls: [Call], name: String? = nil, isApp: Bool = true, isThere: Bool = true
  ) -> CallOpening {
    CallOpening.of(name: name, isApp: isApp, caller: romeo.id, callee: juliet.id, among: calls) { _ in isThere }
  }

  @Test func bothCallAtOnce() {
    let hers = Self.call(from: Self.juliet, to: Self.romeo, name: "m")
    #expect(Self.opening([hers]) == .answersOther)
    // XEP-0353, "Tie Breaking": the lower name stands.
    #expect(Self.opening([hers], name: "a", isApp: false) == .instead(hers, .crossed))
    #expect(Self.opening([hers], name: "z", isApp: false) == .ends(.crossed))
    #expect(Self.opening([hers], name: "m", isApp: false) == .ends(.crossed))
    // Two XMPP clients settle it between themselves.
    let theirs = Self.call(from: Self.juliet, to: Self.romeo, name: "m", isApp: false)
    #expect(Self.opening([theirs], name: "a", isApp: false) == .rings)
    #expect(Self.opening([theirs]) == .answersOther)
  }

  @Test func aUserInACallIsBusyAsLongAsTheirDeviceIsOnline() {
    let other = Self.call(Self.accepted, from: Self.nurse)
    #expect(Self.opening([other]) == .ends(.busy))
    #expect(Self.opening([other], isThere: false) == .rings)
    // The device of an XMPP client's call is unknown.
    let jingle = Self.call(
      {
        Self.accepted(&$0)
        $0.callee.isApp = false
      }, from: Self.nurse)
    #expect(Self.opening([jingle]) == .rings)
    // A call to the user with whom a call is running replaces that call.
    let own = Self.call(Self.accepted)
    #expect(Self.opening([own]) == .instead(own, .replaced))
    #expect(Self.opening([own, other]) == .ends(.busy))
  }

  @Test func onlySoManyCallersRing() {
    let ringing = (0..<Limits.callsRingingMax).map { number in
      let caller = Party(
        id: UserID(Int64(10 + number)), realm: RealmID(1), address: BareJID(parsing: "c\(number)@localhost")!)
      return Self.call(from: caller, name: "\(number)")
    }
    #expect(Self.opening(ringing.dropLast()) == .rings)
    #expect(Self.opening(ringing) == .ends(.busy))
    // The caller's own earlier call does not count.
    #expect(Self.opening(Array(ringing.dropLast()) + [Self.call()]) == .rings)
  }

  @Test func oneCallerMakesNobodyBusy() {
    let ringing = (0..<Limits.callsRingingMax).map { Self.call(from: Self.nurse, name: "\($0)") }
    #expect(Self.opening(ringing) == .rings)
    #expect(Self.opening((0..<Limits.callsRingingMax).map { Self.call(name: "\($0)") }) == .rings)
  }

  // MARK: The call's message

  @Test func theLogSaysWhatBecameOfIt() {
    let id = PublicID(high: 1, low: 2)
    let missed = CallLog.content(of: Self.call(Self.ended(.timeout)), id: id)
    #expect(
      missed
        == Content(
          kind: .call, text: "Missed audio call",
          fields: #"{"callId":"\#(id)","kind":"audio","reason":"timeout","missed":true}"#))
    let talked = CallLog.content(
      of: Self.call {
        Self.accepted(&$0)
        Self.ended(.hungUp, at: 70)(&$0)
      }, id: id)
    #expect(
      talked
        == Content(
          kind: .call, text: "Audio call, 1:05",
          fields: #"{"callId":"\#(id)","kind":"audio","reason":"ended","missed":false,"durationSeconds":65}"#))
    #expect(CallLog.content(of: Self.call(Self.ended(.rejected)), id: id)?.text == "Audio call, declined")
    #expect(CallLog.content(of: Self.call(Self.ended(.crossed)), id: id) == nil)
    #expect(CallLog.traits(of: Self.call(Self.ended(.timeout))) == [.fromApp, .counts, .archived, .replayed])
    #expect(CallLog.traits(of: Self.call(Self.ended(.timeout), isApp: false)) == [.fromApp, .counts])
    #expect(CallLog.traits(of: Self.call(Self.ended(.rejected))) == [.fromApp])
  }
}
