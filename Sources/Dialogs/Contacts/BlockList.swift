import Addresses

/// The patterns of a user's block list (XEP-0191), in which an address is looked up: a long list costs as little as a short
/// one.
struct BlockList: Sendable {
  /// The patterns in the user's order.
  let patterns: [BlockPattern]
  /// Their normal forms. Only a domain with a resource is looked for in a form of its own, which few lists have.
  private let forms: Set<String>
  private let hasDomainResource: Bool

  init(_ patterns: [BlockPattern]) {
    self.patterns = patterns
    forms = Set(patterns.map(\.jid.description))
    hasDomainResource = patterns.contains { $0.jid.local == nil && $0.jid.resource != nil }
  }

  var isEmpty: Bool { patterns.isEmpty }

  /// Returns whether a stanza from or to an address is blocked, as one of the patterns matches it.
  func blocks(_ other: JID) -> Bool {
    if forms.isEmpty { return false }
    if forms.contains(other.description) || forms.contains(other.domain) { return true }
    guard let resource = other.resource else { return false }
    return forms.contains(other.bare.description) || hasDomainResource && forms.contains("\(other.domain)/\(resource)")
  }
}
