import Testing
import XMLStream

@testable import XMPP

@Suite struct AcknowledgementQueueTests {
  @Test func releasesInOrder() {
    var queue = AcknowledgementQueue<Int>()
    for item in 1...20 { #expect(queue.append(item, byteCount: 10) == true) }
    #expect(queue.sent == 20)
    #expect(queue.byteCount == 200)
    var released: [Int] = []
    #expect(queue.acknowledge(through: 3) { released.append($0) } == .released(3))
    #expect(released == [1, 2, 3])
    #expect(queue.acknowledge(through: 3) == .released(0))
    #expect(queue.count == 17)
    #expect(queue.byteCount == 170)
    #expect(queue.items.map(\.item) == Array(4...20))
    for item in 21...24 { #expect(queue.append(item, byteCount: 0) == true) }
    var rest: [Int] = []
    queue.forEach { rest.append($0) }
    #expect(rest == Array(4...24))
    #expect(queue.acknowledge(through: 24) == .released(21))
    #expect(queue.isEmpty)
    #expect(queue.byteCount == 0)
    #expect(queue.acknowledged == 24)
  }

  /// XEP-0198 6.
  @Test func tooHigh() {
    var queue = AcknowledgementQueue<Int>()
    for item in 1...8 { #expect(queue.append(item, byteCount: 0) == true) }
    #expect(queue.acknowledge(through: 10) == .tooHigh(.handledCountTooHigh(handled: 10, sent: 8)))
    #expect(queue.acknowledge(through: .max) == .tooHigh(.handledCountTooHigh(handled: .max, sent: 8)))
    #expect(queue.count == 8)
  }

  /// An acknowledgement that lies behind says nothing new.
  @Test func behind() {
    var queue = AcknowledgementQueue<Int>()
    for item in 1...8 { #expect(queue.append(item, byteCount: 0) == true) }
    #expect(queue.acknowledge(through: 6) == .released(6))
    #expect(queue.acknowledge(through: 4) == .released(0))
    #expect(queue.acknowledge(through: 0) == .released(0))
    #expect(queue.acknowledge(through: .max) == .tooHigh(.handledCountTooHigh(handled: .max, sent: 8)))
    #expect(queue.count == 2)
  }

  /// XEP-0198 4: after 2^32 - 1 comes 0.
  @Test func wraps() {
    var queue = AcknowledgementQueue<Int>(acknowledgedTotal: UInt64(UInt32.max) - 1)
    for item in 1...4 { #expect(queue.append(item, byteCount: 0) == true) }
    #expect(queue.acknowledged == UInt32.max - 1)
    #expect(queue.sent == 2)
    #expect(queue.acknowledge(through: 3) == .tooHigh(.handledCountTooHigh(handled: 3, sent: 2)))
    #expect(queue.acknowledge(through: .max) == .released(1))
    #expect(queue.acknowledge(through: 1) == .released(2))
    #expect(queue.acknowledge(through: .max) == .released(0))
    #expect(queue.acknowledge(through: 2) == .released(1))
    #expect(queue.isEmpty)
  }

  @Test func bounds() {
    var few = AcknowledgementQueue<Int>(itemsMax: 2, bytesMax: 100)
    #expect(few.append(1, byteCount: 0) == true)
    #expect(few.append(2, byteCount: 0) == true)
    #expect(few.append(3, byteCount: 0) == false)
    #expect(few.sent == 2)
    var small = AcknowledgementQueue<Int>(itemsMax: 10, bytesMax: 100)
    #expect(small.append(1, byteCount: 60) == true)
    #expect(small.append(2, byteCount: 41) == false)
    #expect(small.append(3, byteCount: 40) == true)
    #expect(small.append(4, byteCount: .max) == false)
    #expect(small.acknowledge(through: 1) == .released(1))
    #expect(small.append(4, byteCount: 60) == true)
  }

  /// The ring against an array, over many shapes.
  @Test func ringKeepsOrder() {
    var ring = Ring<Int>()
    var model: [Int] = []
    var next = 0
    for step in 0..<500 {
      if step % 7 < 4 {
        ring.append(next)
        model.append(next)
        next += 1
      } else {
        #expect(ring.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(ring.count == model.count)
      #expect(ring.first == model.first)
      #expect((0..<ring.count).map { ring[$0] } == model)
    }
    while let element = ring.popFirst() { #expect(element == model.removeFirst()) }
    #expect(model.isEmpty)
    ring.shrink()
    #expect(ring.popFirst() == nil)
    ring.append(1)
    #expect(ring.popFirst() == 1)
  }
}

@Suite struct InboundCounterTests {
  @Test func dispatchedStanzasCountAtOnce() {
    var counter = InboundCounter()
    #expect(counter.durable == 0)
    counter.handled()
    counter.handled()
    #expect(counter.durable == 2)
  }

  @Test func postsCountWhenTheyAreFinished() {
    var counter = InboundCounter()
    counter.handled()
    let first = counter.began()
    let second = counter.began()
    #expect([first, second] == [2, 3])
    #expect(counter.durable == 1)
    counter.handled()
    #expect(counter.durable == 1)
    counter.finished(first)
    #expect(counter.durable == 2)
    counter.finished(second)
    #expect(counter.durable == 4)
    #expect(counter.pending == 0)
  }

  /// Stanzas that were dispatched after a pending post wait with it.
  @Test func gapsAreNeverAcknowledged() {
    var counter = InboundCounter()
    let first = counter.began()
    counter.handled()
    counter.handled()
    let second = counter.began()
    counter.finished(first)
    #expect(counter.durable >= 1 && counter.durable <= 3)
    counter.finished(second)
    #expect(counter.durable == 4)
  }

  /// At every moment of a random history the acknowledged number is at most the contiguous run, and equal to it at
  /// rest.
  @Test func neverTooEarly() {
    var state: UInt64 = 42
    func random(_ bound: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % bound
    }
    var counter = InboundCounter()
    var done: [Bool] = []
    var pending: [UInt64] = []
    var told: UInt64 = 0
    for _ in 0..<5000 {
      switch random(3) {
      case 0:
        counter.handled()
        done.append(true)
      case 1:
        pending.append(counter.began())
        done.append(false)
      default:
        if let first = pending.first {
          counter.finished(first)
          done[Int(first) - 1] = true
          pending.removeFirst()
        }
      }
      let contiguous = UInt64(done.prefix { $0 }.count)
      #expect(counter.durableTotal <= contiguous)
      #expect(counter.durableTotal >= told)
      told = counter.durableTotal
      if pending.isEmpty { #expect(counter.durableTotal == contiguous) }
    }
    #expect(told > 1000)
  }

  @Test func strayNumbersAreIgnored() {
    var counter = InboundCounter(handledTotal: 5)
    counter.finished(5)
    counter.finished(9)
    #expect(counter.durableTotal == 5)
    let post = counter.began()
    counter.finished(post + 1)
    #expect(counter.pending == 1)
    counter.finished(post)
    counter.finished(post)
    #expect(counter.durableTotal == 6)
  }

  @Test func wraps() {
    var counter = InboundCounter(handledTotal: UInt64(UInt32.max))
    #expect(counter.durable == .max)
    counter.handled()
    #expect(counter.durable == 0)
    #expect(counter.durableTotal == 1 << 32)
  }
}

@Suite struct ResumptionMachineTests {
  private static func enabled(resume: Bool = true) -> ResumptionMachine<Int> {
    var machine = ResumptionMachine<Int>()
    _ = machine.enable(resume: resume, max: nil, policy: ResumptionPolicy(), id: "sm1")
    return machine
  }

  // MARK: Parsing

  @Test func elements() throws {
    #expect(try ManagementElement(element("<enable xmlns='urn:xmpp:sm:3'/>")) == .enable(resume: false, max: nil))
    #expect(
      try ManagementElement(element("<enable xmlns='urn:xmpp:sm:3' resume='1' max='300'/>"))
        == .enable(resume: true, max: 300))
    #expect(
      try ManagementElement(element("<enable xmlns='urn:xmpp:sm:3' resume='false' max='0'/>"))
        == .enable(resume: false, max: nil))
    #expect(try ManagementElement(element("<r xmlns='urn:xmpp:sm:3'/>")) == .request)
    #expect(try ManagementElement(element("<a xmlns='urn:xmpp:sm:3' h='1'/>")) == .acknowledge(1))
    #expect(
      try ManagementElement(element("<resume xmlns='urn:xmpp:sm:3' previd='x' h='2'/>"))
        == .resume(previous: "x", handled: 2))
    #expect(try ManagementElement(element("<message/>")) == nil)
    #expect(try ManagementElement(element("<enabled xmlns='urn:xmpp:sm:3'/>")) == nil)
  }

  @Test(arguments: [
    "<a/>", "<a h=''/>", "<a h='-1'/>", "<a h='4294967296'/>", "<resume h='1'/>", "<resume previd='' h='1'/>",
    "<resume previd='x'/>", "<enable max='soon'/>", "<enable resume='yes'/>",
  ])
  func badElements(xml: String) throws {
    let source = try Element(parsing: xml.utf8, defaultNamespace: "urn:xmpp:sm:3")
    let error = #expect(throws: StanzaError.self) { try ManagementElement(source) }
    #expect(error?.condition == .badRequest)
  }

  @Test func aLongIDIsRefused() throws {
    let long = try element("<resume xmlns='urn:xmpp:sm:3' h='1' previd='\(String(repeating: "x", count: 4001))'/>")
    #expect(throws: StanzaError(.badRequest, "the attribute 'previd' is too long")) { try ManagementElement(long) }
  }

  // MARK: Enabling

  /// XEP-0198 3, 5.
  @Test func enabling() {
    let policy = ResumptionPolicy(secondsMax: 600, location: "[2001:41D0:1:A49b::1]:9222")
    var machine = ResumptionMachine<Int>()
    #expect(machine.enable(resume: false, max: nil, policy: policy, id: "sm1") == .enabled(nil))
    #expect(machine.id == nil)
    #expect(machine.isEnabled)
    var resumable = ResumptionMachine<Int>()
    #expect(
      resumable.enable(resume: true, max: nil, policy: policy, id: "sm1")
        == .enabled(.init(id: "sm1", max: 600, location: "[2001:41D0:1:A49b::1]:9222")))
    #expect(resumable.id == "sm1")
    var shorter = ResumptionMachine<Int>()
    #expect(
      shorter.enable(resume: true, max: 60, policy: ResumptionPolicy(), id: "sm1")
        == .enabled(.init(id: "sm1", max: 60, location: nil)))
    #expect(shorter.resumptionSeconds == 60)
    var longer = ResumptionMachine<Int>()
    #expect(
      longer.enable(resume: true, max: 100_000, policy: ResumptionPolicy(), id: "sm1")
        == .enabled(.init(id: "sm1", max: 600, location: nil)))
    var unwilling = ResumptionMachine<Int>()
    #expect(
      unwilling.enable(resume: true, max: nil, policy: ResumptionPolicy(allowsResumption: false), id: "sm1")
        == .enabled(nil))
    #expect(
      resumable.enable(resume: true, max: nil, policy: policy, id: "sm2")
        == .misused(StreamError(.policyViolation, "stream management is enabled")))
    #expect(resumable.id == "sm1")
  }

  /// XEP-0198 4: counting starts with <enabled/>.
  @Test func nothingIsCountedBefore() {
    var machine = ResumptionMachine<Int>()
    #expect(machine.sending(1, byteCount: 5) == true)
    #expect(machine.outbound.isEmpty)
    #expect(machine.requestIsDue() == false)
    #expect(machine.acknowledged(1) == .tooHigh(.handledCountTooHigh(handled: 1, sent: 0)))
  }

  @Test func requestsAreNotRepeated() {
    var machine = Self.enabled()
    #expect(machine.requestIsDue() == false)
    #expect(machine.sending(1, byteCount: 0) == true)
    #expect(machine.requestIsDue() == true)
    #expect(machine.requestIsDue() == false)
    #expect(machine.sending(2, byteCount: 0) == true)
    #expect(machine.acknowledged(1) == .released(1))
    #expect(machine.requestIsDue() == true)
    #expect(machine.acknowledged(2) == .released(1))
    #expect(machine.requestIsDue() == false)
  }

  /// XEP-0198 4: the answer to a request is withheld for nothing but a timeout.
  @Test func anUnansweredRequest() {
    var machine = Self.enabled()
    // A few hundred stanzas, of which some are acknowledged, are below any bound of their number.
    for item in 1...512 { #expect(machine.sending(item, byteCount: 0) == true) }
    #expect(machine.isOverdue(at: 100, bound: 60, isUnread: false) == false)
    #expect(machine.requestIsDue() == true)
    #expect(machine.isOverdue(at: 200, bound: 60, isUnread: false) == false)
    #expect(machine.acknowledged(212) == .released(212))
    // The time of a later request begins anew.
    #expect(machine.requestIsDue() == true)
    #expect(machine.isOverdue(at: 260, bound: 60, isUnread: false) == false)
    #expect(machine.isOverdue(at: 319, bound: 60, isUnread: false) == false)
    #expect(machine.outbound.count == 300)
    #expect(machine.isOverdue(at: 320, bound: 60, isUnread: false) == true)
    // An answer is one, however little it acknowledges.
    #expect(machine.acknowledged(212) == .released(0))
    #expect(machine.isOverdue(at: 400, bound: 60, isUnread: false) == false)
  }

  @Test func aRequestThatIsUnread() {
    var machine = Self.enabled()
    #expect(machine.sending(1, byteCount: 0) == true)
    #expect(machine.requestIsDue() == true)
    #expect(machine.isOverdue(at: 0, bound: 60, isUnread: true) == false)
    #expect(machine.isOverdue(at: 90, bound: 60, isUnread: true) == false)
    #expect(machine.isOverdue(at: 95, bound: 60, isUnread: false) == false)
    #expect(machine.isOverdue(at: 154, bound: 60, isUnread: false) == false)
    #expect(machine.isOverdue(at: 155, bound: 60, isUnread: false) == true)
    // On a new stream nothing has been requested.
    #expect(machine.resume(handled: 0) == .resumed(handled: 0, replay: 1))
    #expect(machine.isOverdue(at: 300, bound: 60, isUnread: false) == false)
  }

  // MARK: Resuming

  /// XEP-0198 5: counters go on, what is unhandled goes again.
  @Test func resuming() {
    var machine = Self.enabled()
    for item in 1...5 { #expect(machine.sending(item, byteCount: 1) == true) }
    machine.inbound.handled()
    machine.inbound.handled()
    let post = machine.inbound.began()
    var released: [Int] = []
    #expect(machine.resume(handled: 3) { released.append($0) } == .resumed(handled: 2, replay: 2))
    #expect(released == [1, 2, 3])
    #expect(machine.outbound.items.map(\.item) == [4, 5])
    machine.inbound.finished(post)
    #expect(machine.inbound.durable == 3)
    #expect(machine.sending(6, byteCount: 1) == true)
    #expect(machine.acknowledged(6) == .released(3))
    #expect(machine.resume(handled: 6) == .resumed(handled: 3, replay: 0))
  }

  /// What cannot be sent again is not counted by the peer.
  @Test func forgetting() {
    var machine = Self.enabled()
    for item in 1...5 { #expect(machine.sending(item, byteCount: item) == true) }
    #expect(machine.resume(handled: 2) == .resumed(handled: 0, replay: 3))
    machine.forget { $0 == 4 }
    #expect(machine.outbound.items.map(\.item) == [3, 5])
    #expect(machine.outbound.byteCount == 8)
    #expect(machine.outbound.sent == 4)
    #expect(machine.sending(6, byteCount: 1) == true)
    #expect(machine.acknowledged(5) == .released(3))
    #expect(machine.outbound.byteCount == 0)
  }

  @Test func resumingTooFar() {
    var machine = Self.enabled()
    #expect(machine.sending(1, byteCount: 1) == true)
    #expect(machine.resume(handled: 2) == .close(.handledCountTooHigh(handled: 2, sent: 1)))
    #expect(machine.outbound.count == 1)
  }

  @Test func sessionsThatCannotBeResumed() {
    var machine = Self.enabled(resume: false)
    #expect(machine.resume(handled: 0) == .failed(.itemNotFound, handled: nil))
    #expect(ResumptionMachine<Int>.refuse(.unknown) == .failed(.itemNotFound, handled: nil))
    #expect(ResumptionMachine<Int>.refuse(.expired(handled: 7)) == .failed(.itemNotFound, handled: 7))
    #expect(ResumptionMachine<Int>.refuse(.unsupported) == .failed(.featureNotImplemented, handled: nil))
  }

  @Test func overARestart() throws {
    var machine = Self.enabled()
    for item in 1...5 { #expect(machine.sending(item, byteCount: item) == true) }
    _ = machine.acknowledged(2)
    machine.inbound.handled()
    _ = machine.inbound.began()
    let snapshot = try #require(machine.snapshot)
    #expect(snapshot.handledTotal == 1)
    var restored = ResumptionMachine<Int>(restoring: snapshot)
    #expect(restored.id == "sm1")
    #expect(restored.resumptionSeconds == machine.resumptionSeconds)
    #expect(restored.outbound.sent == 5)
    #expect(restored.outbound.byteCount == 12)
    #expect(restored.resume(handled: 4) == .resumed(handled: 1, replay: 1))
    #expect(Self.enabled(resume: false).snapshot == nil)
    let smaller = ResumptionMachine<Int>(restoring: snapshot, itemsMax: 2)
    #expect(smaller.outbound.items.map(\.item) == [3, 4])
  }

  // MARK: Writing

  /// The examples of XEP-0198 3, 4, 5 and 6.
  @Test func writing() throws {
    func same(_ xml: String, _ body: (inout ElementWriter) -> Void) throws -> Bool {
      try element(written(body)) == element(xml)
    }
    #expect(try same("<enabled xmlns='urn:xmpp:sm:3'/>") { StreamManagement.writeEnabled(nil, into: &$0) })
    #expect(
      try same(
        "<enabled xmlns='urn:xmpp:sm:3' id='some-long-sm-id' location='[2001:41D0:1:A49b::1]:9222' resume='true' max='60'/>"
      ) {
        StreamManagement.writeEnabled(
          .init(id: "some-long-sm-id", max: 60, location: "[2001:41D0:1:A49b::1]:9222"), into: &$0)
      })
    #expect(
      try same(
        "<failed xmlns='urn:xmpp:sm:3'><unexpected-request xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></failed>"
      ) {
        StreamManagement.writeFailed(.unexpectedRequest, into: &$0)
      })
    #expect(
      try same(
        "<failed xmlns='urn:xmpp:sm:3' h='9'><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></failed>"
      ) {
        StreamManagement.writeFailed(.itemNotFound, handled: 9, into: &$0)
      })
    #expect(
      try same("<resumed xmlns='urn:xmpp:sm:3' h='4294967295' previd='some-long-sm-id'/>") {
        StreamManagement.writeResumed(previous: "some-long-sm-id", handled: .max, into: &$0)
      })
    #expect(try same("<a xmlns='urn:xmpp:sm:3' h='1'/>") { StreamManagement.writeAcknowledgement(1, into: &$0) })
    #expect(try same("<r xmlns='urn:xmpp:sm:3'/>") { StreamManagement.writeRequest(into: &$0) })
  }
}
