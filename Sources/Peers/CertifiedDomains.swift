import Addresses
import Basics
import Dialogs

/// Domains elsewhere whose certificates were found valid, as a value. There are at most so many of them, and so many of one zone
/// (`DomainZone`). At a bound the zone, or the one with the most of them, loses an eighth of its domains, the oldest ones: so nobody makes
/// domains of other zones be forgotten by subdomains, and most new domains cost no search for the oldest ones.
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

  /// Notes a valid certificate of the domain elsewhere. Returns the pairs that were noted and are not any more.
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
