import Basics
import Peers
import Testing
import X509

@testable import ServerCertificates

/// A presented chain and what is said of it.
struct ChainCase: CustomTestStringConvertible, Sendable {
  enum Expected: Sendable {
    case valid(PeerProof, until: String)
    case invalid(String)
  }

  let testDescription: String
  var domain = "example.net"
  let chain: [[UInt8]]
  var targets: [ServerTarget] = []
  let expected: Expected

  init(
    _ name: String, _ chain: [[UInt8]], domain: String = "example.net", targets: [ServerTarget] = [],
    _ expected: Expected
  ) {
    (testDescription, self.chain, self.domain, self.targets, self.expected) = (name, chain, domain, targets, expected)
  }

  static func good(_ until: String = "2026-12-31") -> Expected { .valid(.pkix, until: until) }
}

struct FixedClock: Clock { var now: Timestamp { ServerCertificatesTests.now } }

/// The authorities of the tests: one that is known, one that is not.
let root = Draft.authority("Known Root").with { $0.until = "2036-01-01" }.sign()
let stranger = Draft.authority("Strange Root").with { $0.until = "2036-01-01" }.sign()
let intermediate = Draft.authority("Intermediate").with { $0.until = "2030-01-01" }.sign(by: root)
let oldRoot = Draft.authority("Old Root").with { ($0.from, $0.until) = ("2010-01-01", "2026-05-01") }.sign()
let firstVersionRoot = Draft.authority("First Root").with { $0.version = .v1 }.sign()
let shortRoot = Draft.authority("Short Root").with {
  $0.constraints = .isCertificateAuthority(maxPathLength: 0)
}.sign()
let pinned = Draft().with { $0.isAuthority = true }.sign()
let trusted = Authorities(
  [root, oldRoot, firstVersionRoot, shortRoot, pinned].map(\.certificate))

func verdict(_ test: ChainCase, posh: POSH? = nil) async -> PeerVerdict {
  await PeerVerifier(trusted, posh: posh, clock: FixedClock()).verify(
    test.chain, for: test.domain, targets: test.targets)
}

func check(_ test: ChainCase) async {
  let expected: PeerVerdict =
    switch test.expected {
    case .valid(let proof, let until):
      .valid(by: proof, until: until == "latest" ? .latest : Timestamp("\(until)T00:00:00Z")!)
    case .invalid(let reason): .invalid(reason: reason)
    }
  #expect(await verdict(test) == expected)
}
