package import Dialogs
import HTTPPort
package import Peers

/// Tries out a domain elsewhere step by step: the DNS, each target, TLS, the certificate, authentication, a ping.
package enum TestFederation: AdminOperation {
  package static let name = "federation.test"
  package static let routes = [AdminRoute(.post, "/federation/{domain}/tests", .federationWrite)]
  package static let needsServer = true

  package struct Input: Codable, Sendable {
    let domain: String
    /// The domain here in whose name it is tried; nil for the first.
    let from: String?
    package init(domain: String, from: String?) {
      self.domain = domain
      self.from = from
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let steps: [FederationTestStep]
    package var hasPassed: Bool { steps.allSatisfy(\.hasPassed) }
    /// A line for each step.
    package var lines: [String] { steps.map { "\($0.hasPassed ? "PASS" : "FAIL") \($0.step): \($0.text)" } }
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let domain = try FederationInput(domain: input.domain).elsewhere()
    let (federation, local) = (try context.runningFederation(), try context.realm(input.from).domain)
    return Output(steps: await federation.test(domain, from: local))
  }
}
