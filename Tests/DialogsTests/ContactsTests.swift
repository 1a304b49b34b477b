import Dialogs
import Testing

/// The nine states by the names RFC 6121 A.1 gives them.
private let states: [String: Subscription] = [
  "None": .none, "None + Pending Out": .nonePendingOut, "None + Pending In": .nonePendingIn,
  "None + Pending Out+In": .nonePendingOutIn, "To": .to, "To + Pending In": .toPendingIn, "From": .from,
  "From + Pending Out": .fromPendingOut, "Both": .both,
]

/// A row of a table of RFC 6121 A: existing state, route or deliver, new state ("no state change" is nil).
private struct Row: Sendable, CustomTestStringConvertible {
  let existing: String
  let isRouted: Bool
  let new: String?

  init(_ existing: String, _ isRouted: Bool, _ new: String?) {
    self.existing = existing
    self.isRouted = isRouted
    self.new = new
  }

  var testDescription: String { "\(existing) -> \(new ?? "no state change")" }

  func check(
    _ step: (Subscription) -> Subscription.Outcome
  ) throws -> (before: Subscription, outcome: Subscription.Outcome) {
    let before = try #require(states[existing])
    // Contacts with an item of the user's own follow the same table and stay in the roster.
    for state in [before, before.listed] {
      let after = try #require(states[new ?? existing])
      let outcome = step(state)
      #expect(outcome.route == isRouted)
      #expect(outcome.state.listed == after.listed)
      #expect(!state.isInRoster || outcome.state.isInRoster)
    }
    return (before, step(before))
  }
}

@Suite struct OutboundSubscriptionStanzas {
  /// RFC 6121 A.2.1, table 2. Note 1: to become pending out sets 'ask', which is pushed (3.1.2).
  @Test(arguments: [
    Row("None", true, "None + Pending Out"),
    Row("None + Pending Out", true, nil),
    Row("None + Pending In", true, "None + Pending Out+In"),
    Row("None + Pending Out+In", true, nil),
    Row("To", true, nil),
    Row("To + Pending In", true, nil),
    Row("From", true, "From + Pending Out"),
    Row("From + Pending Out", true, nil),
    Row("Both", true, nil),
  ])
  fileprivate func subscribe(row: Row) throws {
    let (_, outcome) = try row.check { $0.sending(.subscribe) }
    #expect(outcome.push == (row.new != nil))
    #expect(row.new == nil || outcome.state.rosterAsk == "subscribe" && outcome.state.isInRoster)
    #expect(outcome.presence == nil && outcome.autoReply == nil)
  }

  /// RFC 6121 A.2.2, table 3; the push of 3.3.2 follows each change.
  @Test(arguments: [
    Row("None", true, nil),
    Row("None + Pending Out", true, "None"),
    Row("None + Pending In", true, nil),
    Row("None + Pending Out+In", true, "None + Pending In"),
    Row("To", true, "None"),
    Row("To + Pending In", true, "None + Pending In"),
    Row("From", true, nil),
    Row("From + Pending Out", true, "From"),
    Row("Both", true, "From"),
  ])
  fileprivate func unsubscribe(row: Row) throws {
    let (before, outcome) = try row.check { $0.sending(.unsubscribe) }
    #expect(outcome.push == (row.new != nil))
    #expect(outcome.state.isInRoster == before.isInRoster)
    #expect(outcome.presence == nil && outcome.autoReply == nil)
  }

  /// RFC 6121 A.2.3, table 4, the rows that approve a request or change nothing; presence follows an approval (3.1.5).
  @Test(arguments: [
    Row("None + Pending In", true, "From"),
    Row("None + Pending Out+In", true, "From + Pending Out"),
    Row("To + Pending In", true, "Both"),
    Row("From", false, nil),
    Row("From + Pending Out", false, nil),
    Row("Both", false, nil),
  ])
  fileprivate func subscribed(row: Row) throws {
    let (_, outcome) = try row.check { $0.sending(.subscribed) }
    #expect(outcome.push == (row.new != nil))
    #expect(outcome.presence == (row.new == nil ? nil : .available))
    #expect(outcome.state.isInRoster && !outcome.state.preApproved && outcome.autoReply == nil)
  }

  /// RFC 6121 A.2.3, table 4, the rows with note 1; 3.4.2, rules 3 and 4: noted, pushed, never routed.
  @Test(arguments: ["None", "None + Pending Out", "To"])
  func preApproval(existing: String) throws {
    let before = try #require(states[existing])
    let outcome = before.sending(.subscribed)
    #expect(!outcome.route && outcome.push && outcome.presence == nil)
    #expect(outcome.state.preApproved && outcome.state.rosterApproved && outcome.state.isInRoster)
    #expect(
      outcome.state.rosterSubscription == before.rosterSubscription && outcome.state.rosterAsk == before.rosterAsk)
    // A repeat changes nothing.
    #expect(outcome.state.sending(.subscribed).state == outcome.state)
    #expect(!outcome.state.sending(.subscribed).push)
    // A.2.4, note 1, and 3.2.2, rule 2: cancelled without telling the contact.
    let cancelled = outcome.state.sending(.unsubscribed)
    #expect(cancelled.state == before.listed)
    #expect(!cancelled.route && cancelled.push && cancelled.presence == nil)
  }

  /// RFC 6121 A.2.4, table 5; 3.2.2: unavailable presence only to a subscribed user, a push if there is an item.
  @Test(arguments: [
    Row("None", false, nil),
    Row("None + Pending Out", false, nil),
    Row("None + Pending In", true, "None"),
    Row("None + Pending Out+In", true, "None + Pending Out"),
    Row("To", false, nil),
    Row("To + Pending In", true, "To"),
    Row("From", true, "None"),
    Row("From + Pending Out", true, "None + Pending Out"),
    Row("Both", true, "To"),
  ])
  fileprivate func unsubscribed(row: Row) throws {
    let (before, outcome) = try row.check { $0.sending(.unsubscribed) }
    #expect(outcome.push == (row.new != nil && before.isInRoster))
    #expect(outcome.presence == (before.from ? .unavailable : nil))
    #expect(outcome.state.isInRoster == before.isInRoster && outcome.autoReply == nil)
    #expect(before.listed.sending(.unsubscribed).push == (row.new != nil))
  }
}

@Suite struct InboundSubscriptionStanzas {
  /// RFC 6121 A.3.1, table 6. Note 2: who is subscribed already is answered. A request makes no item and no push
  /// (3.1.3).
  @Test(arguments: [
    Row("None", true, "None + Pending In"),
    Row("None + Pending Out", true, "None + Pending Out+In"),
    Row("None + Pending In", false, nil),
    Row("None + Pending Out+In", false, nil),
    Row("To", true, "To + Pending In"),
    Row("To + Pending In", false, nil),
    Row("From", false, nil),
    Row("From + Pending Out", false, nil),
    Row("Both", false, nil),
  ])
  fileprivate func subscribe(row: Row) throws {
    let (before, outcome) = try row.check { $0.receiving(.subscribe) }
    #expect(!outcome.push && outcome.state.isInRoster == before.isInRoster)
    #expect(outcome.autoReply == (before.from ? .subscribed : nil))
    #expect(outcome.presence == (before.from ? .available : nil))
  }

  /// RFC 6121 A.3.1, note 1, and 3.4.2: approved in advance, so not delivered, answered, and in the roster as approved;
  /// the approval is used up.
  @Test(arguments: [("None", "From"), ("None + Pending Out", "From + Pending Out"), ("To", "Both")])
  func preApproved(existing: String, new: String) throws {
    let before = try #require(states[existing]).sending(.subscribed).state
    let outcome = before.receiving(.subscribe)
    #expect(outcome.state == states[new])
    #expect(!outcome.route && outcome.push)
    #expect(outcome.autoReply == .subscribed && outcome.presence == .available)
    #expect(!outcome.state.rosterApproved)
  }

  /// RFC 6121 A.3.2, table 7. Note 1: answered with "unsubscribed". 3.3.3: unavailable presence to a subscribed user.
  @Test(arguments: [
    Row("None", false, nil),
    Row("None + Pending Out", false, nil),
    Row("None + Pending In", true, "None"),
    Row("None + Pending Out+In", true, "None + Pending Out"),
    Row("To", false, nil),
    Row("To + Pending In", true, "To"),
    Row("From", true, "None"),
    Row("From + Pending Out", true, "None + Pending Out"),
    Row("Both", true, "To"),
  ])
  fileprivate func unsubscribe(row: Row) throws {
    let (before, outcome) = try row.check { $0.receiving(.unsubscribe) }
    #expect(outcome.autoReply == (row.new == nil ? nil : .unsubscribed))
    #expect(outcome.push == before.from)
    #expect(outcome.presence == (before.from ? .unavailable : nil))
    #expect(outcome.state.isInRoster == before.isInRoster)
  }

  /// RFC 6121 A.3.3, table 8; 3.1.6: delivered and pushed, or silently ignored.
  @Test(arguments: [
    Row("None", false, nil),
    Row("None + Pending Out", true, "To"),
    Row("None + Pending In", false, nil),
    Row("None + Pending Out+In", true, "To + Pending In"),
    Row("To", false, nil),
    Row("To + Pending In", false, nil),
    Row("From", false, nil),
    Row("From + Pending Out", true, "Both"),
    Row("Both", false, nil),
  ])
  fileprivate func subscribed(row: Row) throws {
    let (_, outcome) = try row.check { $0.receiving(.subscribed) }
    #expect(outcome.push == (row.new != nil))
    #expect(outcome.presence == nil && outcome.autoReply == nil)
  }

  /// RFC 6121 A.3.4, table 9; 3.2.3.
  @Test(arguments: [
    Row("None", false, nil),
    Row("None + Pending Out", true, "None"),
    Row("None + Pending In", false, nil),
    Row("None + Pending Out+In", true, "None + Pending In"),
    Row("To", true, "None"),
    Row("To + Pending In", true, "None + Pending In"),
    Row("From", false, nil),
    Row("From + Pending Out", true, "From"),
    Row("Both", true, "From"),
  ])
  fileprivate func unsubscribed(row: Row) throws {
    let (before, outcome) = try row.check { $0.receiving(.unsubscribed) }
    #expect(outcome.push == (row.new != nil))
    #expect(outcome.presence == nil && outcome.autoReply == nil)
    #expect(outcome.state.isInRoster == before.isInRoster)
  }
}

@Suite struct SubscriptionValues {
  /// RFC 6121 A.1: what each state shows in the roster, and its row of the app's table.
  @Test(
    arguments: [
      ("None", "none", nil, .none), ("None + Pending Out", "none", "subscribe", .pendingOut),
      ("None + Pending In", "none", nil, .pendingIn), ("None + Pending Out+In", "none", "subscribe", .pendingIn),
      ("To", "to", nil, .following), ("To + Pending In", "to", nil, .pendingIn), ("From", "from", nil, .follower),
      ("From + Pending Out", "from", "subscribe", .pendingOut), ("Both", "both", nil, .mutual),
    ] as [(String, String, String?, Subscription.WireState)])
  func shown(name: String, subscription: String, ask: String?, wire: Subscription.WireState) throws {
    let state = try #require(states[name])
    #expect(state.rosterSubscription == subscription)
    #expect(state.rosterAsk == ask)
    #expect(!state.rosterApproved)
    #expect(state.wireState == wire)
    // Only these two can be without an item (RFC 6121 A.1, state 3).
    #expect(state.isInRoster == !["None", "None + Pending In"].contains(name))
    #expect(state.listed.isInRoster && state.listed.wireState == wire)
    #expect(state.isBlank == (name == "None"))
  }

  /// RFC 6121 2.5.2 and 3.2.2: what a removal sends.
  @Test(
    arguments: [
      ("None", []), ("None + Pending Out", [.unsubscribe]), ("None + Pending In", [.unsubscribed]),
      ("None + Pending Out+In", [.unsubscribe, .unsubscribed]), ("To", [.unsubscribe]),
      ("To + Pending In", [.unsubscribe, .unsubscribed]), ("From", [.unsubscribed]),
      ("From + Pending Out", [.unsubscribe, .unsubscribed]), ("Both", [.unsubscribe, .unsubscribed]),
    ] as [(String, [SubscriptionAct])])
  func removal(name: String, acts: [SubscriptionAct]) throws {
    let state = try #require(states[name])
    #expect(state.removalActs == acts)
  }

  /// Only reachable combinations exist, every reachable one does, and storage preserves each of them.
  @Test func combinations() {
    let all = (UInt8.min...UInt8.max).compactMap { Subscription(rawValue: $0) }
    // Nine states, two of them with and without an item, and three that can be approved in advance.
    #expect(all.count == 9 + 2 + 3)
    for state in all {
      #expect(Subscription(rawValue: state.rawValue) == state)
    }
    var reached: Set<Subscription> = [.none]
    var open: [Subscription] = [.none]
    while let state = open.popLast() {
      let next =
        SubscriptionAct.allCases.flatMap { [state.sending($0).state, state.receiving($0).state] } + [state.listed]
      for state in next where reached.insert(state).inserted { open.append(state) }
    }
    #expect(reached == Set(all))
  }

  /// Two servers that follow the tables agree: after any exchange, the "to" of one side is the "from" of the other, and
  /// a request that one side waits for is pending on the other.
  @Test func bothSidesAgree() {
    struct Pair: Hashable {
      var one: Subscription
      var other: Subscription
      var mirrored: Pair { Pair(one: other, other: one) }

      func after(_ act: SubscriptionAct) -> Pair {
        let sent = one.sending(act)
        var pair = Pair(one: sent.state, other: other)
        guard sent.route else { return pair }
        let received = other.receiving(act)
        pair.other = received.state
        if let reply = received.autoReply { pair.one = pair.one.receiving(reply).state }
        return pair
      }
    }
    var reached: Set<Pair> = [Pair(one: .none, other: .none)]
    var open = Array(reached)
    while let pair = open.popLast() {
      #expect(pair.one.to == pair.other.from && pair.one.from == pair.other.to)
      #expect(pair.one.pendingOut == pair.other.pendingIn && pair.one.pendingIn == pair.other.pendingOut)
      for act in SubscriptionAct.allCases {
        for next in [pair.after(act), pair.mirrored.after(act)] where reached.insert(next).inserted {
          open.append(next)
        }
      }
      // Removing the item leaves nothing behind on the other side either.
      var end = pair.other
      for act in pair.one.removalActs { end = end.receiving(act).state }
      #expect(!end.to && !end.from && !end.pendingIn && !end.pendingOut)
    }
    #expect(reached.count > 20)
  }

  /// A request and its acceptance as the app makes them: both sides approve in advance, then ask.
  @Test func friendship() {
    var one = Subscription.none.sending(.subscribed).state.sending(.subscribe).state
    var other = Subscription.none.receiving(.subscribe).state
    #expect(one.wireState == .pendingOut && other.wireState == .pendingIn)
    other = other.sending(.subscribed).state
    one = one.receiving(.subscribed).state
    other = other.sending(.subscribe).state
    let answer = one.receiving(.subscribe)
    #expect(answer.autoReply == .subscribed)
    one = answer.state
    other = other.receiving(.subscribed).state
    #expect(one == .both && other == .both && one.wireState == .mutual)
  }
}
