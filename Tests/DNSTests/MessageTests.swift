import Basics
import Testing

@testable import DNS

@Suite struct MessageTests {
  private let question = Question(name: name("_xmpp-server._tcp.prosody.test"), type: .srv)

  // MARK: Captured messages

  @Test func queriesAreWritten() {
    #expect(Message.query(question, id: 0x2a17, hasEDNS: true, asksForAuthenticity: true) == Captured.query)
    #expect(Message.query(question, id: 0x2a17, hasEDNS: false, asksForAuthenticity: false) == Captured.plainQuery)
  }

  @Test func aServiceIsRead() throws {
    let message = try Message(Captured.services)
    let record = ServiceRecord(priority: 10, weight: 10, port: 5269, target: name("host.prosody.test"))
    #expect(message.id == 0x2a17)
    #expect(message.isResponse && message.isAuthentic && !message.isTruncated)
    #expect(message.code == Message.Code.success)
    #expect(message.question == question)
    #expect(message.answers == [Record(owner: question.name, seconds: 60, data: .service(record))])
    #expect(
      try Answer(to: question, in: message, isTrusted: true)
        == Answer(.found, name: question.name, records: [.service(record)], isSecure: true, seconds: 60))
  }

  @Test func authenticityNeedsTrust() throws {
    let message = try Message(Captured.services)
    #expect(try !Answer(to: question, in: message, isTrusted: false).isSecure)
    let insecure = Question(name: name("_xmpp-server._tcp.insecure.example"), type: .srv)
    let answer = try Answer(to: insecure, in: Message(Captured.insecure), isTrusted: true)
    #expect(!answer.isSecure)
    #expect(answer.services.map(\.target) == [name("xmpp.insecure.example")])
  }

  @Test func addressesAreRead() throws {
    let host = name("host.prosody.test")
    let six = try Answer(to: Question(name: host, type: .aaaa), in: Message(Captured.six), isTrusted: true)
    #expect(six.addresses.map(\.description) == ["2001:db8::2", "2001:db8::3"])
    let four = try Answer(to: Question(name: host, type: .a), in: Message(Captured.four), isTrusted: true)
    #expect(four.addresses.map(\.description) == ["192.0.2.2"])
  }

  @Test func aCertificateIsRead() throws {
    let asked = Question(name: name("_5269._tcp.host.prosody.test"), type: .tlsa)
    let answer = try Answer(to: asked, in: Message(Captured.tlsa), isTrusted: true)
    let hash = Captured.bytes("8d02536c887482bc34ff54e41d2ba659bf85b341a0a20afadb5813dcfbcf286d")
    #expect(answer.tlsaRecords == [TLSARecord(usage: 3, selector: 1, matching: 1, data: hash)])
    #expect(answer.isSecure)
  }

  /// RFC 2782, "Target".
  @Test func theRootIsATarget() throws {
    let asked = Question(name: name("_xmpp-server._tcp.dot.test"), type: .srv)
    let answer = try Answer(to: asked, in: Message(Captured.notAvailable), isTrusted: true)
    #expect(answer.services == [ServiceRecord(priority: 0, weight: 0, port: 0, target: .root)])
  }

  @Test func anAliasIsFollowed() throws {
    let asked = Question(name: name("_xmpp-server._tcp.alias.test"), type: .srv)
    let answer = try Answer(to: asked, in: Message(Captured.alias), isTrusted: true)
    #expect(answer.name == question.name)
    #expect(answer.services.map(\.target) == [name("host.prosody.test")])
    #expect(answer.isSecure)
  }

  /// RFC 2308 2 and 5.
  @Test func absenceIsToldApart() throws {
    let there = Question(name: name("prosody.test"), type: .srv)
    #expect(
      try Answer(to: there, in: Message(Captured.noRecords), isTrusted: true)
        == Answer(.noRecords, name: there.name, isSecure: true, seconds: 45))
    let nobody = Question(name: name("nobody.test"), type: .aaaa)
    #expect(
      try Answer(to: nobody, in: Message(Captured.noSuchName), isTrusted: true)
        == Answer(.noSuchName, name: nobody.name, isSecure: true, seconds: 45))
  }

  @Test func aTruncatedMessageIsItsQuestion() throws {
    let message = try Message(Captured.truncated)
    #expect(message.isTruncated)
    #expect(message.question == Question(name: name("_xmpp-server._tcp.many.test"), type: .srv))
    // Cut in the middle of a record.
    var cut = Array(Captured.services.prefix(70))
    cut[2] |= 0x02
    #expect(try Message(cut).isTruncated)
  }

  // MARK: Codes and chains

  @Test func codesAreFailures() throws {
    for (code, failure) in [(2, LookupFailure.serverFailure), (4, .refused(code: 4)), (5, .refused(code: 5))] {
      var message = try Message(Captured.services)
      message.code = UInt16(code)
      #expect(throws: failure) { try Answer(to: question, in: message, isTrusted: true) }
    }
  }

  @Test func theLeastTimeHolds() throws {
    var message = try Message(Captured.alias)
    message.answers = message.answers.map {
      Record(owner: $0.owner, seconds: $0.data.type == .cname ? 7 : 90, data: $0.data)
    }
    let asked = Question(name: name("_xmpp-server._tcp.alias.test"), type: .srv)
    #expect(try Answer(to: asked, in: message, isTrusted: true).seconds == 7)
  }

  @Test func chainsOfAliasesEnd() throws {
    var message = try Message(Captured.services)
    message.answers = [
      Record(owner: name("a.test"), seconds: 1, data: .alias(name("b.test"))),
      Record(owner: name("b.test"), seconds: 1, data: .alias(name("a.test"))),
    ]
    #expect(throws: LookupFailure.malformed) {
      try Answer(to: Question(name: name("a.test"), type: .a), in: message, isTrusted: true)
    }
    message.answers = (0..<8).map {
      Record(owner: name("n\($0).test"), seconds: 1, data: .alias(name("n\($0 + 1).test")))
    }
    let asked = Question(name: name("n0.test"), type: .a)
    #expect(try Answer(to: asked, in: message, isTrusted: true).name == name("n8.test"))
    message.answers.append(Record(owner: name("n8.test"), seconds: 1, data: .alias(name("n9.test"))))
    #expect(throws: LookupFailure.malformed) { try Answer(to: asked, in: message, isTrusted: true) }
  }

  @Test func recordsOfOtherNamesAreNoAnswer() throws {
    var message = try Message(Captured.services)
    message.answers = message.answers.map { Record(owner: name("evil.test"), seconds: 60, data: $0.data) }
    #expect(try Answer(to: question, in: message, isTrusted: true).outcome == .noRecords)
  }

  // MARK: Malformed messages

  @Test func everyCutIsRefused() {
    for captured in [
      Captured.services, Captured.six, Captured.four, Captured.tlsa, Captured.notAvailable, Captured.alias,
      Captured.noRecords, Captured.noSuchName,
    ] {
      for count in captured.indices {
        #expect(throws: MalformedMessage.self, "\(count)") { try Message(Array(captured.prefix(count))) }
      }
      #expect(throws: MalformedMessage.self) { try Message(captured + [0]) }
    }
  }

  /// Each single wrong byte is refused or read as another message; none is a trap.
  @Test func everyWrongByteIsSurvived() {
    var refused = 0
    for captured in [Captured.services, Captured.alias, Captured.noSuchName] {
      for place in captured.indices {
        for value in [0, 0x3f, 0x40, 0x80, 0xc0, 0xff, captured[place] ^ 1] as [UInt8] {
          var wrong = captured
          wrong[place] = value
          do { _ = try Message(wrong) } catch { refused += 1 }
        }
      }
    }
    #expect(refused > 900)
  }

  @Test func randomBytesAreSurvived() {
    for count in 0..<2_000 {
      var bytes = [UInt8].random(count: count % 200)
      // A header that counts a few records, so that the rest is read.
      for (place, value) in [2: 0x81, 3: 0x80, 4: 0, 5: 1, 6: 0, 8: 0, 10: 0] where place < bytes.count {
        bytes[place] = UInt8(value)
      }
      _ = try? Message(bytes)
    }
  }

  /// RFC 1035 4.1.4: a pointer is to a prior name.
  @Test(arguments: [
    "c00c",  // to itself
    "c00e",  // forwards
    "c010", "ffff", "0161c00c",  // to the name's own begin
    "4061", "8061",  // kinds of labels that do not exist
    "c0",
  ]) func wrongPointersAreRefused(_ text: String) {
    let bytes = Captured.bytes("2a1781800001000000000000" + text + "00210001")
    #expect(throws: MalformedMessage.self) { try Message(bytes) }
  }

  @Test func pointersOnlyGoBack() {
    // Each pointer leads to the one before, and the last to a label that runs into it.
    let header = "2a178180000100010000000001610000210001"
    let chain = (0..<200).map { index in
      let target = index == 0 ? 12 : 19 + (index - 1) * 2
      return Hex.string([0xc0 | UInt8(target >> 8), UInt8(target & 0xff)])
    }.joined()
    #expect(throws: MalformedMessage.self) { try Message(Captured.bytes(header + chain)) }
  }

  /// RFC 1035 2.3.4, also for names that grow by pointers.
  @Test func longNamesAreRefused() {
    let label = "3f" + String(repeating: "61", count: 63)
    let first = "2a1781800001000100000000" + label + label + label + "00" + "00010001"
    #expect(throws: MalformedMessage.self) {
      try Message(Captured.bytes(first + label + "c00c" + "00010001000000000000"))
    }
    let fits = Captured.bytes(first + "01" + "61" + "c00c" + "00010001000000000004c0000201")
    #expect(throws: Never.self) { try Message(fits) }
  }

  @Test(arguments: [
    ("an address of 3 bytes", "00010001000000000003c00002"), ("of 5", "00010001000000000005c000020101"),
    ("an IPv6 address of 4", "001c0001000000000004c0000201"),
    ("an SRV record without target", "002100010000000000060001000114950"),
    ("an SRV record with more", "002100010000000000080001000114950000"),
    ("a TLSA record of 2 bytes", "003400010000000000020301"),
    ("an alias beyond its record", "0005000100000000000201610000"),
    ("a zone without times", "00060001000000000002" + "0000"),
    ("options of a name", "00290fff00000000000000"),
  ]) func wrongRecordsAreRefused(_ what: String, _ record: String) {
    let padded = record.count % 2 == 0 ? record : record + "0"
    let bytes = Captured.bytes("2a1781800001000100000000" + "016100" + "00010001" + "c00c" + padded)
    #expect(throws: MalformedMessage.self, "\(what)") { try Message(bytes) }
  }

  @Test func twoOptionsAreRefused() {
    let options = "0000290fff000000000000"
    let question = "016100" + "00010001"
    let one = Captured.bytes("2a1781800001000000000001" + question + options)
    #expect(throws: Never.self) { try Message(one) }
    let two = Captured.bytes("2a1781800001000000000002" + question + options + options)
    #expect(throws: MalformedMessage.self) { try Message(two) }
  }

  /// RFC 6891 6.1.3.
  @Test func codesHaveUpperBits() throws {
    let bytes = Captured.bytes("2a1781800001000000000001" + "016100" + "00010001" + "0000290fff010000000000")
    #expect(try Message(bytes).code == 16)
  }

  @Test func otherRecordsAndClassesArePassedOver() throws {
    let chaos = "c00c" + "00010003000000000004c0000201"
    let text = "c00c" + "00100001000000000003026869"
    let four = "c00c" + "00010001" + "80000001" + "0004c0000201"
    let bytes = Captured.bytes("2a1781800001000300000000" + "016100" + "00010001" + chaos + text + four)
    // RFC 2181 8: a time with its first bit set is none.
    #expect(
      try Message(bytes).answers
        == [Record(owner: name("a"), seconds: 0, data: .address(#require(IPAddress("192.0.2.1"))))])
  }

  @Test func countsAreBounded() {
    let bytes = Captured.bytes("2a178180000101010000" + "0000" + "016100" + "00010001")
    #expect(throws: MalformedMessage.self) { try Message(bytes) }
    #expect(throws: MalformedMessage.self) { try Message(Captured.bytes("2a1781800002000000000000")) }
  }

  // MARK: Replies

  @Test func aReplyBelongsToItsQuestion() throws {
    #expect(Reply(Captured.services, to: question, id: 0x2a17) == .answer(try Message(Captured.services)))
    #expect(Reply(Captured.services, to: question, id: 0x2a18) == .stray)
    #expect(Reply(Captured.six, to: question, id: 0x2a17) == .stray)
    #expect(Reply(Captured.query, to: question, id: 0x2a17) == .stray)
    #expect(Reply(Array(Captured.services.dropLast()), to: question, id: 0x2a17) == .malformed)
    #expect(Reply([], to: question, id: 0) == .stray)
    // A server from before EDNS says no more than this.
    let refusal = Captured.bytes("2a1781810000000000000000")
    #expect(Reply(refusal, to: question, id: 0x2a17) == .answer(try Message(refusal)))
    #expect(Reply(Captured.bytes("2a1781830000000000000000"), to: question, id: 0x2a17) == .stray)
  }
}

/// Returns a name that is known to be one.
func name(_ text: String) -> DomainName { DomainName(text) ?? .root }
