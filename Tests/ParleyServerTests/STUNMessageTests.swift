import Basics
import Testing

@testable import ParleyServer

/// Messages of STUN, compared with the sample of RFC 5769 2.2 as far as it goes, and with what TURN servers send.
@Suite struct STUNMessageTests {
  /// RFC 5769 2.2: a response to a binding request over IPv4, from 192.0.2.1:32853.
  private static let sample: [UInt8] = [
    0x01, 0x01, 0x00, 0x3c, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf,
    0xae,
    0x80, 0x22, 0x00, 0x0b, 0x74, 0x65, 0x73, 0x74, 0x20, 0x76, 0x65, 0x63, 0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00,
    0x08,
    0x00, 0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43, 0x00, 0x08, 0x00, 0x14, 0x2b, 0x91, 0xf5, 0x99, 0xfd, 0x9e, 0x90,
    0xc3,
    0x8c, 0x74, 0x89, 0xf9, 0x2a, 0xf9, 0xba, 0x53, 0xf0, 0x6b, 0xe7, 0xd7, 0x80, 0x28, 0x00, 0x04, 0xc0, 0x7d, 0x4c,
    0x96,
  ]

  @Test func anAddressIsRead() throws {
    let message = try #require(STUNMessage(Self.sample))
    #expect(message.kind == .bindingSuccess)
    let mapped = try #require(message.address(.mappedAddress))
    #expect("\(mapped.address)" == "192.0.2.1" && mapped.port == 32_853)
  }

  @Test func whatIsWrittenIsRead() throws {
    var message = STUNMessage(.allocateRequest)
    message.add(.requestedTransport, [17, 0, 0, 0])
    message.add(.username, Array("1:x".utf8))
    let read = try #require(STUNMessage(message.bytes))
    #expect(read == message && read.text(.username) == "1:x" && read.bytes.count % 4 == 0)
    let signed = try #require(STUNMessage(message.bytes(signedBy: "1:x", password: "p", realm: "r")))
    #expect(signed[.messageIntegrity]?.count == 20 && signed.transaction == message.transaction)
  }

  @Test func anErrorHasACodeAndAReason() throws {
    var message = STUNMessage(.allocateError)
    message.add(.errorCode, [0, 0, 4, 1] + Array("Un\u{1b}authorized".utf8))
    let error = try #require(STUNMessage(message.bytes)?.error)
    #expect(error.code == 401 && !error.reason.contains("\u{1b}"))
  }

  /// Each shorter or longer datagram is none, and none crashes.
  @Test func whatIsCutOffIsNoMessage() {
    for count in 0..<Self.sample.count { #expect(STUNMessage(Array(Self.sample.prefix(count))) == nil) }
    #expect(STUNMessage(Self.sample + [0]) == nil)
    for at in 0..<Self.sample.count {
      var changed = Self.sample
      changed[at] ^= 0xff
      _ = STUNMessage(changed)?.error
      _ = STUNMessage(changed)?.address(.mappedAddress)
    }
  }
}
