import Crypto
import DNS
import Peers
import SwiftASN1
import Testing
import X509

@testable import ServerCertificates

@Suite struct DANETests {
  private static let host = "xmpp.host.example"

  private static func target(_ records: TLSARecord...) -> [ServerTarget] {
    [ServerTarget(name: host, port: 5270, isDirectTLS: true, isSecure: true, tlsa: records)]
  }

  /// Returns a target whose last record matches the good certificate, and so many others before it none.
  private static func target(lastOf count: Int) -> [ServerTarget] {
    var records = Array(repeating: record(3, 1, 1, other), count: count - 1)
    records.append(record(3, 1, 1, good))
    return [ServerTarget(name: host, port: 5270, isDirectTLS: true, isSecure: true, tlsa: records)]
  }

  private static func record(_ usage: UInt8, _ selector: UInt8, _ matching: UInt8, _ issued: Issued) -> TLSARecord {
    let selected = selector == 0 ? issued.der : keyInfo(issued)
    let data =
      switch matching {
      case 1: Array(SHA256.hash(data: selected))
      case 2: Array(SHA512.hash(data: selected))
      default: selected
      }
    return TLSARecord(usage: usage, selector: selector, matching: matching, data: data)
  }

  private static func keyInfo(_ issued: Issued) -> [UInt8] {
    var serializer = DER.Serializer()
    made { try serializer.serialize(issued.certificate.publicKey) }
    return serializer.serializedBytes
  }

  private static let good = Draft().sign(by: intermediate)
  private static let other = Draft().sign(by: intermediate)
  private static let ownSigned = Draft(names: nil, until: "2026-05-01").sign()
  private static let strange = Draft(names: [.dnsName(host)]).sign(by: stranger)
  private static let goodChain = [good.der, intermediate.der]
  private static let strangeChain = [strange.der, stranger.der]

  private static func invalid(_ flaw: String) -> ChainCase.Expected {
    .invalid("the certificate is not valid: " + flaw)
  }
  private static let noMatch = invalid("it matches none of the TLSA records of xmpp.host.example")
  private static let valid = ChainCase.Expected.valid(.dane, until: "2026-12-31")

  static let cases: [ChainCase] = [
    ChainCase("3 0 1", goodChain, targets: target(record(3, 0, 1, good)), .valid(.dane, until: "latest")),
    ChainCase("3 1 2", goodChain, targets: target(record(3, 1, 2, good)), .valid(.dane, until: "latest")),
    ChainCase(
      "3 1 1 of a self-signed one, expired and without a name", [ownSigned.der],
      targets: target(record(3, 1, 1, ownSigned)), .valid(.dane, until: "latest")),
    ChainCase("3 0 0", [ownSigned.der], targets: target(record(3, 0, 0, ownSigned)), .valid(.dane, until: "latest")),
    ChainCase("3 1 0", [ownSigned.der], targets: target(record(3, 1, 0, ownSigned)), .valid(.dane, until: "latest")),
    ChainCase("3 1 1 of another", goodChain, targets: target(record(3, 1, 1, other)), noMatch),
    ChainCase("3 1 1 of the authority", goodChain, targets: target(record(3, 1, 1, intermediate)), noMatch),
    ChainCase(
      "one of two", goodChain, targets: target(record(3, 1, 1, other), record(3, 1, 1, good)),
      .valid(.dane, until: "latest")),
    ChainCase(
      "the last of sixteen", goodChain, targets: target(lastOf: 16), .valid(.dane, until: "latest")),
    ChainCase(
      "the seventeenth is not looked at", goodChain, targets: target(lastOf: 17), noMatch),
    ChainCase(
      "the stronger digest counts", goodChain, targets: target(record(3, 1, 2, other), record(3, 1, 1, good)), noMatch),
    ChainCase("1 1 1", goodChain, targets: target(record(1, 1, 1, good)), valid),
    ChainCase(
      "1 1 1 of a self-signed one", [ownSigned.der], targets: target(record(1, 1, 1, ownSigned)),
      invalid(
        "it must match a TLSA record of xmpp.host.example, but it names no domain (the common name does not count), so"
          + " it is not for example.net; it expired on 2026-05-01; it is self-signed")),
    ChainCase("1 1 1 of another", goodChain, targets: target(record(1, 1, 1, other)), noMatch),
    ChainCase("0 0 1 of the root", goodChain, targets: target(record(0, 0, 1, root)), valid),
    ChainCase("0 1 1 of the intermediate", goodChain, targets: target(record(0, 1, 1, intermediate)), valid),
    ChainCase(
      "0 0 1 of another authority", goodChain, targets: target(record(0, 0, 1, stranger)),
      invalid(
        "it must match a TLSA record of xmpp.host.example, but none of its authorities is the one that the TLSA records"
          + " name")),
    ChainCase(
      "0 0 1 of an unknown authority", strangeChain, targets: target(record(0, 0, 1, stranger)),
      invalid(
        "it must match a TLSA record of xmpp.host.example, but it was issued by an authority that is not known here:"
          + " CN=Strange Root")),
    ChainCase("2 0 1, with the target's name", strangeChain, targets: target(record(2, 0, 1, stranger)), valid),
    ChainCase("2 1 1", strangeChain, targets: target(record(2, 1, 1, stranger)), valid),
    ChainCase(
      "2 0 1 of an authority that is not the root", goodChain, targets: target(record(2, 0, 1, intermediate)), valid),
    ChainCase("2 0 1 without the authority", [strange.der], targets: target(record(2, 0, 1, stranger)), noMatch),
    ChainCase("2 0 0 without the authority", [strange.der], targets: target(record(2, 0, 0, stranger)), valid),
    ChainCase("2 0 1 of another authority", strangeChain, targets: target(record(2, 0, 1, root)), noMatch),
    ChainCase(
      "2 0 1 with neither name", [Draft(names: [.dnsName("example.org")]).sign(by: stranger).der, stranger.der],
      targets: target(record(2, 0, 1, stranger)),
      invalid(
        "it must match a TLSA record of xmpp.host.example, but it is for example.org, not for example.net")),
    ChainCase(
      "records of no use are none (RFC 7673 4.1)", goodChain,
      targets: target(
        TLSARecord(usage: 255, selector: 1, matching: 1, data: .init(repeating: 0, count: 32)),
        TLSARecord(usage: 3, selector: 9, matching: 1, data: .init(repeating: 0, count: 32)),
        TLSARecord(usage: 3, selector: 1, matching: 7, data: .init(repeating: 0, count: 32)),
        TLSARecord(usage: 3, selector: 1, matching: 1, data: [1, 2, 3])), ChainCase.good()),
    ChainCase(
      "records that are not signed are none", goodChain,
      targets: [ServerTarget(name: host, port: 5269, isDirectTLS: false, tlsa: [record(3, 1, 1, other)])],
      ChainCase.good()),
    ChainCase(
      "who comes in is one of the targets", [ownSigned.der],
      targets: target(record(3, 1, 1, other)) + target(record(3, 1, 1, ownSigned)), .valid(.dane, until: "latest")),
    ChainCase(
      "who comes in is one of the targets, and one has no records", goodChain,
      targets: target(record(3, 1, 1, other))
        + [ServerTarget(name: "b.host.example", port: 5269, isDirectTLS: false, isSecure: true)], ChainCase.good()),
  ]

  @Test(arguments: cases) func aRecord(_ test: ChainCase) async { await check(test) }
}
