import Basics
import Synchronization

/// The current rules for domains elsewhere, shared by links and streams. It also knows which domains had a valid
/// certificate lately: a weaker proof is not accepted of these, since whoever removes the certificate of a stream could
/// otherwise take the domain's place.
final class DomainPolicy: Sendable {
  private struct State {
    var rules: DomainRules
    var verifiedAt: [String: Timestamp] = [:]
  }
  private let state: Mutex<State>
  private let verification: FederationOptions.Verification
  private let clock: any Clock

  init(_ options: FederationOptions, clock: any Clock) {
    state = Mutex(State(rules: options.rules))
    verification = options.verification
    self.clock = clock
  }

  func admits(_ domain: String) -> Bool { state.withLock { $0.rules.admits(domain) } }

  /// Returns whether dialback alone proves a domain (XEP-0220).
  func believesDialback(of domain: String) -> Bool {
    let now = clock.now
    return state.withLock { state in
      if let verified = state.verifiedAt[domain], now < verified + FederationLimits.certificateRemembered {
        return false
      }
      return verification == .dialback || state.rules.admitsUnverified(domain)
    }
  }

  func change(_ body: (inout DomainRules) -> Void) { state.withLock { body(&$0.rules) } }

  /// Notes that a certificate of a domain was found valid. Returns whether that is news worth storing.
  func verified(_ domain: String, at time: Timestamp) -> Bool {
    state.withLock { state in
      let isKnown = state.verifiedAt[domain].map { time < $0 + FederationLimits.certificateNoted } ?? false
      if !isKnown { state.verifiedAt[domain] = time }
      return !isKnown
    }
  }
}
