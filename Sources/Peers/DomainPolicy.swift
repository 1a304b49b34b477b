package import Basics
package import Dialogs
import Synchronization

/// The current rules for remote domains, shared by links and streams. It also remembers domains with a recent valid
/// certificate, and accepts no weaker proof of these: otherwise an attacker who suppresses the certificate could pose as the
/// domain.
package final class DomainPolicy: Sendable {
  private struct State {
    var rules: DomainRules
    /// The domains with which local users communicate; these are also stored.
    var known = CertifiedDomains(
      max: PeerLimits.certificatesKnownMax, ofZoneMax: PeerLimits.certificatesPerKnownZoneMax)
    var others = CertifiedDomains(
      max: PeerLimits.certificatesMax, ofZoneMax: PeerLimits.certificatesPerZoneMax)
    /// The time of the next search for expired entries.
    var nextSweep: Timestamp

    func certifiedAt(_ domain: String) -> Timestamp? { known.time(of: domain) ?? others.time(of: domain) }
  }
  private let state: Mutex<State>
  private let verification: FederationOptions.Verification
  private let clock: any Clock

  package init(_ options: FederationOptions, clock: any Clock) {
    state = Mutex(State(rules: options.rules, nextSweep: clock.now + PeerLimits.certificateNoted))
    verification = options.verification
    self.clock = clock
  }

  package func admits(_ domain: String) -> Bool { state.withLock { $0.rules.admits(domain) } }

  /// Returns whether dialback alone proves a domain (XEP-0220).
  package func believesDialback(of domain: String) -> Bool {
    let now = clock.now
    return state.withLock { state in
      if let verified = state.certifiedAt(domain), now < verified + PeerLimits.certificateRemembered {
        return false
      }
      return verification == .dialback || state.rules.admitsUnverified(domain)
    }
  }

  package func change(_ body: (inout DomainRules) -> Void) { state.withLock { body(&$0.rules) } }

  /// Returns the time at which a certificate of a domain was last found valid, to a day; `nil` if it is not remembered.
  package func certifiedAt(_ domain: String) -> Timestamp? { state.withLock { $0.certifiedAt(domain) } }

  /// Records that the remote domain of a pair has presented a valid certificate. Returns whether the caller must store this, and the
  /// pairs whose stored proofs the caller must delete.
  ///
  /// - Parameter isKnown: Whether local users communicate with the domain. It stays known while its certificate is remembered, even
  ///   after a restart.
  package func verified(_ pair: DomainPair, at time: Timestamp, isKnown: Bool) -> (isNews: Bool, dropped: [DomainPair])
  {
    state.withLock { state in
      let last = state.known.time(of: pair.remote)
      guard isKnown || last != nil else {
        state.others.note(pair, at: time)
        return (false, [])
      }
      if let last, time < last + PeerLimits.certificateNoted { return (false, []) }
      state.others.remove(pair.remote)
      var dropped = state.known.note(pair, at: time)
      if time >= state.nextSweep {
        let start = time + (.zero - PeerLimits.certificateRemembered)
        let most = PeerLimits.certificatesForgottenAtOnce
        state.others.removeAll(before: start, atMost: .max)
        let old = state.known.removeAll(before: start, atMost: most)
        if old.count < most { state.nextSweep = time + PeerLimits.certificateNoted }
        dropped += old
      }
      return (true, dropped)
    }
  }
}
