import Addresses

/// A user's own roster items by address, and who of them presences go to and come from.
///
/// A change copies a part of the table, not all of it: the items that have changed last are kept beside the others, and
/// are merged into them when they are as many as the square root of these.
struct ContactTable: Sendable {
  private var merged: [BareJID: Contact]
  /// The items as they have changed since the last merge; `nil` is a removed one.
  private(set) var changed: [BareJID: Contact?] = [:]
  /// The local users who see the user's presence (`from`, `both`).
  private(set) var subscribers: [UserID] = []
  /// The local users whose presence the user sees (`to`, `both`).
  private(set) var subscriptions: [UserID] = []
  /// The same for contacts who are no local users, by domain: what is for them takes one look at the way to each domain, and
  /// what concerns one domain costs by its contacts.
  private(set) var remoteSubscribers: [String: [BareJID]] = [:]
  private(set) var remoteSubscriptions: [String: [BareJID]] = [:]
  /// The contacts whose request for the user's presence is unanswered, which each login is sent: at most as many as have
  /// `Limits.requestsBytesMax`, where a roster may have three times as many items.
  private(set) var requests: Set<BareJID> = []
  /// The bytes of the items in memory, about.
  private(set) var heldBytes = 0

  init(_ contacts: [BareJID: Contact]) {
    merged = contacts
    for contact in contacts.values {
      list(contact)
      if contact.subscription.pendingIn { requests.insert(contact.address) }
      heldBytes += contact.heldBytes
    }
  }

  /// The number of items, at the cost of those that have changed.
  var count: Int {
    changed.reduce(merged.count) { count, change in
      count + (change.value == nil ? 0 : 1) - (merged[change.key] == nil ? 0 : 1)
    }
  }

  subscript(_ address: BareJID) -> Contact? {
    if let change = changed[address] { return change }
    return merged[address]
  }

  /// Replaces an item; `nil` removes it.
  mutating func set(_ contact: Contact?, at address: BareJID) {
    let before = self[address]
    heldBytes += (contact?.heldBytes ?? 0) - (before?.heldBytes ?? 0)
    if before?.peer != contact?.peer || before?.subscription.from != contact?.subscription.from
      || before?.subscription.to != contact?.subscription.to
    {
      if let before { unlist(before) }
      if let contact { list(contact) }
    }
    if contact?.subscription.pendingIn == true {
      requests.insert(address)
    } else if before?.subscription.pendingIn == true {
      requests.remove(address)
    }
    changed.updateValue(contact, forKey: address)
    guard changed.count * changed.count >= merged.count else { return }
    for (address, contact) in changed { merged[address] = contact }
    changed = [:]
  }

  private mutating func list(_ contact: Contact) {
    guard let peer = contact.peer else {
      let domain = contact.address.domain
      if contact.subscription.from { remoteSubscribers[domain, default: []].append(contact.address) }
      if contact.subscription.to { remoteSubscriptions[domain, default: []].append(contact.address) }
      return
    }
    if contact.subscription.from { subscribers.append(peer) }
    if contact.subscription.to { subscriptions.append(peer) }
  }

  private mutating func unlist(_ contact: Contact) {
    guard let peer = contact.peer else {
      if contact.subscription.from { Self.remove(contact.address, from: &remoteSubscribers) }
      if contact.subscription.to { Self.remove(contact.address, from: &remoteSubscriptions) }
      return
    }
    if contact.subscription.from { Self.remove(peer, from: &subscribers) }
    if contact.subscription.to { Self.remove(peer, from: &subscriptions) }
  }

  private static func remove<Value: Equatable>(_ value: Value, from values: inout [Value]) {
    if let index = values.firstIndex(of: value) { values.remove(at: index) }
  }

  private static func remove(_ address: BareJID, from domains: inout [String: [BareJID]]) {
    let domain = address.domain
    remove(address, from: &domains[domain, default: []])
    if domains[domain]?.isEmpty == true { domains[domain] = nil }
  }
}

extension ContactTable: Sequence {
  /// The items in no order.
  struct Iterator: IteratorProtocol {
    private let overridden: [BareJID: Contact?]
    private var merged: Dictionary<BareJID, Contact>.Values.Iterator
    private var changed: Dictionary<BareJID, Contact?>.Values.Iterator

    fileprivate init(_ merged: [BareJID: Contact], _ changed: [BareJID: Contact?]) {
      overridden = changed
      self.merged = merged.values.makeIterator()
      self.changed = changed.values.makeIterator()
    }

    mutating func next() -> Contact? {
      while let contact = merged.next() {
        if overridden.isEmpty || overridden.index(forKey: contact.address) == nil { return contact }
      }
      while let change = changed.next() {
        if let change { return change }
      }
      return nil
    }
  }

  func makeIterator() -> Iterator { Iterator(merged, changed) }
}

extension Contact {
  /// The bytes of the item in memory, about, with those of the roster that clients receive, which is kept with it.
  fileprivate var heldBytes: Int {
    let bytes =
      Limits.keptContactBytes + 2 * rosterBytes + groups.count * Limits.textHeaderBytes + (request?.count ?? 0)
    // The domain of a contact elsewhere is a key of further tables.
    guard peer == nil, subscription.from || subscription.to else { return bytes }
    return bytes + Limits.keptContactBytes + 2 * address.description.utf8.count
  }
}
