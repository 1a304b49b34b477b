import Dialogs
import Synchronization

/// The order in which servers that open streams are judged: their certificates for the domains that they name. Theory:
///
/// Each judgement asks the DNS about a domain that the other side chooses. So the networks that streams come from
/// take turns, each with few judgements under way, and so do the zones of the domains (`DomainZone`), as one owner has as many networks
/// of IPv6 as subdomains. What waits keeps its place after its stream has ended, so it is bounded: a network has so many, and when all
/// have too many, those alone add one that have few.
final class JudgementTurns: Sendable {
  /// A judgement, which calls `end` once, from any thread.
  typealias Judgement = @Sendable (_ end: @escaping @Sendable () -> Void) -> Void

  private struct Job: Sendable {
    let zone: String
    let begin: @Sendable () -> Void
  }

  private struct State {
    var networks: Turns<String, Job>
    var zones: Turns<String, Job>
    /// The judgements that wait or are under way: all, and those of each network.
    var all = 0
    var counts: [String?: Int] = [:]

    /// Counts one more judgement of a network, or one less.
    mutating func count(_ change: Int, of network: String?) {
      all += change
      let left = counts[network, default: 0] + change
      counts[network] = left > 0 ? left : nil
    }

    /// Begins what may begin: first in the turn of its network, then in that of its zone.
    mutating func next() -> [Job] {
      while let next = networks.next() { zones.add(next.job, of: next.job.zone) }
      var begun: [Job] = []
      while let next = zones.next() { begun.append(next.job) }
      return begun
    }
  }

  private let state: Mutex<State>
  private let perNetworkMax: Int
  private let heldMax: Int
  private let heldPerNetworkMax: Int

  init(
    max: Int = FederationLimits.judgementsMax, perNetworkMax: Int = FederationLimits.judgementsPerNetworkMax,
    perZoneMax: Int = FederationLimits.judgementsPerZoneMax, heldMax: Int = FederationLimits.judgementsHeldMax,
    heldPerNetworkMax: Int = FederationLimits.judgementsHeldPerNetworkMax
  ) {
    self.perNetworkMax = perNetworkMax
    self.heldMax = heldMax
    self.heldPerNetworkMax = heldPerNetworkMax
    state = Mutex(
      State(
        networks: Turns(max: .max, perOwnerMax: perNetworkMax), zones: Turns(max: max, perOwnerMax: perZoneMax)))
  }

  /// Runs a judgement in its turn, which lasts until it calls `end`. Returns `false` if too many wait: then it does not run.
  ///
  /// - Parameters:
  ///   - network: The network that the stream comes from; `nil` if networks are not distinguished.
  ///   - zone: The zone of the domain that is judged, or the domain itself where somebody here has acquaintances.
  func run(of network: String?, _ zone: String, _ judgement: @escaping Judgement) -> Bool {
    let begin: @Sendable () -> Void = { [self] in judgement { [self] in end(network, zone) } }
    let begun: [Job]? = state.withLock { state in
      let held = state.counts[network, default: 0]
      guard held < (network == nil ? heldMax : heldPerNetworkMax), state.all < heldMax || held < perNetworkMax else {
        return nil
      }
      state.count(1, of: network)
      state.networks.add(Job(zone: zone, begin: begin), of: network)
      return state.next()
    }
    guard let begun else { return false }
    for job in begun { job.begin() }
    return true
  }

  private func end(_ network: String?, _ zone: String) {
    let begun = state.withLock { state in
      state.count(-1, of: network)
      state.networks.end(network)
      state.zones.end(zone)
      return state.next()
    }
    for job in begun { job.begin() }
  }
}
