import Addresses

/// Roster items, subscriptions and blocks: every change is an entry in its owner's self dialog, and its position is the
/// roster's version.
extension Judge {
  // MARK: Items

  mutating func setContact(
    _ post: Post, _ address: BareJID, name: String?, groups: [String], _ subscription: Subscription?
  ) throws {
    try Self.checkItem(name: name, groups: groups)
    let owner = post.author
    if subscription != nil, post.component.flatMap(realms.realm)?.domain != address.domain {
      throw Problem(.forbidden, "subscription-implied", "A subscription is made by those whose it is.", field: "jid")
    }
    if address == owner.address {
      throw Problem(.forbidden, "contact-self", "You cannot be your own contact.", field: "jid")
    }
    var contact = try item(of: owner, address, creating: true)
    let before = contact.subscription
    let sharing = try contactGroupNames(owner, with: address)
    // A client sends back what it was shown: only what is not a contact group's becomes the user's own.
    let home = realms.home(of: owner.realm)
    let shownName = try sharing.isEmpty ? nil : writer.user(address, seenFrom: home)?.profile.sharedName
    contact.name = name == shownName && name != contact.name ? nil : name
    contact.groups = groups.filter { !sharing.contains($0) || contact.groups.contains($0) }
    contact.subscription = (subscription ?? before).listed
    if !contact.subscription.pendingIn { contact.request = nil }
    try checkRosterSize(with: contact)
    let isEmpty =
      !sharing.isEmpty && contact.name == nil && contact.groups.isEmpty && contact.subscription == .none.listed
    try record(
      ContactChange(contact: contact, removed: isEmpty, push: true), of: owner, by: post,
      isEdit: contact.subscription == before && contact.request == nil)
    try showPresence(of: owner, to: contact.address, before: before.from, after: contact.subscription.from)
    settle(post)
  }

  mutating func removeContact(_ post: Post, _ address: BareJID) throws {
    let owner = post.author
    try checkNotShared(owner, address)
    guard let contact = try writer.ownContact(of: owner.id, address), contact.subscription.isInRoster else {
      throw Problem(.missing, "contact-unknown", "\(address) is not in the roster.", field: "jid")
    }
    let before = contact.subscription
    try record(ContactChange(contact: contact, removed: true, push: true), of: owner, by: post)
    try showPresence(of: owner, to: contact.address, before: before.from, after: false)
    // The contact is told of the ended subscriptions (RFC 6121 2.5.2).
    for act in before.removalActs {
      try receive(act, from: owner, at: address, stanza: nil, post)
    }
    settle(post)
  }

  static func checkItem(name: String?, groups: [String]) throws(Problem) {
    if let name {
      try PlainText.check(name, field: "name")
      if name.utf8.count > Limits.displayNameBytesMax {
        throw Problem(
          .tooLarge, "contact-name-too-long", "A contact's name has at most \(Limits.displayNameBytesMax) bytes.",
          field: "name")
      }
    }
    if groups.count > Limits.groupsPerContactMax {
      throw Problem(
        .tooLarge, "too-many-groups", "A contact is in at most \(Limits.groupsPerContactMax) groups.", field: "groups")
    }
    for group in groups {
      if group.isEmpty {
        throw Problem(.malformed, "group-empty", "A group's name must not be empty.", field: "groups")
      }
      try PlainText.check(group, field: "groups")
      if group.utf8.count > Limits.groupBytesMax {
        throw Problem(
          .tooLarge, "group-too-long", "A group's name has at most \(Limits.groupBytesMax) bytes.", field: "groups")
      }
    }
    if Set(groups).count != groups.count {
      throw Problem(.malformed, "group-repeated", "A group is named twice.", field: "groups")
    }
  }

  /// Returns the item, or a new one without any subscription.
  ///
  /// Its user may have come after it. Then nobody has received what the owner has asked, and what the owner has approved in
  /// advance was for somebody else: it is void, so that nobody gets it by registering a name.
  ///
  /// - Parameter isOwners: whether the owner acts, who then means the user that there is now (`Contact.isChosen`).
  private mutating func item(
    of owner: Party, _ address: BareJID, creating: Bool, isOwners: Bool = true
  ) throws -> Contact {
    let peer = try party(at: address, of: owner.realm)?.id
    if var contact = try writer.ownContact(of: owner.id, address) {
      guard contact.peer == nil, let peer else { return contact }
      contact.subscription = contact.subscription.withoutRequests
      if isOwners { contact.peer = peer }
      return contact
    }
    if creating, try rosterSize(of: owner.id).contacts >= Limits.contactsMax { throw Problem.rosterFull }
    return Contact(owner: owner.id, address: address, peer: peer, subscription: .none, version: .zero)
  }

  /// Writes the item and its entry, and announces the change.
  ///
  /// - Parameter isEdit: whether only the name or the groups change. Then the entry of the item's last change is erased:
  ///   nobody needs to read more than the last, and an account could let the log grow for ever by names. An entry with a
  ///   stanza of the contact stays: the item does not contain it, and sessions that were away get it from the log.
  private mutating func record(
    _ change: ContactChange, of owner: Party, by post: Post?, isEdit: Bool = false
  ) throws {
    if isEdit, change.contact.version > .zero {
      let own = try dialog(of: owner, and: owner).state.dialog.id
      let last = try writer.entry(change.contact.version, in: .server(own, .rules))
      if case .contact(let former)? = last?.fact, former.act == nil {
        try writer.erase(change.contact.version, in: own)
      }
    }
    let position = nextPosition()
    let change = change.at(position)
    let contact = change.contact
    let isGone = change.removed || contact.subscription.isBlank
    if let known = requestBytes[owner.id] {
      let former = try writer.ownContact(of: owner.id, contact.address)?.requestBytes ?? 0
      requestBytes[owner.id] = known - former + (isGone ? 0 : contact.requestBytes)
    }
    var size = try rosterSizes[owner.id]?.replacing(
      writer.ownContact(of: owner.id, contact.address), by: isGone ? nil : contact)
    if isGone {
      try writer.remove(contact, version: position)
      size?.removed += 1
    } else {
      try writer.put(contact)
    }
    if var size {
      try deleteRemoved(&size, of: owner.id)
      rosterSizes[owner.id] = size
    }
    let peer = try peer(contact, of: owner)
    let sharing = try peer.map { try writer.contactGroupNames(owner.id, with: $0) } ?? []
    let shown = peer.map { change.shared(by: sharing, as: $0) } ?? change
    let entry = try insertOwn(.contact(shown), of: owner, at: position)
    // The snapshot first: sessions that process the entry see the roster after it.
    tell(.contactSnapshot(owner.id, item: contact.address) { $0.applying(change) })
    tell(.entry(entry, author: nil))
    try reviewSubscriptions(of: contact.address, with: owner)
  }

  /// Returns the local user whom an item is about, who may have come after the item.
  private mutating func peer(_ contact: Contact, of owner: Party) throws -> UserID? {
    try contact.peer ?? party(at: contact.address, of: owner.realm)?.id
  }

  /// Returns whether an address of the realm has no account. A user who registers it later must not find what was meant
  /// for another person.
  mutating func isNobodys(_ address: BareJID, of realm: RealmID) throws -> Bool {
    guard address.local != nil, realms.realm(domain: address.domain)?.id == realm else { return false }
    return try user(address, seenFrom: realm).map { $0.state == .deleted } ?? true
  }

  /// Returns the user of a realm at an address; `nil` for any other address.
  private mutating func party(at address: BareJID, of realm: RealmID) throws -> Party? {
    guard realms.realm(domain: address.domain)?.id == realm else { return nil }
    return try user(address, seenFrom: realm)?.party
  }

  /// Returns the display names of the contact groups in which a user sees the one at an address.
  private mutating func contactGroupNames(_ owner: Party, with address: BareJID) throws -> [String] {
    guard let peer = try party(at: address, of: owner.realm)?.id else { return [] }
    return try writer.contactGroupNames(owner.id, with: peer)
  }

  /// Checks that a contact is the user's own, and no contact group's.
  private mutating func checkNotShared(_ owner: Party, _ address: BareJID) throws {
    let sharing = try contactGroupNames(owner, with: address)
    if !sharing.isEmpty { throw Problem.contactShared(address, sharing) }
  }

  private mutating func showPresence(of user: Party, to viewer: BareJID, before: Bool, after: Bool) throws {
    guard before != after, try contactGroupNames(user, with: viewer).isEmpty else { return }
    tell(.presence(of: user.id, to: viewer, available: after))
  }

  // MARK: Subscriptions

  mutating func subscription(
    _ post: Post, _ act: SubscriptionAct, to address: BareJID, stanza: [UInt8]?
  ) throws {
    if address == post.author.address { return settle(post) }
    let realm = try realm(of: address, reachedFrom: post.author.realm, isEnding: act != .subscribe)
    // A remote user's side is stored by their own server.
    if post.author.realm.isRemote {
      // Before it is known whether there is such a user: a refusal must not tell.
      if act == .subscribe { try checkStranger(post.author, address) }
      try receive(act, from: post.author, at: address, stanza: stanza, post)
      return settle(post)
    }
    // A request is not kept for an unreachable server; the end of a subscription takes effect here all the same.
    if realm.id.isRemote, act == .subscribe {
      let peer = try reachable(address, for: post.author)
      try checkOutbox(from: post.author, to: peer)
    }
    try send(act, from: post.author, to: address, stanza: stanza, post)
    settle(post)
  }

  /// Processes a sent stanza (RFC 6121 Appendix A.2): the sender's side, then the contact's.
  private mutating func send(
    _ act: SubscriptionAct, from owner: Party, to address: BareJID, stanza: [UInt8]?, _ post: Post
  ) throws {
    switch act {
    // Members of a contact group are subscribed to each other, and remain so.
    case .subscribe, .subscribed: if try !contactGroupNames(owner, with: address).isEmpty { return }
    case .unsubscribe, .unsubscribed: try checkNotShared(owner, address)
    }
    var contact = try item(of: owner, address, creating: act == .subscribe || act == .subscribed)
    let before = contact.subscription
    let outcome = before.sending(act)
    let stored = try writer.ownContact(of: owner.id, address)
    let wasVoid = stored.map { $0.peer != contact.peer } ?? false
    if outcome.state != before || wasVoid {
      contact.subscription = outcome.state
      try checkRosterSize(with: contact)
      if !outcome.state.pendingIn { contact.request = nil }
      try record(ContactChange(contact: contact, push: outcome.push || wasVoid), of: owner, by: post)
    }
    // Presence ends before "unsubscribed" and begins after "subscribed" (RFC 6121 3.2.2, 3.1.5).
    if before.from { try showPresence(of: owner, to: contact.address, before: true, after: outcome.state.from) }
    if outcome.route { try receive(act, from: owner, at: address, stanza: stanza, post) }
    if !before.from { try showPresence(of: owner, to: contact.address, before: false, after: outcome.state.from) }
  }

  /// Processes a received stanza (RFC 6121 Appendix A.3), in the addressee's roster.
  private mutating func receive(
    _ act: SubscriptionAct, from sender: Party, at address: BareJID, stanza: [UInt8]?, _ post: Post
  ) throws {
    guard let realm = realms.realm(domain: address.domain, reachedFrom: sender.realm) else { return }
    if realm.id.isRemote {
      let passed = RelayedStanza(
        name: .presence(act.name), from: sender, fromResource: nil, to: address, toResource: nil, id: nil,
        extras: stanza ?? [])
      return try send(passed, to: Party(remote: address, realm: realm.id), by: nil)
    }
    // An unknown user and one who blocks the sender look alike: neither answers.
    guard
      let user = try user(address, seenFrom: sender.realm), user.state == .active,
      try !isBlocked(sender, resource: nil, by: user.party)
    else { return }
    let owner = user.party
    var contact = try item(of: owner, sender.address, creating: false, isOwners: false)
    let before = contact.subscription
    let outcome = before.receiving(act)
    if outcome.state != before || outcome.route {
      // What was void is shown no longer.
      let shown = try writer.ownContact(of: owner.id, sender.address)?.subscription ?? before
      contact.subscription = outcome.state
      if act == .subscribe && outcome.state.pendingIn {
        contact.request = stanza.flatMap { $0.count <= Limits.requestBytesMax ? $0 : nil } ?? []
        if contact.requestBytes > 0 {
          for request in try requestsGivingWay(to: contact) { try withdraw(request, to: owner) }
        }
      } else if !outcome.state.pendingIn {
        contact.request = nil
      }
      try record(
        ContactChange(
          contact: contact, push: outcome.push || shown != before, act: outcome.route ? act : nil,
          stanza: outcome.route ? stanza : nil),
        of: owner, by: nil)
      if before.from { try showPresence(of: owner, to: sender.address, before: true, after: outcome.state.from) }
    }
    if let reply = outcome.autoReply {
      try receive(reply, from: owner, at: sender.address, stanza: nil, post)
      // The owner's presence is sent to the approved contact, also if the approval had been given before.
      if reply == .subscribed { try showPresence(of: owner, to: sender.address, before: false, after: true) }
    }
  }

  /// Ends a request as if its sender had withdrawn it. The sender is not notified, and may ask again.
  private mutating func withdraw(_ request: Contact, to owner: Party) throws {
    var contact = request
    contact.subscription = request.subscription.receiving(.unsubscribe).state
    contact.request = nil
    try record(ContactChange(contact: contact, push: false, act: .unsubscribe), of: owner, by: nil)
  }

  /// Requests or accepts a contact from an app: one step for what XMPP does in two.
  mutating func befriend(_ post: Post, _ address: BareJID, name: String?) throws {
    try Self.checkItem(name: name, groups: [])
    if address == post.author.address {
      throw Problem(.forbidden, "contact-self", "You cannot be your own contact.", field: "userId")
    }
    let peer = try reachable(address, for: post.author)
    try checkOutbox(from: post.author, to: peer)
    var contact = try item(of: post.author, address, creating: true)
    if let name, contact.name != name || !contact.subscription.isInRoster {
      contact.name = name
      contact.subscription = contact.subscription.listed
      try checkRosterSize(with: contact)
      try record(ContactChange(contact: contact, push: true), of: post.author, by: post)
    }
    // Approve (or pre-approve) the other direction first: an answer to a request then completes both subscriptions at
    // once.
    try send(.subscribed, from: post.author, to: address, stanza: nil, post)
    let name = try writer.user(post.author.id)?.profile.displayName
    let stanza = name.flatMap { hub.introduction.write($0) }
    try send(.subscribe, from: post.author, to: address, stanza: stanza, post)
    settle(post)
  }

  mutating func link(
    _ post: Post, _ address: BareJID, name: String?, groups: [String]?, mutual: Bool
  ) throws {
    try Self.checkItem(name: name, groups: groups ?? [])
    if address == post.author.address {
      throw Problem(.forbidden, "contact-self", "A user cannot be their own contact.", field: "contact")
    }
    let owner = post.author
    guard mutual else {
      var contact = try item(of: owner, address, creating: false)
      contact.name = name
      contact.groups = groups ?? contact.groups
      contact.subscription = contact.subscription.listed
      try checkRosterSize(with: contact)
      try record(ContactChange(contact: contact, push: true), of: owner, by: post)
      return settle(post)
    }
    let peer = try reachable(address, for: owner)
    // A roster elsewhere is its own server's, also one of another domain of this process.
    guard !peer.realm.isRemote else {
      throw Problem(
        .foreign, "contact-elsewhere",
        "The roster of \(address) is another server's. Add each of the two to the other's.", field: "contact")
    }
    var changes: [(one: Party, contact: Contact, before: Subscription)] = []
    for (one, other, name, groups) in [
      (owner, peer, name, groups), (peer, owner, nil, nil as [String]?),
    ] {
      var contact = try item(of: one, other.address, creating: false)
      let before = contact.subscription
      if let name { contact.name = name }
      if let groups { contact.groups = groups }
      contact.subscription = Subscription.both.listed
      contact.request = nil
      try checkRosterSize(with: contact)
      changes.append((one, contact, before))
    }
    for (one, contact, before) in changes {
      try record(ContactChange(contact: contact, push: true), of: one, by: post)
      try showPresence(of: one, to: contact.address, before: before.from, after: true)
    }
    settle(post)
  }

  /// Adds a roster item with all its states, as another server had it, unless there is one. Nobody is asked or notified.
  ///
  /// A contact of this server without an account keeps its name and groups and no subscription: other servers keep those
  /// of deleted users.
  mutating func importContact(_ post: Post, _ imported: ImportedContact) throws {
    let owner = post.author
    try Self.checkItem(name: imported.name, groups: imported.groups)
    try Self.checkOther(imported.address, than: owner.address)
    let before = try item(of: owner, imported.address, creating: true)
    let isNobodys = try isNobodys(imported.address, of: owner.realm)
    if before.subscription.isInRoster {
      // What the user has made of it since stays.
      var receipt = Receipt(position: head)
      receipt.isRepeat = true
      receipt.isKept = !imported.isAs(before, isNobodys: isNobodys)
      return settle(post, receipt)
    }
    var contact = before
    contact.name = imported.name
    contact.groups = imported.groups
    // A request that has come meanwhile, or was imported before, waits for its answer.
    let subscription = isNobodys ? .none : imported.subscription
    contact.subscription = subscription.keepingRequest(of: before.subscription).listed
    if !contact.subscription.pendingIn { contact.request = nil }
    try settle(post, contact, was: before)
  }

  static func checkOther(_ address: BareJID, than owner: BareJID) throws(Problem) {
    if address == owner {
      throw Problem(.forbidden, "contact-self", "A user cannot be their own contact.", field: "jid")
    }
  }

  /// Adds a request to see the user's presence that waits for an answer.
  mutating func importRequest(_ post: Post, from address: BareJID, stanza: [UInt8]?) throws {
    let before = try item(of: post.author, address, creating: true)
    var contact = before
    if try !isNobodys(address, of: post.author.realm) {
      contact.subscription = before.subscription.receiving(.subscribe).state
    }
    if contact.subscription.pendingIn {
      contact.request = stanza.flatMap { $0.count <= Limits.requestBytesMax ? $0 : nil } ?? []
    }
    try settle(post, contact, was: before)
  }

  private mutating func settle(_ post: Post, _ contact: Contact, was before: Contact) throws {
    var receipt = Receipt(position: head)
    receipt.isRepeat = contact == before
    guard !receipt.isRepeat else { return settle(post, receipt) }
    try checkRosterSize(with: contact)
    try record(ContactChange(contact: contact, push: true), of: post.author, by: post)
    try showPresence(
      of: post.author, to: contact.address, before: before.subscription.from, after: contact.subscription.from)
    receipt.position = head
    settle(post, receipt)
  }

  // MARK: Blocks (XEP-0191)

  mutating func block(_ patterns: [BlockPattern], of owner: Party) throws {
    if patterns.isEmpty {
      throw Problem(.malformed, "nothing-to-block", "Name at least one address to block.", field: "item")
    }
    var list = try blockList(of: owner.id)
    var seen: Set<BlockPattern> = []
    let added = patterns.filter { !list.contains($0) && seen.insert($0).inserted }
    if added.isEmpty { return }
    if list.patterns.count + added.count > Limits.blocksMax {
      throw Problem(.tooLarge, "block-list-full", "A block list has at most \(Limits.blocksMax) items.")
    }
    // Blocked contacts see the user become unavailable, before the block takes effect (XEP-0191 3.3).
    try presence(of: owner, toThoseIn: added, available: false)
    charge(rows: added.count)
    for block in list.add(added) { try writer.insert(block, of: owner.id) }
    try recordBlocks(list, BlockChange(act: .block, patterns: added), of: owner)
  }

  mutating func unblock(_ post: Post, _ patterns: [BlockPattern]) throws {
    let owner = post.author
    var list = try blockList(of: owner.id)
    let blocks = list.remove(Set(patterns))
    if blocks.isEmpty { return settle(post) }
    charge(rows: blocks.count)
    for block in blocks { try writer.removeBlock(rank: block.rank, of: owner.id) }
    let gone = blocks.map(\.pattern)
    try recordBlocks(list, BlockChange(act: .unblock, patterns: gone), of: owner)
    try presence(of: owner, toThoseIn: gone, available: true)
    settle(post)
  }

  private mutating func recordBlocks(
    _ list: BlockList, _ change: BlockChange, of owner: Party
  ) throws {
    remember(list, of: owner.id)
    let entry = try insertOwn(.blocks(change), of: owner, at: nextPosition())
    tell(.contactSnapshot(owner.id) { $0.with(blockList: list) })
    // It may be much larger now.
    keptContacts.drop(owner.id)
    tell(.entry(entry, author: nil))
  }

  /// Ends or restores presence, for those only who are subscribed to the user's. The user, if subscribed to theirs, is
  /// shown it again: what they announced meanwhile was not delivered.
  private mutating func presence(
    of owner: Party, toThoseIn patterns: [BlockPattern], available: Bool
  ) throws {
    for contact in try contacts(of: owner, in: patterns) {
      if contact.subscription.from { tell(.presence(of: owner.id, to: contact.address, available: available)) }
      if available, contact.subscription.to, let peer = try user(contact.address, seenFrom: owner.realm)?.party {
        tell(.presence(of: peer.id, to: owner.address, available: true))
      }
    }
  }

  /// Returns the contacts at the addresses and domains of patterns, each once. A few addresses are looked up; for more of
  /// them, and for domains, the roster is read once.
  private mutating func contacts(of owner: Party, in patterns: [BlockPattern]) throws -> [Contact] {
    let addresses = Set(patterns.compactMap { $0.jid.local == nil ? nil : $0.jid.bare })
    // No contact is at a domain's resource.
    let domains = Set(patterns.compactMap { $0.jid.isDomain ? $0.jid.domain : nil })
    if domains.isEmpty, addresses.count <= Limits.contactsLookedUpMax {
      let inOrder = addresses.sorted { $0.description < $1.description }
      return try inOrder.compactMap { try writer.contact(of: owner.id, $0) }
    }
    let all = try writer.contacts(of: owner.id)
    charge(rows: all.count)
    return all.filter {
      addresses.contains($0.address) || domains.contains($0.address.domain)
    }
  }
}

extension ContactChange {
  fileprivate func at(_ position: Position) -> ContactChange {
    var change = self
    change.contact.version = position
    return change
  }
}

extension ContactSnapshot {
  /// Returns the snapshot after one change of a roster item.
  func applying(_ change: ContactChange) -> ContactSnapshot {
    var table = own
    table.set(change.removed ? nil : change.contact, at: change.contact.address)
    return with(own: table, rosterVersion: change.contact.version)
  }
}
