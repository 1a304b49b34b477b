// Contact groups: users of a realm who are in each other's rosters because an operator says so. Theory:
//
// What is stored is who is in which group, one row each: adding somebody writes a few rows however many contacts that
// makes, and none of them is a roster item. What a roster shows is computed where it is read, from the user's own items
// and the groups (`StoreReader.contact(of:_:)`, `ContactSnapshot.contact(_:)`), so that everything that asks for a
// subscription finds `both`: presence, probes, nodes, calls, visibility. The user's own item stays as it is beneath, and
// is what remains when the group goes.
//
// The name of such a contact is that of their profile, as long as the user gives them none. It is computed as well: a
// new name is a row of each group of the user, and reaches those who see them as a signal. Those who are offline see by
// the version of the group that the roster has changed.

public import Addresses

/// A group of a realm whose members are contacts of each other.
public struct ContactGroup: Hashable, Sendable {
  public let id: Int64
  public let realm: RealmID
  /// The name by which operators and backends know it, which never changes.
  public let name: String
  /// The group of the roster in which members see each other.
  public var displayName: String
  /// Whether all users of the realm are in it, those who come later too.
  public let hasEveryone: Bool
  /// The position of the last change of a member's name: a part of the version of all rosters that show it.
  var namesVersion: Position

  public init(
    id: Int64 = 0, realm: RealmID, name: String, displayName: String, hasEveryone: Bool, namesVersion: Position = .zero
  ) {
    self.namesVersion = namesVersion
    self.id = id
    self.realm = realm
    self.name = name
    self.displayName = displayName
    self.hasEveryone = hasEveryone
  }
}

extension ContactGroup: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, name, displayName = "display_name", hasEveryone = "has_everyone"
    case namesVersion = "names_version"
  }
  public static let kind = "contact_groups"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [id.field, realm.field, name.field, displayName.field, hasEveryone.field, namesVersion.field]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), realm: fields.next(), name: fields.next(), displayName: fields.next(),
      hasEveryone: fields.next(), namesVersion: fields.next())
  }
}

/// A user in a contact group.
public struct ContactGroupMember: Hashable, Sendable {
  public let group: Int64
  public let user: UserID

  public init(group: Int64, user: UserID) {
    self.group = group
    self.user = user
  }
}

extension ContactGroupMember: Record {
  public enum Field: String, CaseIterable, Sendable { case group = "group_id", user }
  public static let kind = "contact_group_members"
  public static let key: [Field] = [.group, .user]
  public var fields: [FieldValue] { [group.field, user.field] }
  public init(_ fields: inout FieldReader) throws { try self.init(group: fields.next(), user: fields.next()) }
}

/// Two contact groups whose members see each other. There are two rows, one for each.
public struct ContactGroupLink: Hashable, Sendable {
  public let group: Int64
  public let seen: Int64

  public init(group: Int64, seen: Int64) {
    self.group = group
    self.seen = seen
  }
}

extension ContactGroupLink: Record {
  public enum Field: String, CaseIterable, Sendable { case group = "group_id", seen = "seen_id" }
  public static let kind = "contact_group_links"
  public static let key: [Field] = [.group, .seen]
  public var fields: [FieldValue] { [group.field, seen.field] }
  public init(_ fields: inout FieldReader) throws { try self.init(group: fields.next(), seen: fields.next()) }
}

/// The position of the last change of a user's shared contacts: the part that contact groups have in the roster's
/// version (RFC 6121 2.6). It outlasts the membership. The last removed item that is no longer stored counts as one.
struct SharedContactsVersion: Hashable, Sendable {
  let user: UserID
  let version: Position
}

extension SharedContactsVersion: Record {
  enum Field: String, CaseIterable, Sendable { case user, version }
  static let kind = "shared_contacts_versions"
  static let key: [Field] = [.user]
  var fields: [FieldValue] { [user.field, version.field] }
  init(_ fields: inout FieldReader) throws { try self.init(user: fields.next(), version: fields.next()) }
}

// MARK: - Changes

/// A change of contact groups, which only operators and backends request, and accounts that come and go.
public enum ContactGroupIntent: Sendable {
  /// Creates a group, or changes its display name; `nil` is the name and `false` for a new group, and unchanged for
  /// another.
  /// `Receipt.isRepeat` tells that nothing changed.
  case put(RealmID, name: String, displayName: String?, hasEveryone: Bool?)
  case delete(RealmID, name: String)
  /// Puts users of the realm into a group and takes others out: all of them or, if one is refused, none. The same with the
  /// groups whose members and its own see each other.
  /// `Receipt.isRepeat` tells that nothing changed.
  case change(
    RealmID, name: String, adding: [BareJID], removing: [BareJID], seeing: [String] = [], unseeing: [String] = [])
  /// Puts a user into the groups of everyone.
  case enrol(UserID)
  /// Takes a user out of all groups.
  case leave(UserID)
}

/// The fact of a contact group's entry: one for all whom it concerns, whose feeds have a row each.
public struct ContactGroupChange: Hashable, Sendable {
  /// The stored act: never renumber.
  public enum Act: UInt8, Sendable {
    case joined = 1
    case left = 2
    case renamed = 3
    /// Two groups see each other from now on.
    case linked = 4
    case unlinked = 5

    /// Whether users become each other's contacts.
    public var isGain: Bool { self == .joined || self == .linked }
  }
  public let act: Act
  /// The users who joined or left. Of two groups that see each other, or no longer, those of one; of a renamed group its
  /// members if others see them, else none.
  public let moved: [Party]
  /// The other members at that time, and those of groups that see this one.
  public let others: [Party]

  public init(act: Act, moved: [Party], others: [Party]) {
    self.act = act
    self.moved = moved
    self.others = others
  }

  /// Everybody whose contacts it changes.
  public var members: [Party] { moved + others }

  /// Returns the contacts of one of the members that it changes.
  public func contacts(of user: UserID) -> [Party] {
    let isMoved = moved.contains { $0.id == user }
    let contacts =
      switch act {
      case .joined, .left: isMoved ? members : moved
      case .renamed: isMoved || moved.isEmpty ? members : moved
      case .linked, .unlinked: isMoved ? others : moved
      }
    return contacts.filter { $0.id != user }
  }

  /// Returns the only contact of one of the members that it changes; `nil` if there are several.
  public func onlyContact(of user: UserID) -> Party? {
    let contacts = contacts(of: user)
    return contacts.count == 1 && members.contains { $0.id == user } ? contacts[0] : nil
  }
}

extension Problem {
  /// The code of what a user may not do with a contact who comes from a contact group.
  public static let contactSharedCode = "contact-shared"

  static func contactShared(_ address: BareJID, _ groups: [String]) -> Problem {
    Problem(
      .forbidden, contactSharedCode,
      "\(address) is a contact by the group \(groups.joined(separator: ", ")), which this server's operators keep.")
  }
}

// MARK: - Merging

extension Contact {
  /// Returns the contact as groups of these display names show it: the own name and groups stay, and the subscription
  /// is mutual.
  func shared(by names: [String], as peer: UserID) -> Contact {
    if names.isEmpty { return self }
    var contact = Contact(
      owner: owner, address: address, peer: peer, name: name, groups: groups, subscription: .both, version: version)
    for name in names where !contact.sharedBy.contains(name) {
      contact.sharedBy.append(name)
      if !groups.contains(name) { contact.groups.append(name) }
    }
    return contact
  }

  /// Returns the same for a user of whom the owner may have an item of their own.
  static func shared(
    _ own: Contact?, of owner: UserID, _ address: BareJID, as peer: UserID, by names: [String]
  ) -> Contact? {
    if names.isEmpty { return own }
    let contact =
      own ?? Contact(owner: owner, address: address, peer: peer, subscription: .none, version: .zero)
    return contact.shared(by: names, as: peer)
  }
}

extension RecordReader {
  /// Returns a realm's groups by name.
  public func contactGroups(in realm: RealmID) throws -> [ContactGroup] {
    try records(ContactGroup.self, .equal(.realm, realm), by: .name)
  }

  public func contactGroup(_ name: String, in realm: RealmID) throws -> ContactGroup? {
    try record(ContactGroup.self, .equal(.realm, realm), .equal(.name, name))
  }

  /// Returns the groups that a user is in, the oldest first.
  public func contactGroups(of user: UserID) throws -> [ContactGroup] {
    try records(ContactGroupMember.self, .equal(.user, user)).compactMap {
      try record(ContactGroup.self, .equal(.id, $0.group))
    }.sorted { $0.id < $1.id }
  }

  /// Returns the groups whose members a user sees: those that the user is in, and those that they see. The oldest first.
  func seenContactGroups(of user: UserID) throws -> [ContactGroup] {
    let own = try contactGroups(of: user)
    var seen: Set<Int64> = []
    for group in own { seen.formUnion(try contactGroups(seenBy: group.id)) }
    seen.subtract(own.map(\.id))
    return try (own + seen.compactMap { try record(ContactGroup.self, .equal(.id, $0)) }).sorted { $0.id < $1.id }
  }

  /// Returns the groups that a group sees.
  public func contactGroups(seenBy id: Int64) throws -> [Int64] {
    try records(ContactGroupLink.self, .equal(.group, id)).map(\.seen)
  }

  /// Returns the members of a group, by number.
  public func members(ofContactGroup id: Int64) throws -> [UserID] {
    try records(ContactGroupMember.self, .equal(.group, id)).map(\.user)
  }

  public func memberCount(ofContactGroup id: Int64) throws -> Int {
    try count(ContactGroupMember.self, .equal(.group, id))
  }

  /// Returns the position of the last change of a user's shared contacts, or of the name of one.
  fileprivate func sharedContactsVersion(of user: UserID) throws -> Position {
    let ofNames = try seenContactGroups(of: user).map(\.namesVersion).max() ?? .zero
    return max(ofNames, try record(SharedContactsVersion.self, .equal(.user, user))?.version ?? .zero)
  }
}

extension StoreReader {
  /// Returns the display names of the groups by which a user sees another.
  func contactGroupNames(_ user: UserID, with peer: UserID) throws -> [String] {
    if user == peer { return [] }
    return try seenContactGroups(of: user).filter {
      try record(ContactGroupMember.self, .equal(.group, $0.id), .equal(.user, peer)) != nil
    }.map(\.displayName)
  }

  /// Returns a contact as the roster shows it: the user's own item, and what groups make of it.
  public func contact(of owner: UserID, _ address: BareJID) throws -> Contact? {
    let own = try ownContact(of: owner, address)
    guard try count(ContactGroupMember.self, .equal(.user, owner)) > 0,
      let peer = try own?.peer ?? user(address)?.id
    else { return own }
    return Contact.shared(own, of: owner, address, as: peer, by: try contactGroupNames(owner, with: peer))
  }

  /// Returns all contacts as the roster shows them, and unanswered requests.
  public func contacts(of owner: UserID) throws -> [Contact] {
    let own = try ownContacts(of: owner)
    let groups = try seenContactGroups(of: owner)
    if groups.isEmpty { return own }
    var names: [UserID: [String]] = [:]
    for group in groups {
      for member in try members(ofContactGroup: group.id) where member != owner {
        names[member, default: []].append(group.displayName)
      }
    }
    var contacts = Dictionary(own.map { ($0.address, $0) }) { $1 }
    for (peer, names) in names {
      guard let address = try party(peer)?.address else { continue }
      contacts[address] = Contact.shared(contacts[address], of: owner, address, as: peer, by: names)
    }
    return contacts.values.sorted { $0.address.description < $1.address.description }
  }

  /// Returns the roster's version: the position of the last change of the user's items or of their groups.
  public func rosterVersion(of owner: UserID) throws -> Position {
    max(try ownRosterVersion(of: owner), try sharedContactsVersion(of: owner))
  }

  /// Returns the changes of the roster after a version, as `ownContactChanges`; `nil` if the whole roster must be read
  /// instead: shared contacts have changed since, removed ones are no longer stored, or there are more than `limit` changes.
  public func contactChanges(
    of owner: UserID, after version: Position, limit: Int = Limits.contactsMax
  ) throws -> [ContactChange]? {
    if try sharedContactsVersion(of: owner) > version { return nil }
    let changes = try ownContactChanges(of: owner, after: version, limit: limit + 1)
    if changes.count > limit { return nil }
    return try changes.map { change in
      guard let peer = try change.contact.peer ?? user(change.contact.address)?.id else { return change }
      return change.shared(by: try contactGroupNames(owner, with: peer), as: peer)
    }
  }
}

extension ContactChange {
  /// Returns the change as the roster shows it, of a contact that groups of these names share.
  func shared(by names: [String], as peer: UserID) -> ContactChange {
    if names.isEmpty { return self }
    var change = self
    // Without an item of the user's own nothing of it remains but the group's.
    if change.removed {
      change.contact.name = nil
      change.contact.groups = []
    }
    change.contact = change.contact.shared(by: names, as: peer)
    change.push = change.push || change.removed
    change.removed = false
    return change
  }
}
