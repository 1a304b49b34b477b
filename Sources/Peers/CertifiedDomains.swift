import Addresses
import Basics
import Dialogs

/// Remote domains whose certificates were found valid, as a value. Their number is bounded, in total and for each zone (`DomainZone`).
/// At a bound the zone, or the zone with the most domains, loses the oldest eighth of its domains: so nobody can displace domains of
/// other zones by subdomains, and most new domains need no search for the oldest ones.
struct CertifiedDomains {
  private struct Proof {
    let pair: DomainPair
    let at: Timestamp
  }
  private var zones: [String: [String: Proof]] = [:]
  private(set) var count = 0
  private let max: Int
  private let ofZoneMax: Int

  init(max: Int, ofZoneMax: Int) { (self.max, self.ofZoneMax) = (max, ofZoneMax) }

  /// Returns the time at which a certificate of the domain was noted last.
  func time(of domain: String) -> Timestamp? { zones[DomainZone.of(domain)]?[domain]?.at }

  /// Notes a valid certificate of the remote domain. Returns the pairs that are forgotten for it.
  @discardableResult
  mutating func note(_ pair: DomainPair, at time: Timestamp) -> [DomainPair] {
    let zone = DomainZone.of(pair.remote)
    if let old = zones[zone]?[pair.remote] {
      let isNewer = time >= old.at
      if isNewer { zones[zone]?[pair.remote] = Proof(pair: pair, at: time) }
      return old.pair == pair ? [] : [isNewer ? old.pair : pair]
    }
    zones[zone, default: [:]][pair.remote] = Proof(pair: pair, at: time)
    count += 1
    if (zones[zone]?.count ?? 0) > ofZoneMax { return removeOldest(of: zone) }
    guard count > max, let most = zones.max(by: { $0.value.count < $1.value.count })?.key else { return [] }
    return removeOldest(of: most)
  }

  private mutating func removeOldest(of zone: String) -> [DomainPair] {
    let proofs = (zones[zone] ?? [:]).values.sorted { $0.at < $1.at }
    let oldest = proofs.prefix(Swift.max(1, proofs.count / 8)).map(\.pair)
    for pair in oldest { remove(pair.remote) }
    return oldest
  }

  mutating func remove(_ domain: String) {
    let zone = DomainZone.of(domain)
    guard zones[zone]?.removeValue(forKey: domain) != nil else { return }
    count -= 1
    if zones[zone]?.isEmpty == true { zones[zone] = nil }
  }

  /// Removes domains that were noted before a time, at most so many. Returns their pairs.
  @discardableResult
  mutating func removeAll(before time: Timestamp, atMost most: Int) -> [DomainPair] {
    var old: [DomainPair] = []
    for proofs in zones.values {
      for proof in proofs.values where proof.at < time && old.count < most { old.append(proof.pair) }
    }
    for pair in old { remove(pair.remote) }
    return old
  }
}
