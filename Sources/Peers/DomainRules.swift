import Addresses

/// A domain, or all domains below one (`*.spam.example`).
public struct DomainPattern: Hashable, Sendable, CustomStringConvertible {
  public let domain: String
  /// Whether the pattern matches only the domains below the domain, not the domain itself.
  public let isWildcard: Bool

  /// Parses a pattern; `nil` if it is neither a domain nor `*.` and a domain.
  public init?(_ text: String) {
    isWildcard = text.hasPrefix("*.")
    guard let address = BareJID(parsing: isWildcard ? String(text.dropFirst(2)) : text), address.local == nil else {
      return nil
    }
    domain = address.domain
  }

  public func matches(_ other: String) -> Bool { isWildcard ? other.hasSuffix("." + domain) : other == domain }

  public var description: String { isWildcard ? "*." + domain : domain }
}

/// The rules that decide which domains are admitted, and which of them may be verified by dialback alone.
///
/// Rules that operators set at runtime take precedence over those of the configuration. A denied domain is refused. If the
/// configuration allows any domain, all others are refused.
public struct DomainRules: Hashable, Sendable {
  /// The patterns of `federation.allow`; empty for all domains.
  public var allowed: [DomainPattern] = []
  public var denied: [DomainPattern] = []
  /// The domains for which dialback without a valid certificate suffices (XEP-0220).
  public var unverified: [DomainPattern] = []
  /// The rules that operators set at runtime, by their pattern: `true` allows.
  public var runtime: [DomainPattern: Bool] = [:]

  public init() {}

  public func admits(_ domain: String) -> Bool {
    if let rule = runtimeRule(for: domain) { return rule }
    if denied.contains(where: { $0.matches(domain) }) { return false }
    return allowed.isEmpty || allowed.contains { $0.matches(domain) }
  }

  public func admitsUnverified(_ domain: String) -> Bool { unverified.contains { $0.matches(domain) } }

  /// Returns the verdict of the most specific runtime rule: that of the domain, or else of the longest domain above it.
  private func runtimeRule(for domain: String) -> Bool? {
    if runtime.isEmpty { return nil }
    return runtime.filter { $0.key.matches(domain) }
      .max { ($0.key.isWildcard ? 0 : 1, $0.key.domain.count) < ($1.key.isWildcard ? 0 : 1, $1.key.domain.count) }?
      .value
  }
}
