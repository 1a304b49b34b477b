import Testing

@testable import Peers

@Suite struct OwnDomainCheckTests {
  /// The certificate may name the domain, and be of an authority that only the servers of a private network know.
  @Test func theAdviceOnACertificateNamesTheKeyForAnAuthorityOfOnesOwn() {
    let advice = OwnDomainCheck.advice(on: "example.org", isAlone: false)
    #expect(advice.hasPrefix("get one that names example.org from an authority that other servers know"))
    #expect(advice.contains("federation.authorities"))
    let alone = OwnDomainCheck.advice(on: "example.org", isAlone: true)
    #expect(alone.contains("fullchain.pem") && alone.hasSuffix(advice))
  }

  /// The records of a domain whose name servers do not answer may be right.
  @Test(
    arguments: [
      (.noSuchDomain(isAuthentic: false), true), (.refused, true), (.unreachable(reasons: []), false),
      (.timedOut(reasons: []), false),
    ] as [(DialFailure, Bool)])
  func aRecordIsAdvisedWhereThereIsNone(_ failure: DialFailure, isAdvised: Bool) {
    let remedy = OwnDomainCheck.remedy(for: failure, records: "add a record")
    #expect((remedy == "add a record") == isAdvised)
    #expect(remedy.hasPrefix("see the name servers of the domain") != isAdvised)
  }
}
