import Dialogs
import Synchronization

/// The order in which the certificates of servers that open streams are judged. Theory:
///
/// Each judgement asks the DNS about a domain that the other side chooses. So the networks that streams come from
/// take turns, each with few judgements under way, and so do the zones of the domains (`DomainZone`), as one owner has as many networks
/// of IPv6 as subdomains. Many servers may be behind the address of a host, so the zones of one network take turns as well, with few
/// judgements each, and domains with acquaintances here count as a network of their own. What waits keeps its place after its stream
/// has ended, so it is bounded: a network has so many, and when all have too many, those alone add one that have few.
final class JudgementTurns: Sendable {
  /// A judgement, which calls `end` once, from any thread.
  typealias Judgement = @Sendable (_ end: @escaping @Sendable () -> Void) -> Void

  private struct Job: Sendable {
    let zone: String
    let begin: @Sendable () -> Void
  }

  /// A network's domains with acquaintances here, or its other ones, and those of a zone among them.
  private struct Line: Hashable, Sendable {
    let network: String
    let isKnown: Bool
    var zone: String?

    func of(_ zone: String) -> Line { Line(network: network, isKnown: isKnown, zone: zone) }
  }

  private struct State {
    var networks: Turns<Line, Job>
    var zones: Turns<String, Job>
    /// The number of judgements that wait or are under way: in total, and of each network.
    var all = 0
    var counts: [Line?: Int] = [:]

    /// Counts one more judgement of a network, or one less.
    mutating func count(_ change: Int, of network: Line?) {
      all += change
      let left = counts[network, default: 0] + change
      counts[network] = left > 0 ? left : nil
    }

    /// Returns the judgements that may begin, by the rotation of networks and then of zones.
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
    perNetworkZoneMax: Int = FederationLimits.judgementsPerNetworkZoneMax,
    perZoneMax: Int = FederationLimits.judgementsPerZoneMax, heldMax: Int = FederationLimits.judgementsHeldMax,
    heldPerNetworkMax: Int = FederationLimits.judgementsHeldPerNetworkMax
  ) {
    self.perNetworkMax = perNetworkMax
    self.heldMax = heldMax
    self.heldPerNetworkMax = heldPerNetworkMax
    state = Mutex(
      State(
        networks: Turns(max: .max, perOwnerMax: perNetworkZoneMax, perNetworkMax: perNetworkMax),
        zones: Turns(max: max, perOwnerMax: perZoneMax)))
  }

  /// Queues a judgement, which is under way until it calls `end`. Returns `false` if too many wait: then it never runs.
  ///
  /// - Parameters:
  ///   - network: The network that the stream comes from; `nil` if networks are not distinguished.
  ///   - zone: The zone of the domain that is judged, or the domain itself if local users know users of it.
  ///   - isKnown: Whether somebody here has acquaintances there.
  func run(of network: String?, _ zone: String, isKnown: Bool = false, _ judgement: @escaping Judgement) -> Bool {
    let network = network.map { Line(network: $0, isKnown: isKnown) }
    let begin: @Sendable () -> Void = { [self] in judgement { [self] in end(network, zone) } }
    let begun: [Job]? = state.withLock { state in
      let held = state.counts[network, default: 0]
      guard held < (network == nil ? heldMax : heldPerNetworkMax), state.all < heldMax || held < perNetworkMax else {
        return nil
      }
      state.count(1, of: network)
      state.networks.add(Job(zone: zone, begin: begin), of: network?.of(zone), in: network)
      return state.next()
    }
    guard let begun else { return false }
    for job in begun { job.begin() }
    return true
  }

  private func end(_ network: Line?, _ zone: String) {
    let begun = state.withLock { state in
      state.count(-1, of: network)
      state.networks.end(network?.of(zone), in: network)
      state.zones.end(zone)
      return state.next()
    }
    for job in begun { job.begin() }
  }
}
