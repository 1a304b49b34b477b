import Addresses

/// A pattern of a block list as it is stored: the ranks of a list increase in the user's order.
public struct RankedBlock: Hashable, Sendable {
  public let rank: Int
  public let pattern: BlockPattern

  public init(rank: Int, pattern: BlockPattern) {
    self.rank = rank
    self.pattern = pattern
  }
}

/// The patterns of a user's block list (XEP-0191), in which an address is looked up: a long list costs as little as a short
/// one. A change names the rows that differ, so that the store writes these alone.
struct BlockList: Sendable {
  /// The patterns in the user's order.
  private(set) var patterns: [BlockPattern]
  /// The rank of each of them.
  private var ranks: [Int]
  /// Their normal forms. Only a domain with a resource is looked for in a form of its own, which few lists have.
  private var forms: Set<String>
  /// The number of domains with a resource.
  private var domainResources: Int
  /// The bytes of the list in memory, about.
  private(set) var heldBytes: Int

  /// Creates the list from its rows, by rank.
  init(_ blocks: [RankedBlock]) {
    patterns = blocks.map(\.pattern)
    ranks = blocks.map(\.rank)
    forms = Set(patterns.map(\.jid.description))
    domainResources = patterns.count(where: { $0.isDomainResource })
    heldBytes = patterns.reduce(0) { $0 + $1.heldBytes }
  }

  var isEmpty: Bool { patterns.isEmpty }

  func contains(_ pattern: BlockPattern) -> Bool { forms.contains(pattern.jid.description) }

  /// Adds patterns that are not in the list behind the others. Returns their rows.
  mutating func add(_ added: [BlockPattern]) -> [RankedBlock] {
    let first = (ranks.last ?? -1) + 1
    let blocks = added.enumerated().map { RankedBlock(rank: first + $0.offset, pattern: $0.element) }
    for block in blocks {
      patterns.append(block.pattern)
      ranks.append(block.rank)
      forms.insert(block.pattern.jid.description)
      heldBytes += block.pattern.heldBytes
      if block.pattern.isDomainResource { domainResources += 1 }
    }
    return blocks
  }

  /// Removes patterns; an empty set removes all. Returns their rows in the order of the list.
  mutating func remove(_ named: Set<BlockPattern>) -> [RankedBlock] {
    let places = patterns.indices.filter { named.isEmpty || named.contains(patterns[$0]) }
    let gone = places.map { RankedBlock(rank: ranks[$0], pattern: patterns[$0]) }
    for place in places.reversed() {
      patterns.remove(at: place)
      ranks.remove(at: place)
    }
    for block in gone {
      forms.remove(block.pattern.jid.description)
      heldBytes -= block.pattern.heldBytes
      if block.pattern.isDomainResource { domainResources -= 1 }
    }
    return gone
  }

  /// Returns whether a stanza from or to an address is blocked, as one of the patterns matches it.
  func blocks(_ other: JID) -> Bool {
    if forms.isEmpty { return false }
    if forms.contains(other.description) || forms.contains(other.domain) { return true }
    guard let resource = other.resource else { return false }
    return forms.contains(other.bare.description)
      || domainResources > 0 && forms.contains("\(other.domain)/\(resource)")
  }
}

extension BlockPattern {
  fileprivate var isDomainResource: Bool { jid.local == nil && jid.resource != nil }
  /// The bytes of the pattern in a list, about.
  fileprivate var heldBytes: Int { Limits.cachedBlockBytes + jid.description.utf8.count }
}
