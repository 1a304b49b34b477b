/// The notification settings of one chat for each kind of client (XEP-0492 3), as in a bookmark. Parts that the server
/// does not know are kept.
public struct NotificationRules: Hashable, Sendable {
  public struct Rule: Hashable, Sendable {
    public var alerts: Alerts
    /// An identity of service discovery; both are `nil` for all clients that no other rule names.
    public var category: String?
    public var type: String?
    /// The content of the rule (`<advanced/>`), unchanged.
    public var details: [UInt8]

    public init(_ alerts: Alerts, category: String? = nil, type: String? = nil, details: [UInt8] = []) {
      self.alerts = alerts
      self.category = category
      self.type = type
      self.details = details
    }

    /// Returns how specific the rule is for a client of this identity; `nil` if it does not apply. A type without its
    /// category is invalid, and never applies.
    fileprivate func closeness(_ identity: Identity) -> Int? {
      switch (category, type) {
      case (nil, nil): 0
      case (identity.category, nil): 1
      case (identity.category, identity.type): 2
      default: nil
      }
    }

    fileprivate func isLike(_ other: Rule) -> Bool {
      alerts == other.alerts && category == other.category && type == other.type
    }
  }

  public struct Identity: Hashable, Sendable {
    public let category: String
    public let type: String
    public init(category: String, type: String) {
      self.category = category
      self.type = type
    }
    /// The identity for which the server acts: pushes wake phones, and apps count as phones.
    public static let phone = Identity(category: "client", type: "phone")
  }

  public var rules: [Rule]
  /// The elements beside the rules, unchanged.
  public var others: [UInt8]

  public init(_ rules: [Rule] = [], others: [UInt8] = []) {
    self.rules = rules
    self.others = others
  }

  public var isEmpty: Bool { rules.isEmpty && others.isEmpty }
  public var byteCount: Int {
    rules.reduce(others.count) { $0 + $1.details.count + ($1.category?.utf8.count ?? 0) + ($1.type?.utf8.count ?? 0) }
  }

  /// Returns the setting for a client: that of the most specific rule, or of the first of several; `nil` if none
  /// applies.
  public func alerts(for identity: Identity) -> Alerts? { place(for: identity).map { rules[$0].alerts } }

  private func place(for identity: Identity) -> Int? {
    var best: (place: Int, closeness: Int)?
    for (place, rule) in rules.enumerated() {
      if let closeness = rule.closeness(identity), closeness > best?.closeness ?? -1 { best = (place, closeness) }
    }
    return best?.place
  }

  /// Changes the setting for a client; `nil` for the default. Unknown details must not be lost: a rule that has some is
  /// kept, whatever it is for.
  public mutating func set(_ alerts: Alerts?, for identity: Identity) {
    guard let alerts else { return rules.removeAll { $0.closeness(identity) != nil && $0.details.isEmpty } }
    var rule = Rule(alerts)
    if let place = place(for: identity) {
      rule = rules.remove(at: place)
      rule.alerts = alerts
    }
    if let twin = rules.firstIndex(where: { $0.isLike(rule) }), rule.details.isEmpty || rules[twin].details.isEmpty {
      let other = rules.remove(at: twin)
      if rule.details.isEmpty { rule = other }
    }
    rules.insert(rule, at: 0)
    // Other clients read it too.
    if !rules.contains(where: { $0.category == nil && $0.type == nil }) { rules.append(Rule(alerts)) }
  }
}
