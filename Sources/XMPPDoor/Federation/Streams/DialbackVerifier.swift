import Addresses
import Basics
import NIOCore
import XMPP

/// Verifies dialback keys with the servers of the domains that they should prove (XEP-0220 2.1.2), within bounds: anybody
/// can make this server call back a server of their choice.
final class DialbackVerifier: Sendable {
  private let state = Locked(State())
  private let callbacksMax: Int
  private let now: @Sendable () -> NIODeadline

  private struct State {
    /// The number of callbacks under way: in total, by domain, and by zone.
    var count = 0
    var underWay: [String: Int] = [:]
    var underWayOfZones: [String: Int] = [:]
    /// The verdicts of the last minutes, oldest first, so that a key that is sent repeatedly is verified once.
    var verdicts: [DialbackRequest: (verdict: DialbackVerdict, until: NIODeadline)] = [:]
    var order: [DialbackRequest] = []
  }

  init(
    callbacksMax: Int = FederationLimits.callbacksMax, now: @escaping @Sendable () -> NIODeadline = { .now() }
  ) {
    self.callbacksMax = callbacksMax
    self.now = now
  }

  /// Returns the verdict on a key; `resource-constraint` at a bound.
  ///
  /// - Parameter ask: Asks the authoritative server. It must end in bounded time.
  func verify(
    _ request: DialbackRequest, asking ask: (DialbackRequest) async -> DialbackVerdict
  ) async -> DialbackVerdict {
    let domain = request.pair.sender
    let zone = DomainZone.of(domain)
    let time = now()
    let known: DialbackVerdict? = state.withLock { state in
      if let known = state.verdicts[request], known.until > time { return known.verdict }
      guard state.count < callbacksMax, state.underWay[domain, default: 0] < FederationLimits.callbacksPerDomainMax,
        state.underWayOfZones[zone, default: 0] < max(1, callbacksMax / FederationLimits.callbacksZoneShare)
      else { return .error(.resourceConstraint) }
      state.count += 1
      state.underWay[domain, default: 0] += 1
      state.underWayOfZones[zone, default: 0] += 1
      return nil
    }
    if let known { return known }
    var verdict = await ask(request)
    // XEP-0220 2.4: an error of the authoritative server is reported as if the server was not found.
    if verdict == .error(.itemNotFound) { verdict = .error(.remoteServerNotFound) }
    let final = verdict
    state.withLock { state in
      let left = state.underWay[domain, default: 0] - 1
      let leftOfZone = state.underWayOfZones[zone, default: 0] - 1
      state.count -= 1
      state.underWay[domain] = left > 0 ? left : nil
      state.underWayOfZones[zone] = leftOfZone > 0 ? leftOfZone : nil
      if state.order.count >= FederationStreamLimits.verdictsMax { state.verdicts[state.order.removeFirst()] = nil }
      state.order.removeAll { $0 == request }
      state.order.append(request)
      state.verdicts[request] = (final, time + FederationStreamLimits.verdictKept)
    }
    return final
  }
}
