// Presence subscriptions: the state machine of RFC 6121 Appendix A, from the side of one user towards one contact.
//
// Each direction is a small machine of its own. Towards the contact ("does the user see the contact?") the user is at
// rest, has asked (pending out) or is subscribed (to). From the contact ("does the contact see the user?") the contact
// is at rest, has asked (pending in), or is subscribed (from); before any request, the user may have approved in
// advance (RFC 6121 3.4). The nine states of A.1 are the pairs of both. "subscribe" and "unsubscribe" sent,
// "subscribed" and "unsubscribed" received move the first machine; the other four the second.
//
//   sent:      subscribe      rest -> pending out        received:  subscribed     pending out -> to
//              unsubscribe    pending out, to -> rest               unsubscribed   pending out, to -> rest
//   received:  subscribe      rest -> pending in         sent:      subscribed     pending in -> from; rest -> approved
//                             approved -> from                      unsubscribed   pending in, from, approved -> rest
//              unsubscribe    pending in, from -> rest
//
// An approval in advance is used up when it answers a request (RFC 6121 3.4.2 leaves that open): a contact who
// unsubscribes has to ask again.
//
// In addition to the states, the roster may have an item or not. A received request creates none (A.1, state 3); every
// act of the user creates one, and only removal ends it.

/// The four presence stanzas that manage subscriptions (RFC 6121 3).
public enum SubscriptionAct: UInt8, Hashable, Sendable, CaseIterable {
  /// "I ask to see your presence."
  case subscribe
  /// "You may see mine."
  case subscribed
  /// "I no longer want to see yours."
  case unsubscribe
  /// "You may not, or no longer, see mine."
  case unsubscribed

  /// The `type` of the stanza.
  public var name: String {
    switch self {
    case .subscribe: "subscribe"
    case .subscribed: "subscribed"
    case .unsubscribe: "unsubscribe"
    case .unsubscribed: "unsubscribed"
    }
  }
}

/// The subscriptions between a user and a contact, as the user's server knows them: one of the nine states of RFC 6121
/// A.1, whether a request is approved in advance (3.4), and whether the roster has an item. Only combinations that the
/// rules can reach exist.
public struct Subscription: Hashable, Sendable, RawRepresentable {
  /// The stored bits: 0 to, 1 from, 2 pending out, 3 pending in, 4 approved in advance, 5 in the roster.
  public private(set) var rawValue: UInt8

  private enum Bit {
    static let to: UInt8 = 1
    static let from: UInt8 = 2
    static let pendingOut: UInt8 = 4
    static let pendingIn: UInt8 = 8
    static let approved: UInt8 = 16
    static let listed: UInt8 = 32
    static let all: UInt8 = 63
  }

  private init(bits: UInt8) {
    // All these are in the roster (RFC 6121 A.1, 3.4.2).
    let showing = Bit.to | Bit.from | Bit.pendingOut | Bit.approved
    self.rawValue = bits & showing == 0 ? bits : bits | Bit.listed
  }

  /// Creates the stored state; `nil` for an invalid combination.
  public init?(rawValue: UInt8) {
    guard rawValue & ~Bit.all == 0 else { return nil }
    self.init(bits: rawValue)
    // A subscription excludes a pending request and an approval in advance; so does a request from the contact the
    // approval.
    let isValid =
      self.rawValue == rawValue && !(to && pendingOut) && !(from && pendingIn) && !(preApproved && (from || pendingIn))
    if !isValid { return nil }
  }

  // MARK: The nine states of RFC 6121 A.1. All but `none` and `nonePendingIn` imply an item.

  /// "None": also for an unknown contact.
  public static let none = Subscription(bits: 0)
  /// "None + Pending Out"
  public static let nonePendingOut = Subscription(bits: Bit.pendingOut)
  /// "None + Pending In"
  public static let nonePendingIn = Subscription(bits: Bit.pendingIn)
  /// "None + Pending Out+In"
  public static let nonePendingOutIn = Subscription(bits: Bit.pendingOut | Bit.pendingIn)
  /// "To"
  public static let to = Subscription(bits: Bit.to)
  /// "To + Pending In"
  public static let toPendingIn = Subscription(bits: Bit.to | Bit.pendingIn)
  /// "From"
  public static let from = Subscription(bits: Bit.from)
  /// "From + Pending Out"
  public static let fromPendingOut = Subscription(bits: Bit.from | Bit.pendingOut)
  /// "Both"
  public static let both = Subscription(bits: Bit.to | Bit.from)

  /// Creates the state of a roster item (RFC 6121 2.1.2); `nil` for an invalid combination.
  public init?(to: Bool, from: Bool, asks: Bool, isApproved: Bool) {
    var bits = Bit.listed
    if to { bits |= Bit.to }
    if from { bits |= Bit.from }
    if asks { bits |= Bit.pendingOut }
    if isApproved { bits |= Bit.approved }
    self.init(rawValue: bits)
  }

  /// The same state, with the contact's request of another state where it is not answered.
  func keepingRequest(of other: Subscription) -> Subscription {
    other.pendingIn && !from && !preApproved ? with(Bit.pendingIn) : self
  }

  /// The same state with an item in the roster, as after a roster set (RFC 6121 2.3).
  public var listed: Subscription { Subscription(bits: rawValue | Bit.listed) }

  // MARK: Properties

  /// Whether the user sees the contact's presence.
  public var to: Bool { rawValue & Bit.to != 0 }
  /// Whether the contact sees the user's presence.
  public var from: Bool { rawValue & Bit.from != 0 }
  /// Whether the user has asked and waits for an answer.
  public var pendingOut: Bool { rawValue & Bit.pendingOut != 0 }
  /// Whether the contact has asked and waits for an answer.
  public var pendingIn: Bool { rawValue & Bit.pendingIn != 0 }
  /// Whether a request of the contact will be approved without asking the user (RFC 6121 3.4).
  public var preApproved: Bool { rawValue & Bit.approved != 0 }
  /// Whether the roster has an item. A request alone creates none and must not show (RFC 6121 3.1.3, A.1).
  public var isInRoster: Bool { rawValue & Bit.listed != 0 }
  /// Whether the state is equivalent to having no record of the contact.
  public var isBlank: Bool { rawValue == 0 }

  /// The roster item's `subscription` (RFC 6121 2.1.2.5).
  public var rosterSubscription: String {
    switch (to, from) {
    case (false, false): "none"
    case (true, false): "to"
    case (false, true): "from"
    case (true, true): "both"
    }
  }

  /// The roster item's `ask` (RFC 6121 2.1.2.2); `nil` if omitted.
  public var rosterAsk: String? { pendingOut ? "subscribe" : nil }

  /// Whether the roster item has `approved='true'` (RFC 6121 2.1.2.1).
  public var rosterApproved: Bool { preApproved }

  /// Returns whether the two states look the same in the roster.
  private func looks(like other: Subscription) -> Bool {
    isInRoster == other.isInRoster && rosterSubscription == other.rosterSubscription && rosterAsk == other.rosterAsk
      && rosterApproved == other.rosterApproved
  }

  /// The same state without what the user has asked and approved before the contact existed.
  var withoutRequests: Subscription { without(Bit.pendingOut | Bit.approved) }

  private func with(_ bits: UInt8) -> Subscription { Subscription(bits: rawValue | bits) }

  private func without(_ bits: UInt8) -> Subscription { Subscription(bits: rawValue & ~bits) }
}

// MARK: - Transitions

extension Subscription {
  /// Presence that the server sends to the other side on the user's behalf, from each available resource.
  public enum PresenceNotice: Hashable, Sendable {
    /// Current presence, after an approval (RFC 6121 3.1.5).
    case available
    /// Unavailable presence, before the "unsubscribed" is routed (RFC 6121 3.2.2), or after an "unsubscribe" came
    /// (3.3.3).
    case unavailable
  }

  /// The outcome of one stanza.
  public struct Outcome: Hashable, Sendable {
    /// The state afterwards.
    public let state: Subscription
    /// Whether a sent stanza is routed to the contact, or a received one delivered to the user's resources (before the
    /// push).
    public let route: Bool
    /// Whether a roster push is sent to the user's interested resources.
    public let push: Bool
    /// The answer to a received stanza, from the user's bare address.
    public let autoReply: SubscriptionAct?
    /// The presence to send to the contact.
    public let presence: PresenceNotice?
  }

  private func outcome(
    _ state: Subscription, route: Bool, push: Bool = false, autoReply: SubscriptionAct? = nil,
    presence: PresenceNotice? = nil
  ) -> Outcome {
    Outcome(
      state: state, route: route, push: push || !state.looks(like: self), autoReply: autoReply, presence: presence)
  }

  /// Returns the outcome of a stanza from the user to the contact (RFC 6121 A.2).
  public func sending(_ act: SubscriptionAct) -> Outcome {
    switch act {
    case .subscribe:  // A.2.1, table 2
      return outcome(to ? self : with(Bit.pendingOut), route: true)
    case .unsubscribe:  // A.2.2, table 3
      return outcome(without(Bit.to | Bit.pendingOut), route: true)
    case .subscribed:  // A.2.3, table 4; 3.4.2
      if pendingIn { return outcome(without(Bit.pendingIn).with(Bit.from), route: true, presence: .available) }
      return outcome(from ? self : with(Bit.approved), route: false)
    case .unsubscribed:  // A.2.4, table 5; 3.2.2
      guard pendingIn || from else { return outcome(without(Bit.approved), route: false) }
      // 3.2.2 requires a push here even if a denial changes nothing visible; but never for what is not in the roster.
      return outcome(
        without(Bit.pendingIn | Bit.from), route: true, push: isInRoster, presence: from ? .unavailable : nil)
    }
  }

  /// Returns the outcome of a stanza from the contact to the user (RFC 6121 A.3).
  public func receiving(_ act: SubscriptionAct) -> Outcome {
    switch act {
    case .subscribe:  // A.3.1, table 6; 3.1.3, 3.4.2
      if from { return outcome(self, route: false, autoReply: .subscribed, presence: .available) }
      if preApproved {
        return outcome(
          without(Bit.approved).with(Bit.from), route: false, autoReply: .subscribed, presence: .available)
      }
      return outcome(with(Bit.pendingIn), route: !pendingIn)
    case .unsubscribe:  // A.3.2, table 7; 3.3.3
      guard from || pendingIn else { return outcome(self, route: false) }
      return outcome(
        without(Bit.from | Bit.pendingIn), route: true, autoReply: .unsubscribed, presence: from ? .unavailable : nil)
    case .subscribed:  // A.3.3, table 8; 3.1.6
      return pendingOut ? outcome(without(Bit.pendingOut).with(Bit.to), route: true) : outcome(self, route: false)
    case .unsubscribed:  // A.3.4, table 9; 3.2.3
      return outcome(without(Bit.to | Bit.pendingOut), route: to || pendingOut)
    }
  }

  /// The stanzas to the contact when the user removes the item, in this order (RFC 6121 2.5.2). The RFC names
  /// subscriptions only; a pending request is withdrawn and an open one denied in the same way, because nothing would
  /// be left to answer them.
  public var removalActs: [SubscriptionAct] {
    (to || pendingOut ? [.unsubscribe] : []) + (from || pendingIn ? [.unsubscribed] : [])
  }
}

// MARK: - The app's view

extension Subscription {
  /// The state of a contact in the app protocol, which has one word for both directions.
  ///
  /// | RFC 6121 A.1 | state | why |
  /// |---|---|---|
  /// | None | none | |
  /// | None + Pending Out | pendingOut | the user waits |
  /// | None + Pending In | pendingIn | the user can accept |
  /// | None + Pending Out+In | pendingIn | both asked: accepting is what is left to do |
  /// | To | following | one way, as only XMPP clients make it |
  /// | To + Pending In | pendingIn | the user can accept, which makes it mutual |
  /// | From | follower | one way |
  /// | From + Pending Out | pendingOut | the user waits |
  /// | Both | mutual | |
  ///
  /// An approval in advance does not show.
  public enum WireState: String, Hashable, Sendable, CaseIterable {
    case none, pendingOut, pendingIn, mutual, following, follower
  }

  /// The row of the table above.
  public var wireState: WireState {
    if pendingIn { return .pendingIn }
    if pendingOut { return .pendingOut }
    switch (to, from) {
    case (false, false): return .none
    case (true, false): return .following
    case (false, true): return .follower
    case (true, true): return .mutual
    }
  }
}
