import Crypto
import NIOCore
import Testing
import XMLStream

@testable import XMPP

/// XEP-0124 1.11.2, XEP-0206 1.4. Times are in milliseconds; the session begins at 0 with request 100.
@Suite struct BOSHMachineTests {
  private func request(
    _ rid: Int64, _ attributes: String = "sid='s'", _ payload: String = ""
  ) throws -> BOSHRequest {
    let start = "<body xmlns='\(NS.httpBind)' xmlns:xmpp='\(NS.xbosh)' rid='\(rid)'"
    return try BOSHRequest(Element(parsing: "\(start) \(attributes)>\(payload)</body>".utf8, defaultNamespace: ""))
  }

  private func header(_ to: String? = nil) -> StreamHeader {
    StreamHeader(framed: Element(Name("open", NS.framing), ["to": to, "version": "1.0"]))
  }

  private let presence = "<presence xmlns='jabber:client'/>"

  private func said(_ text: String) -> ByteBuffer { ByteBuffer(string: "<message>\(text)</message>") }

  private func sha1(_ text: String) -> String {
    Insecure.SHA1.hash(data: Array(text.utf8)).map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
  }

  private static func agreed(wait: Int = 60, hold: Int = 1) -> BOSHSession {
    BOSHSession(
      sid: "s", rid: 100, wait: wait, hold: hold, requests: hold + 1, inactivity: 60, polling: 2, pauseMax: 120,
      version: "1.11", from: "d")
  }

  /// A session whose first request, exchange 0, has been answered.
  private func session(_ attributes: String = "wait='60' hold='1'") throws -> BOSHMachine {
    let first = try request(100, "to='d' \(attributes)")
    var machine = BOSHMachine(first, sid: "s", policy: BOSHPolicy(), now: 0)
    #expect(machine.received(first, as: 0, now: 0) == [.open(header("d"))])
    #expect(machine.answer(now: 0).count == 1)
    return machine
  }

  // MARK: The session

  @Test(arguments: [
    ("wait='60' hold='1' ver='1.6'", agreed(), "1.6"), ("wait='3600' hold='9' ver='2.0'", agreed(), "1.11"),
    ("wait='10' hold='1' ver='1.12'", agreed(wait: 10), "1.11"), ("ver='1.10'", agreed(), "1.10"),
    ("wait='0' hold='1'", agreed(wait: 0, hold: 0), "1.11"), ("wait='30' hold='0'", agreed(wait: 30, hold: 0), "1.11"),
  ])
  func theNegotiatedParameters(attributes: String, expected: BOSHSession, version: String) throws {
    let first = try request(100, "to='d' \(attributes)")
    var machine = BOSHMachine(first, sid: "s", policy: BOSHPolicy(), now: 0)
    #expect(machine.received(first, as: 0, now: 0) == [.open(header("d"))])
    machine.say(said("features"))
    var expected = expected
    expected.version = version
    #expect(machine.answer(now: 0) == [.answer(0, BOSHResponse(session: expected, payloads: [said("features")]))])
  }

  @Test func theFirstResponseIsNotHeld() throws {
    let first = try request(100, "to='d' hold='1' wait='60'")
    var machine = BOSHMachine(first, sid: "s", policy: BOSHPolicy(), now: 0)
    _ = machine.received(first, as: 0, now: 0)
    #expect(machine.answer(now: 0) == [.answer(0, BOSHResponse(session: Self.agreed()))])
  }

  @Test func aRestartOpensTheStreamAgain() throws {
    var machine = try session()
    // XEP-0206 5: what is in it does not count.
    let restart = try request(101, "sid='s' to='d' xmpp:restart='true'", presence)
    #expect(machine.received(restart, as: 1, now: 0) == [.open(header("d"))])
  }

  // MARK: Holding

  @Test func stanzasLeaveWithTheOldestRequest() throws {
    var machine = try session()
    #expect(machine.received(try request(101), as: 1, now: 0).isEmpty)
    #expect(machine.answer(now: 0).isEmpty)
    #expect(machine.deadline == 60_000)
    machine.say(said("a"))
    machine.say(said("b"))
    #expect(machine.queuedBytes == 40)
    #expect(machine.answer(now: 1) == [.answer(1, BOSHResponse(payloads: [said("a"), said("b")]))])
    #expect(machine.queuedBytes == 0 && machine.answer(now: 1).isEmpty)
    machine.say(said("c"))
    #expect(machine.answer(now: 2).isEmpty)
    #expect(machine.received(try request(102), as: 2, now: 5_000).isEmpty)
    #expect(machine.answer(now: 5_000) == [.answer(2, BOSHResponse(payloads: [said("c")]))])
  }

  @Test func aNewRequestFreesTheOldOne() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    let stanza = try Element(parsing: presence.utf8)
    #expect(machine.received(try request(102, "sid='s'", presence), as: 2, now: 10) == [.deliver(stanza)])
    // 9.1: what has come besides the request that is answered.
    #expect(machine.answer(now: 10) == [.answer(1, BOSHResponse(ack: 102))])
    #expect(machine.deadline == 60_010)
  }

  @Test func waitingEnds() throws {
    var machine = try session("wait='20' hold='1'")
    _ = machine.received(try request(101), as: 1, now: 1_000)
    #expect(machine.deadline == 21_000)
    #expect(machine.passed(now: 20_999).isEmpty)
    #expect(machine.passed(now: 21_000) == [.answer(1, BOSHResponse())])
    // 10: and then the client has to ask again.
    #expect(machine.deadline == 81_000)
    #expect(machine.passed(now: 81_000) == [.over])
    #expect(machine.deadline == nil)
    #expect(
      machine.received(try request(102), as: 2, now: 81_001)
        == [.answer(2, BOSHResponse(.terminated(.itemNotFound)))])
  }

  @Test func aBusyStreamKeepsRequests() throws {
    var machine = try session()
    _ = machine.received(try request(101, "sid='s'", presence), as: 1, now: 0)
    _ = machine.received(try request(102, "sid='s'", presence), as: 2, now: 0)
    #expect(machine.answer(now: 0, isBusy: true).isEmpty)
    // 11: who sends more than they may is none that can be served.
    let outputs = machine.received(try request(103, "sid='s'", presence), as: 3, now: 0)
    let refused = BOSHResponse(.terminated(.policyViolation))
    #expect(outputs == [.answer(1, refused), .answer(2, refused), .answer(3, refused), .over])
  }

  @Test func aLongQueueTakesSeveralResponses() throws {
    var policy = BOSHPolicy()
    policy.responseBytesMax = 40
    let first = try request(100, "to='d'")
    var machine = BOSHMachine(first, sid: "s", policy: policy, now: 0)
    _ = machine.received(first, as: 0, now: 0)
    _ = machine.answer(now: 0)
    for text in ["a", "b", "c"] { machine.say(said(text)) }
    machine.say(said(String(repeating: "x", count: 100)))
    let pages = [[said("a"), said("b")], [said("c")], [said(String(repeating: "x", count: 100))]]
    for (rid, expected) in pages.enumerated() {
      _ = machine.received(try request(101 + Int64(rid)), as: 1 + rid, now: 5_000 * rid)
      #expect(machine.answer(now: 5_000 * rid) == [.answer(1 + rid, BOSHResponse(payloads: expected))])
    }
  }

  // MARK: Order

  @Test func requestsCountInTheirOrder() throws {
    var machine = try session()
    #expect(machine.received(try request(102, "sid='s'", "<iq xmlns='jabber:client'/>"), as: 2, now: 0).isEmpty)
    #expect(machine.answer(now: 0).isEmpty)
    let outputs = machine.received(try request(101, "sid='s'", presence), as: 1, now: 0)
    #expect(
      try outputs == [
        .deliver(Element(parsing: presence.utf8)), .deliver(Element(parsing: "<iq/>".utf8)),
      ])
    #expect(machine.answer(now: 0) == [.answer(1, BOSHResponse(ack: 102))])
  }

  @Test func beyondTheWindowIsTheEnd() throws {
    var machine = try session()
    _ = machine.received(try request(102), as: 2, now: 0)
    let response = BOSHResponse(.terminated(.itemNotFound))
    #expect(machine.received(try request(103), as: 3, now: 0) == [.answer(3, response), .answer(2, response), .over])
  }

  // MARK: Again

  @Test func aLostResponseIsSentAgain() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    machine.say(said("a"))
    let response = BOSHResponse(payloads: [said("a")])
    #expect(machine.answer(now: 0) == [.answer(1, response)])
    #expect(machine.received(try request(101), as: 2, now: 0) == [.answer(2, response)])
    // Once it is known to have arrived, nobody asks for it.
    _ = machine.received(try request(102, "sid='s' ack='101'", presence), as: 3, now: 0)
    let end = BOSHResponse(.terminated(.itemNotFound))
    #expect(machine.received(try request(101), as: 4, now: 0) == [.answer(3, end), .answer(4, end), .over])
  }

  @Test func aHeldRequestMovesToItsRepetition() throws {
    var machine = try session()
    _ = machine.received(try request(101, "sid='s'", presence), as: 1, now: 0)
    // The stanza of a repeated request is not delivered twice.
    #expect(
      machine.received(try request(101, "sid='s'", presence), as: 2, now: 0) == [.answer(1, BOSHResponse(.repeated))])
    machine.say(said("a"))
    #expect(machine.answer(now: 0) == [.answer(2, BOSHResponse(payloads: [said("a")]))])
  }

  @Test func anEarlyRequestMovesToo() throws {
    var machine = try session()
    _ = machine.received(try request(102), as: 1, now: 0)
    #expect(machine.received(try request(102), as: 2, now: 0) == [.answer(1, BOSHResponse(.repeated))])
  }

  /// A client that sends one number again and again gets one answer for each request, is heard once, and keeps nothing but the
  /// last of its connections.
  @Test func oneNumberAThousandTimes() throws {
    var machine = try session()
    var answered: [Int] = []
    var delivered = 0
    func note(_ outputs: [BOSHOutput]) {
      for output in outputs {
        if case .answer(let exchange, _) = output { answered.append(exchange) }
        if case .deliver = output { delivered += 1 }
      }
    }
    // While it is held, with another content each time.
    for exchange in 1...1_000 {
      note(machine.received(try request(101, "sid='s'", presence + presence), as: exchange, now: 0))
      note(machine.answer(now: 0))
    }
    #expect(delivered == 2 && answered == Array(1...999))
    machine.say(said("a"))
    #expect(machine.answer(now: 0) == [.answer(1_000, BOSHResponse(payloads: [said("a")]))])
    // When it has been answered: the same bytes, and nothing new with them.
    machine.say(said("b"))
    for exchange in 1_001...2_000 {
      #expect(
        machine.received(try request(101, "sid='s'", presence), as: exchange, now: 0)
          == [.answer(exchange, BOSHResponse(payloads: [said("a")]))])
      #expect(machine.answer(now: 0).isEmpty)
    }
    // Ahead of the others, and with its connections gone.
    answered = []
    for exchange in 2_001...3_000 {
      note(machine.received(try request(103, "sid='s'", presence), as: exchange, now: 0))
      note(machine.abandoned(exchange, now: 0))
    }
    #expect(delivered == 2 && answered == Array(2_001...2_999))
    note(machine.received(try request(102, "sid='s'", presence), as: 3_001, now: 0))
    note(machine.answer(now: 0))
    #expect(delivered == 4 && answered.suffix(2).sorted() == [3_000, 3_001])
    #expect(machine.queuedBytes == 0)
  }

  /// 14.2, 14.3: neither what is long gone nor what is far ahead.
  @Test(arguments: [1, 99, 104, BOSHRequest.ridMax]) func numbersOutsideTheWindowAreTheEnd(rid: Int64) throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    let end = BOSHResponse(.terminated(.itemNotFound))
    #expect(machine.received(try request(rid), as: 2, now: 0) == [.answer(1, end), .answer(2, end), .over])
    #expect(machine.received(try request(102), as: 3, now: 0) == [.answer(3, end)])
  }

  @Test func onlySoManyResponsesAreKept() throws {
    var machine = try session()
    for rid in Int64(101)...103 {
      _ = machine.received(try request(rid, "sid='s'", presence), as: Int(rid), now: 0)
      machine.say(said("a"))
      _ = machine.answer(now: 0)
    }
    let end = BOSHResponse(.terminated(.itemNotFound))
    #expect(machine.received(try request(101), as: 200, now: 0) == [.answer(200, end), .over])
  }

  /// 14.3: a client in debt does not get round what it is charged for by requests that are answered at once. One on a bad line may
  /// repeat some.
  @Test(arguments: [true, false]) func whatBringsNothingIsBoundedInDebt(isRepeated: Bool) throws {
    var machine = try session()
    let most = BOSHPolicy().nothingInDebtMax
    var (rid, exchange) = (Int64(101), 0)
    func ask(isInDebt: Bool) throws -> [BOSHOutput] {
      exchange += 1
      if !isRepeated { rid += 1 }
      return machine.received(try request(rid, "sid='s' pause='9'"), as: exchange, now: 0, isInDebt: isInDebt)
    }
    _ = machine.received(try request(101, "sid='s' pause='9'"), as: 0, now: 0)
    for _ in 0..<2 {
      // One out of debt begins anew, and counts as the first.
      for count in 0..<most {
        let outputs = try ask(isInDebt: count > 0)
        #expect(outputs == [.answer(exchange, BOSHResponse())])
      }
    }
    let end = try ask(isInDebt: true)
    #expect(end == [.answer(exchange, BOSHResponse(.terminated(.policyViolation))), .over])
  }

  // MARK: Connections that are gone

  /// What is to be sent waits for a connection that somebody reads; the request itself can be repeated (14.3).
  @Test func aRequestWithoutItsConnectionIsNotHeld() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    #expect(machine.abandoned(1, now: 1_000) == [.answer(1, BOSHResponse())])
    machine.say(said("a"))
    #expect(machine.answer(now: 1_000).isEmpty)
    // 10: nothing is held from then on.
    #expect(machine.deadline == 61_000)
    #expect(machine.received(try request(101), as: 2, now: 1_000) == [.answer(2, BOSHResponse())])
    _ = machine.received(try request(102), as: 3, now: 1_001)
    #expect(machine.answer(now: 1_001) == [.answer(3, BOSHResponse(payloads: [said("a")]))])
    #expect(machine.abandoned(3, now: 1_002).isEmpty && machine.abandoned(99, now: 1_002).isEmpty)
  }

  /// 11, 12: neither too many nor too often.
  @Test func requestsWithoutTheirConnectionsDoNotCount() throws {
    var machine = try session()
    for rid in 1...4 {
      #expect(machine.received(try request(100 + Int64(rid)), as: rid, now: rid).isEmpty)
      #expect(machine.abandoned(rid, now: rid) == [.answer(rid, BOSHResponse())])
    }
  }

  @Test func anEarlyRequestWithoutItsConnectionIsTakenAndNotHeld() throws {
    var machine = try session()
    #expect(machine.received(try request(102, "sid='s'", presence), as: 2, now: 0).isEmpty)
    #expect(machine.abandoned(2, now: 0).isEmpty)
    #expect(
      try machine.received(request(101), as: 1, now: 0) == [
        .deliver(Element(parsing: presence.utf8)), .answer(2, BOSHResponse()),
      ])
    #expect(machine.answer(now: 0).isEmpty)
    machine.say(said("a"))
    #expect(machine.answer(now: 0) == [.answer(1, BOSHResponse(ack: 102, payloads: [said("a")]))])
  }

  // MARK: Polling and pauses

  @Test func pollingTooOftenIsTheEnd() throws {
    var machine = try session("wait='0' hold='0'")
    #expect(machine.received(try request(101), as: 1, now: 0).isEmpty)
    #expect(machine.answer(now: 0) == [.answer(1, BOSHResponse())])
    let end = BOSHResponse(.terminated(.policyViolation))
    #expect(machine.received(try request(102), as: 2, now: 1_999) == [.answer(2, end), .over])
  }

  @Test func pollingIsFreeWhereItBringsSomething() throws {
    var machine = try session("wait='0' hold='0'")
    _ = machine.received(try request(101), as: 1, now: 0)
    machine.say(said("a"))
    _ = machine.answer(now: 0)
    #expect(machine.received(try request(102), as: 2, now: 1).isEmpty)
    #expect(machine.answer(now: 1) == [.answer(2, BOSHResponse())])
    #expect(machine.received(try request(103), as: 3, now: 2_001).isEmpty)
  }

  @Test func askingForMoreThanIsHeldTakesTime() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    #expect(machine.answer(now: 0).isEmpty)
    let end = BOSHResponse(.terminated(.policyViolation))
    #expect(machine.received(try request(102), as: 2, now: 1_999) == [.answer(1, end), .answer(2, end), .over])
  }

  @Test func aPauseReturnsAllRequests() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    #expect(
      try machine.received(request(102, "sid='s' pause='120'", presence), as: 2, now: 1_000)
        == [
          .deliver(Element(parsing: presence.utf8)), .answer(1, BOSHResponse(ack: 102)), .answer(2, BOSHResponse()),
        ])
    machine.say(said("a"))
    #expect(machine.answer(now: 1_000).isEmpty)
    #expect(machine.deadline == 121_000)
    // 10: the next request sets it back.
    _ = machine.received(try request(103), as: 3, now: 100_000)
    #expect(machine.answer(now: 100_000) == [.answer(3, BOSHResponse(payloads: [said("a")]))])
    #expect(machine.deadline == 160_000)
  }

  @Test func aPauseTooLongIsNone() throws {
    var machine = try session()
    #expect(machine.received(try request(101, "sid='s' pause='121'"), as: 1, now: 0).isEmpty)
    #expect(machine.answer(now: 0).isEmpty)
  }

  // MARK: Keys

  /// 15.
  @Test func keysFollowTheirSequence() throws {
    let k1 = sha1("seed")
    let k2 = sha1(k1)
    let k3 = sha1(k2)
    let first = try request(100, "to='d' newkey='\(k3.uppercased())'")
    var machine = BOSHMachine(first, sid: "s", policy: BOSHPolicy(), now: 0)
    _ = machine.received(first, as: 0, now: 0)
    _ = machine.answer(now: 0)
    #expect(machine.received(try request(101, "sid='s' key='\(k2)'", presence), as: 1, now: 0).count == 1)
    let m1 = sha1("other")
    let m2 = sha1(m1)
    #expect(
      machine.received(try request(102, "sid='s' key='\(k1)' newkey='\(m2)'", presence), as: 2, now: 0).count == 1)
    _ = machine.answer(now: 0)
    var forged = machine
    let end = BOSHResponse(.terminated(.itemNotFound))
    #expect(
      forged.received(try request(103, "sid='s' key='\(k1)'", presence), as: 3, now: 0)
        == [.answer(2, end), .answer(3, end), .over])
    #expect(machine.received(try request(103, "sid='s' key='\(m1)'", presence), as: 3, now: 0).count == 1)
    _ = machine.answer(now: 0)
    #expect(
      machine.received(try request(104, "sid='s'", presence), as: 4, now: 0)
        == [.answer(3, end), .answer(4, end), .over])
  }

  // MARK: The end

  @Test func theClientEndsIt() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    #expect(
      try machine.received(request(102, "sid='s' type='terminate'", presence), as: 2, now: 0)
        == [
          .deliver(Element(parsing: presence.utf8)), .close, .answer(1, BOSHResponse(.terminated(nil), ack: 102)),
          .answer(2, BOSHResponse()), .over,
        ])
  }

  @Test func theServerEndsIt() throws {
    var machine = try session()
    _ = machine.received(try request(101), as: 1, now: 0)
    machine.say(said("last"))
    #expect(
      machine.close(.remoteStreamError)
        == [.answer(1, BOSHResponse(.terminated(.remoteStreamError), payloads: [said("last")])), .over])
    #expect(machine.close(nil).isEmpty)
  }

  @Test func theServerEndsItWhileNobodyListens() throws {
    var machine = try session()
    machine.say(said("last"))
    #expect(machine.close(.systemShutdown).isEmpty)
    #expect(
      machine.received(try request(101, "sid='s'", presence), as: 1, now: 0)
        == [.answer(1, BOSHResponse(.terminated(.systemShutdown), payloads: [said("last")])), .over])
  }

  /// Every exchange gets exactly one answer, in any order of events.
  @Test func everyExchangeIsAnsweredOnce() throws {
    var random = Numbers(state: 7)
    let kinds = [
      "sid='s'", "sid='s' pause='10'", "sid='s' type='terminate'", "sid='s' xmpp:restart='1'", "sid='s' ack='101'",
    ]
    for _ in 0..<2_000 {
      var machine = try session()
      var asked: Set<Int> = []
      var answered: [Int] = []
      var overs = 0
      func note(_ outputs: [BOSHOutput]) {
        for output in outputs {
          if case .answer(let exchange, _) = output { answered.append(exchange) }
          if output == .over { overs += 1 }
        }
      }
      var now = 0
      for exchange in 1...12 {
        now += Int(random.next() % 4_000)
        asked.insert(exchange)
        let rid = 100 + Int64(random.next() % 2) + Int64(exchange) - Int64(random.next() % 2)
        let kind = random.next() % 4 == 0 ? kinds[Int(random.next() % 5)] : kinds[0]
        let payload = random.next() % 2 == 0 ? presence : ""
        note(machine.received(try request(rid, kind, payload), as: exchange, now: now))
        if random.next() % 2 == 0 { machine.say(said("x")) }
        note(machine.answer(now: now, isBusy: random.next() % 4 == 0))
        if random.next() % 20 == 0 { note(machine.close(nil)) }
        if random.next() % 5 == 0 { note(machine.abandoned(Int(random.next() % 12) + 1, now: now)) }
        if let deadline = machine.deadline, deadline <= now { note(machine.passed(now: now)) }
      }
      while let deadline = machine.deadline { note(machine.passed(now: deadline)) }
      #expect(answered.sorted() == asked.sorted())
      #expect(overs == 1)
    }
  }

  // MARK: Wire

  @Test func responsesAreWritten() throws {
    #expect(String(buffer: BOSHResponse().written()) == "<body xmlns='http://jabber.org/protocol/httpbind'/>")
    #expect(
      String(buffer: BOSHResponse(.repeated, ack: 3).written())
        == "<body xmlns='http://jabber.org/protocol/httpbind' type='error' ack='3'/>")
    let error = ByteBuffer(string: "<stream:error xmlns:stream='http://etherx.jabber.org/streams'/>")
    let end = BOSHResponse(.terminated(.remoteStreamError), payloads: [said("a"), error])
    #expect(
      String(buffer: end.written())
        == "<body xmlns='http://jabber.org/protocol/httpbind' type='terminate' condition='remote-stream-error' xmlns:stream='http://etherx.jabber.org/streams'><message>a</message><stream:error xmlns:stream='http://etherx.jabber.org/streams'/></body>"
    )
    let made = try Element(
      parsing: Array(BOSHResponse(session: Self.agreed()).written().readableBytesView), defaultNamespace: "")
    #expect(made["sid"] == "s" && made["ack"] == "100" && made["requests"] == "2" && made["from"] == "d")
    #expect(made.attribute("restartlogic", namespace: NS.xbosh) == "true")
    #expect(made.attribute("version", namespace: NS.xbosh) == "1.0")
  }

  @Test(arguments: [
    "<body xmlns='http://jabber.org/protocol/httpbind'/>", "<body rid='1'/>",
    "<body xmlns='http://jabber.org/protocol/httpbind' rid='0'/>",
    "<body xmlns='http://jabber.org/protocol/httpbind' rid='-1'/>",
    "<body xmlns='http://jabber.org/protocol/httpbind' rid='9007199254740992'/>",
    "<body xmlns='http://jabber.org/protocol/httpbind' rid='1' wait='soon'/>",
  ])
  func badRequests(xml: String) throws {
    let body = try Element(xml: xml)
    #expect(throws: BOSHCondition.badRequest) { try BOSHRequest(body) }
  }
}

/// Numbers that are the same in every run.
private struct Numbers {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
