import Addresses

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
      let members = try members(of: group)
      try writer.remove(group)
      try move(Array(members.values), .left, group, before: members, after: nil)
      receipt.isRepeat = false
    case .change(let realm, let name, let adding, let removing):
      let group = try known(name, in: realm)
      if group.hasEveryone {
        throw Problem(
          .conflict, "contact-group-of-everyone", "Everyone in the domain is in the group \(name), as long as it is.",
          field: "group")
      }
      let joining = try users(adding, in: realm, field: "add")
      let leaving = try users(removing, in: realm, field: "remove")
      if let both = joining.first(where: { leaving[$0.key] != nil }) {
        throw Problem(.malformed, "member-repeated", "\(both.key) is to be added and removed.", field: "remove")
      }
      let isChanged = try join(Array(joining.values), group)
      receipt.isRepeat = try !leave(Array(leaving.values), group) && !isChanged
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
    guard (1...Limits.contactGroupNameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(Self.isPlain) else {
      throw Problem(
        .malformed, "contact-group-name",
        "A contact group's name has 1 to \(Limits.contactGroupNameBytesMax) of a-z, 0-9, dot, hyphen, underscore.",
        field: "group")
    }
    if let displayName { try checkDisplayName(displayName) }
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
    announce(stored, [:], [:])
    _ = try join(everyone, stored)
    return true
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || [0x2d, 0x2e, 0x5f].contains(byte)
  }

  /// Checks the name of a roster group, which is XML and stands in tables.
  private func checkDisplayName(_ name: String) throws(Problem) {
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

  /// Returns the members of a group as the posts of this batch have left them.
  private func members(of group: ContactGroup) throws -> [BareJID: Party] {
    if let changed = sharedContacts[group.id] { return changed?.members ?? [:] }
    return hub.contactGroups(group.id)?.members ?? [:]
  }

  /// Returns whether anybody joined, who was not a member before.
  private mutating func join(_ parties: [Party], _ group: ContactGroup) throws -> Bool {
    let before = try members(of: group)
    let joining = parties.filter { before[$0.address] == nil }
    if joining.isEmpty { return false }
    try checkSize(before.count + joining.count)
    for party in joining
    where try writer.count(ContactGroupMember.self, .equal(.user, party.id)) >= Limits.contactGroupsPerUserMax {
      // A user who only comes into a group of everyone is left out of it, rather than refused.
      if group.hasEveryone { return false }
      throw Problem(
        .tooLarge, "too-many-contact-groups",
        "\(party.address) is in \(Limits.contactGroupsPerUserMax) contact groups, the most for one user.",
        field: "add")
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

  /// Writes and announces a change of a group whose members are stored; `after` is `nil` if the group is deleted.
  private mutating func move(
    _ moved: [Party], _ act: ContactGroupChange.Act, _ group: ContactGroup, before: [BareJID: Party],
    after: [BareJID: Party]?
  ) throws {
    if after == nil { try writer.remove(ContactGroupMember.self, .equal(.group, group.id)) }
    let isMoved = Set(moved.map(\.id))
    let others = (after ?? [:]).values.filter { !isMoved.contains($0.id) }
    func ordered(_ parties: [Party]) -> [Party] { parties.sorted { $0.id < $1.id } }
    let change = ContactGroupChange(act: act, moved: ordered(moved), others: ordered(others))
    // Nobody's contacts change by a group of one.
    guard let author = change.members.first, change.members.count > 1 else { return announce(group, before, after) }
    let position = nextPosition()
    for party in change.members { try writer.put(SharedContactsVersion(user: party.id, version: position)) }
    announce(group, before, after, version: position)
    let feeds = change.members.map { FeedRow(user: $0.id, traits: []) }
    tell(.entry(try insertOwn(.contactGroup(change), of: author, at: position, feeds: feeds), author: nil))
    if act != .renamed { tell(.contactGroupPresences(change, in: group.id)) }
  }

  /// Replaces a group in memory, once the batch is committed.
  private mutating func announce(
    _ group: ContactGroup, _ before: [BareJID: Party], _ after: [BareJID: Party]?, version: Position = .zero
  ) {
    let shared = after.map { SharedContacts(group, $0) }
    sharedContacts[group.id] = .some(shared)
    tell(.contactGroup(SharedContacts(group, before), shared, version))
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
