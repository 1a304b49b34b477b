import Crypto
import CryptoExtras
import Peers
import SwiftASN1
import Testing
import X509

@testable import ServerCertificates

@Suite struct PKIXTests {
  @Test(arguments: names) func aName(_ test: ChainCase) async { await check(test) }
  @Test(arguments: datesAndUses) func aDateOrUse(_ test: ChainCase) async { await check(test) }
  @Test(arguments: paths) func aPath(_ test: ChainCase) async { await check(test) }
  @Test(arguments: malformed) func somethingMalformed(_ test: ChainCase) async { await check(test) }

  private static func named(_ names: GeneralName...) -> [[UInt8]] { [Draft(names: names).sign(by: root).der] }
  private static func invalid(_ flaw: String) -> ChainCase.Expected {
    .invalid("the certificate is not valid: " + flaw)
  }

  static let names: [ChainCase] = [
    ChainCase("the domain", named(.dnsName("example.net")), ChainCase.good()),
    ChainCase("in capitals", named(.dnsName("EXAMPLE.Net")), ChainCase.good()),
    ChainCase(
      "another domain", named(.dnsName("example.org")), invalid("it is for example.org, not for example.net")),
    ChainCase(
      "many other domains",
      named(
        .dnsName("a.org"), .dnsName("b.org"), .dnsName("c.org"), .dnsName("d.org"),
        .dnsName("e.org"), .dnsName("f.org"), .dnsName("g.org")),
      invalid("it is for a.org, b.org, c.org, d.org, e.org and 2 more, not for example.net")),
    ChainCase(
      "a domain below", named(.dnsName("chat.example.net")), invalid("it is for chat.example.net, not for example.net")),
    ChainCase("the domain among others", named(.dnsName("a.org"), .dnsName("example.net")), ChainCase.good()),
    ChainCase("a wildcard", named(.dnsName("*.example.net")), domain: "chat.example.net", ChainCase.good()),
    ChainCase(
      "a wildcard two labels deep", named(.dnsName("*.example.net")), domain: "a.chat.example.net",
      invalid("it is for *.example.net, not for a.chat.example.net")),
    ChainCase(
      "a wildcard and its own domain", named(.dnsName("*.example.net")),
      invalid("it is for *.example.net, not for example.net")),
    ChainCase(
      "a wildcard below a top-level domain", named(.dnsName("*.net")), invalid("it is for *.net, not for example.net")),
    ChainCase(
      "a wildcard in a label", named(.dnsName("ch*.example.net")), domain: "chat.example.net",
      invalid("it is for ch*.example.net, not for chat.example.net")),
    ChainCase(
      "a wildcard in the second label", named(.dnsName("chat.*.net")), domain: "chat.example.net",
      invalid("it is for chat.*.net, not for chat.example.net")),
    ChainCase(
      "a bare wildcard", named(.dnsName("*")), domain: "localhost", invalid("it is for *, not for localhost")),
    ChainCase(
      "the common name alone", [Draft(names: nil).sign(by: root).der],
      invalid("it names no domain (the common name does not count), so it is not for example.net")),
    ChainCase(
      "the common name beside another name", named(.dnsName("example.org")),
      invalid("it is for example.org, not for example.net")),
    ChainCase(
      "names of other kinds alone", named(.rfc822Name("a@example.net"), .uniformResourceIdentifier("xmpp:example.net")),
      invalid("it names no domain (the common name does not count), so it is not for example.net")),
    ChainCase("an SRVName", named(.srvName("_xmpp-server.example.net")), ChainCase.good()),
    ChainCase(
      "an SRVName of another service", named(.srvName("_xmpp-client.example.net")),
      invalid("it names no domain (the common name does not count), so it is not for example.net")),
    ChainCase(
      "an SRVName with a wildcard", named(.srvName("_xmpp-server.*.example.net")), domain: "a.example.net",
      invalid("it is for *.example.net, not for a.example.net")),
    ChainCase("an XmppAddr", named(.xmppAddr("example.net")), ChainCase.good()),
    ChainCase(
      "an XmppAddr of a user", named(.xmppAddr("juliet@example.net")),
      invalid("it names no domain (the common name does not count), so it is not for example.net")),
    ChainCase(
      "an IDN in A-labels", named(.dnsName("xn--mnchen-3ya.example")), domain: "münchen.example", ChainCase.good()),
    ChainCase(
      "an IDN as an XmppAddr", named(.xmppAddr("München.example")), domain: "münchen.example", ChainCase.good()),
    ChainCase(
      "an IDN below a wildcard", named(.dnsName("*.example.net")), domain: "bücher.example.net", ChainCase.good()),
    ChainCase(
      "a name with control characters", named(.dnsName("a\u{1b}[2Jb.org")),
      invalid("it is for a\\u{1b}[2jb.org, not for example.net")),
    ChainCase(
      "the name of an unsigned target", named(.dnsName("xmpp.host.example")),
      targets: [ServerTarget(name: "xmpp.host.example", port: 5269, isDirectTLS: false)],
      invalid("it is for xmpp.host.example, not for example.net")),
    ChainCase(
      "the name of a signed target (RFC 7673 4.1)", named(.dnsName("xmpp.host.example")),
      targets: [ServerTarget(name: "xmpp.host.example", port: 5269, isDirectTLS: false, isSecure: true)],
      ChainCase.good()),
  ]

  private static func leaf(_ change: (inout Draft) -> Void) -> [[UInt8]] { [Draft().with(change).sign(by: root).der] }

  static let datesAndUses: [ChainCase] = [
    ChainCase("expired", leaf { $0.until = "2026-05-31" }, invalid("it expired on 2026-05-31")),
    ChainCase("not yet valid", leaf { $0.from = "2026-06-02" }, invalid("it is not valid before 2026-06-02")),
    ChainCase(
      "expired and for another domain",
      leaf { ($0.until, $0.names) = ("2026-05-31", [.dnsName("example.org")]) },
      invalid("it is for example.org, not for example.net; it expired on 2026-05-31")),
    ChainCase("for servers", leaf { $0.usages = [.serverAuth] }, ChainCase.good()),
    ChainCase("for servers and clients", leaf { $0.usages = [.serverAuth, .clientAuth] }, ChainCase.good()),
    ChainCase("for anything", leaf { $0.usages = [.any] }, ChainCase.good()),
    ChainCase(
      "for clients alone", leaf { $0.usages = [.clientAuth] },
      invalid("its extended key usage does not allow servers (serverAuth)")),
    ChainCase(
      "an unknown critical extension",
      leaf { $0.more = [Certificate.Extension(oid: [1, 2, 3, 4], critical: true, value: [5, 0])] },
      invalid("it has the critical extension 1.2.3.4, which is not understood")),
    ChainCase(
      "an unknown extension that is not critical",
      leaf { $0.more = [Certificate.Extension(oid: [1, 2, 3, 4], critical: false, value: [5, 0])] }, ChainCase.good()),
    ChainCase("no constraints of its own", leaf { $0.hasConstraints = false }, ChainCase.good()),
  ]

  private static let leafOfIntermediate = Draft().sign(by: intermediate)

  static let paths: [ChainCase] = [
    ChainCase("an intermediate", [leafOfIntermediate.der, intermediate.der], ChainCase.good()),
    ChainCase(
      "in disorder, with the root and a stray",
      [leafOfIntermediate.der, root.der, stranger.der, intermediate.der], ChainCase.good()),
    ChainCase(
      "an intermediate that is missing", [leafOfIntermediate.der],
      invalid(
        "it was issued by an authority that is not known here, and whose certificate was not presented: CN=Intermediate"
      )),
    ChainCase(
      "self-signed", [Draft().sign().der], invalid("it is self-signed")),
    ChainCase(
      "self-signed and for another domain", [Draft(names: [.dnsName("example.org")]).sign().der],
      invalid("it is for example.org, not for example.net; it is self-signed")),
    ChainCase("self-signed, and named by the operator", [pinned.der], ChainCase.good()),
    ChainCase(
      "an unknown authority", [Draft().sign(by: stranger).der, stranger.der],
      invalid("it was issued by an authority that is not known here: CN=Strange Root")),
    ChainCase(
      "an authority with a known one's name", [Draft().sign(by: stranger, forging: "Known Root").der],
      invalid("its chain has a signature that is not by CN=Known Root")),
    ChainCase(
      "an intermediate that is no authority",
      {
        let other = Draft(subject: "other", names: [.dnsName("other.example")]).sign(by: root)
        return [Draft().sign(by: other).der, other.der]
      }(), invalid("its issuer CN=other is not an authority")),
    ChainCase(
      "an intermediate of version 1",
      {
        let old = Draft(subject: "old", version: .v1).sign(by: root)
        return [Draft().sign(by: old).der, old.der]
      }(), invalid("its issuer CN=old is not an authority")),
    ChainCase("a root of version 1", [Draft().sign(by: firstVersionRoot).der], ChainCase.good()),
    ChainCase(
      "a root that has expired", [Draft().sign(by: oldRoot).der],
      invalid("its authority CN=Old Root expired on 2026-05-01")),
    ChainCase(
      "an intermediate that has expired",
      {
        let old = Draft.authority("Stale").with { $0.until = "2026-05-01" }.sign(by: root)
        return [Draft().sign(by: old).der, old.der]
      }(), invalid("its authority CN=Stale expired on 2026-05-01")),
    ChainCase(
      "an intermediate that expires first",
      {
        let brief = Draft.authority("Brief").with { $0.until = "2026-07-01" }.sign(by: root)
        return [Draft().sign(by: brief).der, brief.der]
      }(), ChainCase.good("2026-07-01")),
    ChainCase("a path within its length", [Draft().sign(by: shortRoot).der], ChainCase.good()),
    ChainCase(
      "a path that is too long",
      {
        let below = Draft.authority("Below").sign(by: shortRoot)
        return [Draft().sign(by: below).der, below.der]
      }(), invalid("its authority CN=Short Root may not have further authorities below it")),
    ChainCase(
      "an intermediate for mail alone",
      {
        let mail = Draft.authority("Mail").with { $0.usages = [.emailProtection] }.sign(by: root)
        return [Draft().sign(by: mail).der, mail.der]
      }(), invalid("its authority CN=Mail may not issue certificates for servers")),
    ChainCase(
      "a permitted name", constrained(NameConstraints(permittedDNSDomains: ["example.net"])), ChainCase.good()),
    ChainCase(
      "a name that is not permitted", constrained(NameConstraints(permittedDNSDomains: ["example.org"])),
      invalid("its authority CN=Constrained may not issue certificates for example.net")),
    ChainCase(
      "an excluded name", constrained(NameConstraints(excludedDNSDomains: ["net"])),
      invalid("its authority CN=Constrained may not issue certificates for example.net")),
    ChainCase(
      "an SRVName beside the constraints",
      constrained(NameConstraints(permittedDNSDomains: ["example.org"]), .srvName("_xmpp-server.example.net")),
      invalid("its authority CN=Constrained may not issue certificates for example.net")),
    ChainCase(
      "an XmppAddr beside the constraints",
      constrained(NameConstraints(excludedDNSDomains: ["example.net"]), .xmppAddr("example.net")),
      invalid("its authority CN=Constrained may not issue certificates for example.net")),
    ChainCase(
      "a wildcard around an excluded name",
      constrained(NameConstraints(excludedDNSDomains: ["chat.example.net"]), .dnsName("*.example.net")),
      domain: "chat.example.net",
      invalid("its authority CN=Constrained may not issue certificates for chat.example.net")),
    ChainCase(
      "another name that is not permitted",
      constrained(
        NameConstraints(permittedDNSDomains: ["example.net"]), .dnsName("example.net"), .dnsName("example.org")),
      invalid("an authority in its chain may not issue certificates for its names")),
    ChainCase(
      "a cross-certificate",
      {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let draft = Draft.authority("Crossed")
        let (strange, known) = (draft.sign(by: stranger, key: key), draft.sign(by: root, key: key))
        return [Draft().sign(by: known).der, strange.der, known.der]
      }(), ChainCase.good()),
    ChainCase(
      "nine authorities in disorder",
      {
        var chain = [root]
        for number in 1...9 { chain.append(Draft.authority("Step \(number)").sign(by: chain.last!)) }
        return [Draft().sign(by: chain.last!).der] + chain.dropFirst().map(\.der)
      }(), ChainCase.good()),
    ChainCase(
      "a hundred names below an authority of ten domains",
      constrained(NameConstraints(permittedDNSDomains: trees(9, and: "example.net")), manyNames(100)),
      ChainCase.good()),
    ChainCase(
      "keys of P-384",
      {
        let key = Certificate.PrivateKey(P384.Signing.PrivateKey())
        let issuer = Draft.authority("P-384").sign(by: root, key: key)
        return [Draft(algorithm: .ecdsaWithSHA384).sign(by: issuer).der, issuer.der]
      }(), ChainCase.good()),
    ChainCase(
      "SHA-1",
      {
        let key = made { try Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits2048)) }
        let rsa = Draft.authority("RSA").sign(by: root, key: key)
        return [Draft(algorithm: .sha1WithRSAEncryption).sign(by: rsa).der, rsa.der]
      }(), invalid("its chain is signed with SHA-1, which is not safe")),
    ChainCase(
      "RSA",
      {
        let key = made { try Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits2048)) }
        let rsa = Draft.authority("RSA").sign(by: root, key: key)
        return [Draft(algorithm: .sha256WithRSAEncryption).sign(by: rsa).der, rsa.der]
      }(), ChainCase.good()),
  ]

  private static func constrained(_ constraints: NameConstraints, _ names: GeneralName...) -> [[UInt8]] {
    constrained(constraints, names)
  }

  /// Names of trees for name constraints.
  private static func trees(_ count: Int, and more: String? = nil) -> [String] {
    (0..<count).map { "domain\($0).example" } + [more].compactMap { $0 }
  }

  /// Names with example.net as the first.
  private static func manyNames(_ count: Int) -> [GeneralName] {
    (0..<count).map { GeneralName.dnsName($0 == 0 ? "example.net" : "a\($0).example.net") }
  }

  private static func constrained(_ constraints: NameConstraints, _ names: [GeneralName]) -> [[UInt8]] {
    let issuer = Draft.authority("Constrained").with { $0.nameConstraints = constraints }.sign(by: root)
    return [Draft(names: names.isEmpty ? [.dnsName("example.net")] : names).sign(by: issuer).der, issuer.der]
  }

  static let malformed: [ChainCase] = [
    ChainCase("none", [], .invalid("no certificate was presented")),
    ChainCase(
      "an empty sequence", [[0x30, 0]], invalid("it cannot be read, or its key is of an unknown or weak kind")),
    ChainCase(
      "other bytes", [Array("GET / HTTP/1.1".utf8)],
      invalid("it cannot be read, or its key is of an unknown or weak kind")),
    ChainCase(
      "a certificate with something behind it", [Draft().sign(by: root).der + [0]],
      invalid("it cannot be read, or its key is of an unknown or weak kind")),
    ChainCase(
      "a certificate that is cut short", [Draft().sign(by: root).der.dropLast()],
      invalid("it cannot be read, or its key is of an unknown or weak kind")),
    ChainCase("other bytes behind a good one", [Draft().sign(by: root).der, [0x30, 0], [1, 2, 3]], ChainCase.good()),
    ChainCase(
      "too many", [Draft().sign(by: root).der] + (0..<10).map { _ in stranger.der },
      invalid("it came with more than 9 others")),
    ChainCase(
      "too long",
      [
        Draft(
          more: [Certificate.Extension(oid: [1, 2, 3, 4], critical: false, value: .init(repeating: 0, count: 70_000))]
        ).sign(by: root).der
      ],
      invalid("it and its chain have more than 64 KiB")),
    ChainCase(
      "too many names", [Draft(names: (0..<513).map { .dnsName("a\($0).example.net") }).sign(by: root).der],
      invalid("it has more than 512 names")),
    ChainCase(
      "authorities that all have one name",
      {
        var chain = [stranger]
        for _ in 0..<8 { chain.append(Draft.authority("Same").sign(by: chain.last!, forging: "Same")) }
        return [Draft().sign(by: chain.last!).der] + chain.map(\.der)
      }(), invalid("its chain has more possible issuers than are tried")),
    ChainCase(
      "authorities that all have one name and one key, so that each may have issued each",
      {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let alike = (0..<9).map { number in
          Draft.authority("Same").with { $0.names = [.dnsName("a\(number).example")] }.sign(key: key)
        }
        return [Draft().sign(by: alike[0]).der] + alike.map(\.der)
      }(), invalid("its chain has more possible issuers than are tried")),
    ChainCase(
      "many names below an authority with many constraints",
      constrained(NameConstraints(excludedDNSDomains: trees(1_500)), manyNames(500)),
      invalid("its chain has more names and name constraints than are compared")),
  ]
}
