import Addresses
import Basics

/// The rules of contact groups. A change of who is in a group is one entry, with a row in the feed of each member.
extension Judge {
  mutating func contactGroup(_ post: Post, _ intent: ContactGroupIntent) throws {
    guard post.author == Parley.nobody else {
      throw Problem(.forbidden, "contact-group-forbidden", "Contact groups are the operators'.")
    }
    var receipt = Receipt(position: head)
    receipt.isRepeat = true
    switch intent {
    case .put(let realm, let name, let displayName, let hasEveryone):
      receipt.isRepeat = try !put(name, in: realm, displayName: displayName, hasEveryone: hasEveryone)
    case .delete(let realm, let name):
      let group = try known(name, in: realm)
      for id in seen(by: group).sorted() { try unlink(group, id) }
      let members = try members(of: group)
      try writer.remove(group)
      try move(Array(members.values), .left, group, before: members, after: nil)
      receipt.isRepeat = false
    case .change(let realm, let name, let adding, let removing, let seeing, let unseeing):
      let group = try known(name, in: realm)
      if group.hasEveryone, !adding.isEmpty || !removing.isEmpty {
        throw Problem(
          .conflict, "contact-group-of-everyone", "Everyone in the domain is in the group \(name), as long as it is.",
          field: "group")
      }
      let joining = try users(adding, in: realm, field: "add")
      let leaving = try users(removing, in: realm, field: "remove")
      if let both = joining.first(where: { leaving[$0.key] != nil }) {
        throw Problem(.malformed, "member-repeated", "\(both.key) is to be added and removed.", field: "remove")
      }
      let sighted = try others(seeing, of: group, field: "see")
      let unsighted = try others(unseeing, of: group, field: "unsee")
      if let both = sighted.first(where: { unsighted[$0.key] != nil }) {
        throw Problem(
          .malformed, "contact-group-repeated", "\(both.value.name) is to be seen and not to be seen.", field: "unsee")
      }
      var isChanged = try join(Array(joining.values), group)
      if try leave(Array(leaving.values), group) { isChanged = true }
      for other in sighted.values.sorted(by: { $0.id < $1.id }) where !seen(by: group).contains(other.id) {
        try link(group, other)
        isChanged = true
      }
      for id in unsighted.keys.sorted() where seen(by: group).contains(id) {
        try unlink(group, id)
        isChanged = true
      }
      receipt.isRepeat = !isChanged
    case .enrol(let id):
      guard let user = try writer.user(id), user.state == .active, !user.isGuest else { break }
      for group in try writer.records(ContactGroup.self, .equal(.realm, user.realm), .equal(.hasEveryone, true))
      where try members(of: group).count < Limits.contactGroupMembersMax {
        if try join([user.party], group) { receipt.isRepeat = false }
      }
    case .leave(let id):
      guard let party = try writer.party(id) else { break }
      for group in try writer.contactGroups(of: id) where try leave([party], group) { receipt.isRepeat = false }
    }
    receipt.position = head
    settle(post, receipt)
  }

  /// Creates or renames a group. Returns whether anything changed.
  private mutating func put(
    _ name: String, in realm: RealmID, displayName: String?, hasEveryone: Bool?
  ) throws -> Bool {
    try Self.checkContactGroup(name, displayName)
    if var group = try writer.contactGroup(name, in: realm) {
      if let hasEveryone, group.hasEveryone != hasEveryone {
        throw Problem(
          .conflict, "contact-group-taken",
          "There is a group \(name), \(group.hasEveryone ? "of everyone" : "not of everyone"). Delete it first.",
          field: "group")
      }
      guard let displayName, displayName != group.displayName else { return false }
      let members = try members(of: group)
      group.displayName = displayName
      try writer.put(group)
      try move([], .renamed, group, before: members, after: members)
      return true
    }
    if try writer.contactGroups(in: realm).count >= Limits.contactGroupsMax {
      throw Problem(
        .tooLarge, "too-many-contact-groups", "A domain has at most \(Limits.contactGroupsMax) contact groups.")
    }
    let group = ContactGroup(
      realm: realm, name: name, displayName: displayName ?? name, hasEveryone: hasEveryone ?? false)
    var everyone: [Party] = []
    if group.hasEveryone {
      let bound = Limits.contactGroupMembersMax
      everyone = try writer.users(in: realm, matching: nil, after: nil, limit: bound + 1).map(\.party)
      try checkSize(everyone.count)
    }
    let stored = try writer.put(group)
    try announce(stored, [:], [:])
    _ = try join(everyone, stored)
    return true
  }

  static func checkContactGroup(_ name: String, _ displayName: String?) throws(Problem) {
    guard (1...Limits.contactGroupNameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(isPlain) else {
      throw Problem(
        .malformed, "contact-group-name",
        "A contact group's name has 1 to \(Limits.contactGroupNameBytesMax) of a-z, 0-9, dot, hyphen, underscore.",
        field: "group")
    }
    if let displayName { try checkDisplayName(displayName) }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || [0x2d, 0x2e, 0x5f].contains(byte)
  }

  /// Checks the name of a roster group, which is XML and stands in tables. An operator writes it: it is refused, where the
  /// names of users are shown without what harms others.
  private static func checkDisplayName(_ name: String) throws(Problem) {
    guard !name.isEmpty, name.utf8.count <= Limits.contactGroupDisplayNameBytesMax,
      !name.unicodeScalars.contains(where: {
        $0.properties.generalCategory == .control || $0.properties.isNoncharacterCodePoint
      })
    else {
      throw Problem(
        .malformed, "contact-group-display-name",
        "A display name has 1 to \(Limits.contactGroupDisplayNameBytesMax) bytes, none of them control characters.",
        field: "displayName")
    }
  }

  private func checkSize(_ count: Int) throws(Problem) {
    guard count > Limits.contactGroupMembersMax else { return }
    throw Problem(
      .tooLarge, "contact-group-full", "A contact group has at most \(Limits.contactGroupMembersMax) members.")
  }

  private func known(_ name: String, in realm: RealmID) throws -> ContactGroup {
    guard let group = try writer.contactGroup(name, in: realm) else {
      throw Problem(.missing, "contact-group-unknown", "There is no contact group of this name.", field: "group")
    }
    return group
  }

  /// Returns users by address, each once; refuses those that are unknown, and guests.
  private mutating func users(_ addresses: [BareJID], in realm: RealmID, field: String) throws -> [BareJID: Party] {
    var found: [BareJID: Party] = [:]
    for address in addresses {
      guard realms.realm(domain: address.domain)?.id == realm, let user = try user(address, seenFrom: realm),
        user.state != .deleted, !guests.contains(user.party.id)
      else { throw Problem(.missing, "user-unknown", "There is no user \(address) in this domain.", field: field) }
      found[address] = user.party
    }
    return found
  }

  // MARK: Members

  /// Returns a group with its members as the posts of this batch have left it.
  private func shared(_ group: ContactGroup) -> SharedContacts? {
    if let changed = sharedContacts[group.id] { return changed }
    return hub.contactGroups(group.id)
  }

  private func members(of group: ContactGroup) throws -> [BareJID: Party] { shared(group)?.members ?? [:] }

  private func seen(by group: ContactGroup) -> Set<Int64> { shared(group)?.seen ?? [] }

  /// Returns whether anybody joined, who was not a member before.
  private mutating func join(_ parties: [Party], _ group: ContactGroup) throws -> Bool {
    let before = try members(of: group)
    let joining = parties.filter { before[$0.address] == nil }
    if joining.isEmpty { return false }
    try checkSize(before.count + joining.count)
    for party in joining where try !hasRoom(party, seen(by: group).union([group.id])) {
      // A user who only comes into a group of everyone is left out of it, rather than refused.
      if group.hasEveryone { return false }
      throw tooManyGroups(party, field: "add")
    }
    var after = before
    for party in joining {
      try writer.put(ContactGroupMember(group: group.id, user: party.id))
      after[party.address] = party
    }
    try move(joining, .joined, group, before: before, after: after)
    return true
  }

  /// Returns whether anybody left, who was a member before.
  private mutating func leave(_ parties: [Party], _ group: ContactGroup) throws -> Bool {
    let before = try members(of: group)
    let leaving = parties.filter { before[$0.address] != nil }
    if leaving.isEmpty { return false }
    var after = before
    for party in leaving {
      after[party.address] = nil
      try writer.remove(ContactGroupMember.self, .equal(.group, group.id), .equal(.user, party.id))
    }
    try move(leaving, .left, group, before: before, after: after)
    return true
  }

  /// Returns whether a user may see some groups beside those that they see already.
  private func hasRoom(_ party: Party, _ groups: Set<Int64>) throws -> Bool {
    let seen = try writer.seenContactGroups(of: party.id).map(\.id)
    return groups.union(seen).count <= Limits.contactGroupsPerUserMax
  }

  private func tooManyGroups(_ party: Party, field: String) -> Problem {
    Problem(
      .tooLarge, "too-many-contact-groups",
      "\(party.address) sees \(Limits.contactGroupsPerUserMax) contact groups, the most for one user.", field: field)
  }

  // MARK: Groups that see each other

  /// Returns other groups by number.
  private func others(_ names: [String], of group: ContactGroup, field: String) throws -> [Int64: ContactGroup] {
    var found: [Int64: ContactGroup] = [:]
    for name in names {
      guard let other = try writer.contactGroup(name, in: group.realm), other.id != group.id else {
        throw Problem(
          .missing, "contact-group-unknown", "There is no other contact group \(Line.safe(name)).", field: field)
      }
      found[other.id] = other
    }
    return found
  }

  private mutating func link(_ group: ContactGroup, _ other: ContactGroup) throws {
    for (one, two) in [(group, other), (other, group)] {
      for party in try members(of: one).values where try !hasRoom(party, [two.id]) {
        throw tooManyGroups(party, field: "see")
      }
    }
    for (one, two) in [(group, other), (other, group)] {
      try writer.put(ContactGroupLink(group: one.id, seen: two.id))
    }
    try relate(group, other, .linked)
  }

  private mutating func unlink(_ group: ContactGroup, _ id: Int64) throws {
    guard let other = try writer.record(ContactGroup.self, .equal(.id, id)) else { return }
    for (one, two) in [(group, other), (other, group)] {
      try writer.remove(ContactGroupLink.self, .equal(.group, one.id), .equal(.seen, two.id))
    }
    try relate(group, other, .unlinked)
  }

  /// Announces that two groups see each other, or no longer, as if the members of one had joined those of the other.
  private mutating func relate(
    _ group: ContactGroup, _ other: ContactGroup, _ act: ContactGroupChange.Act
  ) throws {
    let (mine, theirs) = (try members(of: group), try members(of: other))
    let isMine = Set(mine.values.map(\.id))
    func ordered(_ parties: [Party]) -> [Party] { parties.sorted { $0.id < $1.id } }
    let change = ContactGroupChange(
      act: act, moved: ordered(Array(mine.values)), others: ordered(theirs.values.filter { !isMine.contains($0.id) }))
    func announceBoth(_ version: Position) throws {
      for (one, two, members) in [(group, other, mine), (other, group, theirs)] {
        let before = seen(by: one)
        try announce(
          one, members, members, seen: before, act.isGain ? before.union([two.id]) : before.subtracting([two.id]),
          version: version)
      }
    }
    guard let author = change.members.first, !mine.isEmpty, !change.others.isEmpty else {
      return try announceBoth(.zero)
    }
    let position = nextPosition()
    for party in change.members { try writer.put(SharedContactsVersion(user: party.id, version: position)) }
    try announceBoth(position)
    let feeds = change.members.map { FeedRow(user: $0.id, traits: []) }
    tell(.entry(try insertOwn(.contactGroup(change), of: author, at: position, feeds: feeds), author: nil))
    tell(.contactGroupPresences(change, by: .link(group.id, other.id)))
  }

  /// Writes and announces a change of a group whose members are stored; `after` is `nil` if the group is deleted.
  private mutating func move(
    _ moved: [Party], _ act: ContactGroupChange.Act, _ group: ContactGroup, before: [BareJID: Party],
    after: [BareJID: Party]?
  ) throws {
    if after == nil { try writer.remove(ContactGroupMember.self, .equal(.group, group.id)) }
    var others = after ?? [:]
    var moved = moved
    // Those who see the group, too, unless there is nothing to see.
    if !moved.isEmpty || !others.isEmpty {
      var viewers: [BareJID: Party] = [:]
      for id in seen(by: group) {
        guard let other = try writer.record(ContactGroup.self, .equal(.id, id)) else { continue }
        viewers.merge(try members(of: other)) { $1 }
      }
      if act == .renamed, viewers.contains(where: { others[$0.key] == nil }) { moved = Array(others.values) }
      others.merge(viewers) { $1 }
    }
    let isMoved = Set(moved.map(\.id))
    let rest = others.values.filter { !isMoved.contains($0.id) }
    func ordered(_ parties: [Party]) -> [Party] { parties.sorted { $0.id < $1.id } }
    let change = ContactGroupChange(act: act, moved: ordered(moved), others: ordered(rest))
    // Nobody's contacts change by a group of one.
    guard let author = change.members.first, change.members.count > 1 else { return try announce(group, before, after) }
    let position = nextPosition()
    for party in change.members { try writer.put(SharedContactsVersion(user: party.id, version: position)) }
    try announce(group, before, after, version: position)
    let feeds = change.members.map { FeedRow(user: $0.id, traits: []) }
    tell(.entry(try insertOwn(.contactGroup(change), of: author, at: position, feeds: feeds), author: nil))
    if act != .renamed { tell(.contactGroupPresences(change, by: .members(group.id))) }
  }

  /// Replaces a group in memory, once the batch is committed.
  private mutating func announce(
    _ group: ContactGroup, _ before: [BareJID: Party], _ after: [BareJID: Party]?, version: Position = .zero
  ) throws {
    try announce(group, before, after, seen: seen(by: group), seen(by: group), version: version)
  }

  private mutating func announce(
    _ group: ContactGroup, _ before: [BareJID: Party], _ after: [BareJID: Party]?, seen seenBefore: Set<Int64>,
    _ seenAfter: Set<Int64>, version: Position
  ) throws {
    var names = shared(group)?.names ?? [:]
    for address in before.keys where after?[address] == nil { names[address] = nil }
    for (address, party) in after ?? [:] where before[address] == nil {
      names[address] = try writer.user(party.id)?.profile.sharedName
    }
    let changed = after.map { SharedContacts(group, $0, names: names, seen: seenAfter) }
    sharedContacts[group.id] = .some(changed)
    tell(.contactGroup(SharedContacts(group, before, seen: seenBefore), changed, version))
  }

  // MARK: Names

  /// Gives a user who has another name in their profile this name in the rosters of those who see them by contact
  /// groups. It writes a row of each group, not of each member, as users change their names themselves.
  ///
  /// - Parameter version: the version of the rosters that show it.
  mutating func rename(_ user: User, version: Position) throws {
    var renamed: [SharedContacts] = []
    for var group in try writer.contactGroups(of: user.id) {
      guard let named = shared(group)?.naming(user.address, user.profile.sharedName) else { continue }
      group.namesVersion = version
      try writer.put(group)
      sharedContacts[group.id] = .some(named)
      renamed.append(named)
    }
    if !renamed.isEmpty { tell(.contactNamed(user.party, renamed, version)) }
  }
}

extension Parley {
  /// Writes as `work`, and puts the user that the body returns into the contact groups of everyone in the domain, in
  /// the same transaction.
  package func enrolling(
    _ body: @escaping @Sendable (any StoreWriter) throws -> User
  ) async throws(Problem) -> User {
    let work = WriteTransaction(following: { writer in
      let user = try body(writer)
      return (user, [Self.enrolment(of: user.id)])
    })
    guard let user = try await post(.work(work), by: Self.nobody).value as? User else { throw Problem.storage }
    return user
  }

  /// Returns the post that puts a user into the contact groups of everyone in the domain.
  package static func enrolment(of user: UserID) -> Post {
    Post(author: nobody, intent: .contactGroup(.enrol(user)), completion: .none)
  }
}
