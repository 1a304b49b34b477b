public import Addresses
import Basics
import Synchronization

/// A contact group with its members, as all their contact snapshots share it: an online member costs a reference, not a
/// roster. Immutable; replaced by each change.
public final class SharedContacts: Sendable {
  let group: ContactGroup
  let members: [BareJID: Party]
  /// The names of those members who have one in their profile.
  let names: [BareJID: String]
  /// The groups whose members and those of this one see each other.
  let seen: Set<Int64>

  init(_ group: ContactGroup, _ members: [BareJID: Party], names: [BareJID: String] = [:], seen: Set<Int64> = []) {
    self.group = group
    self.members = members
    self.names = names
    self.seen = seen
  }

  /// Returns the group with another name of a member.
  func naming(_ member: BareJID, _ name: String?) -> SharedContacts {
    var names = names
    names[member] = name
    return SharedContacts(group, members, names: names, seen: seen)
  }
}

extension Profile {
  /// The name that the user has in the rosters of those who see them by a contact group; `nil` for one that shows nothing, in
  /// place of which clients show the address.
  var sharedName: String? { displayName.flatMap { $0.showsNothing ? nil : $0 } }
}

/// By what users see each other, or see each other no longer.
enum ContactGroupCause: Hashable, Sendable {
  /// Their membership in a group.
  case members(Int64)
  /// Two groups that see each other.
  case link(Int64, Int64)
}

/// The contact groups in memory: loaded at start, and replaced by the committer.
public final class ContactGroupRegistry: Sendable {
  private struct State {
    var groups: [Int64: SharedContacts] = [:]
    var ofUser: [UserID: [Int64]] = [:]

    mutating func set(_ before: SharedContacts?, _ after: SharedContacts?) {
      guard let id = (after ?? before)?.group.id else { return }
      groups[id] = after
      for party in before?.members.values ?? [:].values where after?.members[party.address] == nil {
        ofUser[party.id]?.removeAll { $0 == id }
        if ofUser[party.id]?.isEmpty == true { ofUser[party.id] = nil }
      }
      for party in after?.members.values ?? [:].values where before?.members[party.address] == nil {
        ofUser[party.id, default: []].append(id)
        ofUser[party.id]?.sort()
      }
    }

    /// Returns the groups whose members a user sees, but those that only one cause lets them see.
    func seen(by user: UserID, but cause: ContactGroupCause?) -> Set<Int64> {
      var seen: Set<Int64> = []
      for id in ofUser[user] ?? [] {
        guard let group = groups[id] else { continue }
        var others = group.seen
        switch cause {
        case .members(id): continue
        case .link(id, let other), .link(let other, id): others.remove(other)
        case .members, .link, nil: break
        }
        seen.formUnion(others.union([id]))
      }
      if case .members(let group) = cause { seen.remove(group) }
      return seen
    }
  }
  private let state: Mutex<State>

  /// Loads the groups; blocks.
  init(_ reader: any StoreReader, _ realms: [Realm]) throws {
    var state = State()
    for group in try realms.flatMap({ try reader.contactGroups(in: $0.id) }) {
      let users = try reader.members(ofContactGroup: group.id).compactMap { try reader.user($0) }
      var names: [BareJID: String] = [:]
      for user in users { names[user.address] = user.profile.sharedName }
      state.set(
        nil,
        SharedContacts(
          group, Dictionary(users.map { ($0.address, $0.party) }) { $1 }, names: names,
          seen: Set(try reader.contactGroups(seenBy: group.id))))
    }
    self.state = Mutex(state)
  }

  func callAsFunction(_ id: Int64) -> SharedContacts? { state.withLock { $0.groups[id] } }

  /// Returns the groups whose members a user sees, the oldest first.
  ///
  /// - Parameter cause: something without which it is asked.
  func groups(of user: UserID, but cause: ContactGroupCause? = nil) -> [SharedContacts] {
    state.withLock { state in state.seen(by: user, but: cause).sorted().compactMap { state.groups[$0] } }
  }

  func replace(_ before: SharedContacts?, by after: SharedContacts?) {
    state.withLock { $0.set(before, after) }
  }

  /// Replaces groups whose members stay the same.
  fileprivate func replace(_ groups: [SharedContacts]) {
    state.withLock { state in for group in groups { state.groups[group.group.id] = group } }
  }

  /// Returns the name that a user sees of another by a group; `nil` if there is none.
  public func name(of address: BareJID, seenBy user: UserID) -> String? {
    groups(of: user).lazy.compactMap { $0.names[address] }.first
  }
}

extension Hub {
  /// Replaces a group in the registry, and in the snapshots of those online who see its members.
  func replace(_ before: SharedContacts?, by after: SharedContacts?, version: Position) {
    contactGroups.replace(before, by: after)
    var members = after?.members ?? [:]
    if let before { members.merge(before.members) { $1 } }
    for id in (before?.seen ?? []).union(after?.seen ?? []) {
      if let other = contactGroups(id) { members.merge(other.members) { $1 } }
    }
    for party in members.values {
      setContactSnapshot(party.id) { $0.with(shared: contactGroups.groups(of: party.id), rosterVersion: version) }
    }
  }

  /// Replaces the groups of a user who has another name, in the registry and in the snapshots of those online who see
  /// it, and signals it to their clients that have a roster: to all members of at most `Limits.contactGroupsPerUserMax`
  /// groups.
  func rename(_ party: Party, in groups: [SharedContacts], version: Position, into batch: inout LaneBatch) {
    contactGroups.replace(groups)
    var viewers: [BareJID: Party] = [:]
    for group in groups {
      viewers.merge(group.members) { $1 }
      for id in group.seen {
        if let other = contactGroups(id) { viewers.merge(other.members) { $1 } }
      }
    }
    for viewer in viewers.values {
      setContactSnapshot(viewer.id) { $0.with(shared: contactGroups.groups(of: viewer.id), rosterVersion: version) }
      if viewer == party { continue }
      for onlineSession in onlineSessions(of: viewer.id) where onlineSession.wantsRoster {
        batch.add(.signal(.contactNamed(party, version), .direct), to: onlineSession.session)
      }
    }
  }

  /// Returns the number of people whose snapshots `rename` replaces, at most.
  func viewerCountMax(of groups: [SharedContacts]) -> Int {
    groups.reduce(0) { sum, group in
      group.seen.reduce(sum + group.members.count) { $0 + (contactGroups($1)?.members.count ?? 0) }
    }
  }

  /// Shows those who have joined or left a group and its other members to each other, or no longer, where nothing but
  /// the cause decides it.
  func showPresences(_ change: ContactGroupChange, by cause: ContactGroupCause, time: Timestamp) {
    let isJoining = change.act.isGain
    // Whoever is offline has nothing to show.
    var online: [UserID: (snapshot: ContactSnapshot, others: [SharedContacts])] = [:]
    for party in change.members {
      guard let snapshot = contactSnapshot(of: party.id) else { continue }
      online[party.id] = (snapshot, contactGroups.groups(of: party.id, but: cause))
    }
    func show(_ user: Party, to viewer: Party) {
      guard user.id != viewer.id, let (snapshot, others) = online[user.id],
        snapshot.contact(viewer.address, by: others)?.subscription.from != true
      else { return }
      showPresence(of: user.id, to: viewer.address, available: isJoining, time: time)
    }
    for party in change.moved {
      for other in change.others {
        show(party, to: other)
        show(other, to: party)
      }
      for other in change.moved { show(party, to: other) }
    }
  }
}

extension ContactSnapshot {
  /// Returns a contact as the roster shows it.
  public func contact(_ address: BareJID) -> Contact? { contact(address, by: shared) }

  /// Returns a contact as the roster would show it with other groups.
  func contact(_ address: BareJID, by shared: [SharedContacts]) -> Contact? {
    let own = own[address]
    if shared.isEmpty || address == user.address { return own }
    var peer: Party?
    var names: [String] = []
    for each in shared {
      guard let member = each.members[address] else { continue }
      peer = member
      names.append(each.group.displayName)
    }
    guard let peer else { return own }
    return Contact.shared(own, of: user.id, address, as: peer.id, by: names)
  }

  /// Returns the name of a contact by a group, which the roster shows if the user gave none; `nil` if there is none.
  public func sharedName(of address: BareJID) -> String? {
    shared.lazy.compactMap { $0.names[address] }.first
  }

  /// All contacts as the roster shows them, and unanswered requests, in no order. Computed: its cost is that of a whole
  /// roster.
  public var contacts: [Contact] {
    if shared.isEmpty { return Array(own) }
    var addresses = Set(own.map(\.address))
    for each in shared { addresses.formUnion(each.members.keys) }
    addresses.remove(user.address)
    return addresses.compactMap { contact($0) }
  }

  /// The contacts whose request for the user's presence is unanswered, in no order, at the cost of their number.
  public var requests: [Contact] { own.requests.compactMap { contact($0) }.filter(\.subscription.pendingIn) }

  /// The number of `contacts` at most, without composing them: those in several contact groups count for each.
  public var contactCountMax: Int { shared.reduce(own.count) { $0 + $1.members.count } }

  /// Returns names of the roster's groups.
  ///
  /// - Parameters:
  ///   - limit: the most names.
  ///   - contacts: the most of the user's own items that are looked at, in no order. Those of contact groups need no look.
  public func groupNames(limit: Int, contacts: Int) -> Set<String> {
    var names = Set(shared.prefix(limit).map(\.group.displayName))
    for contact in own.prefix(contacts) {
      for name in contact.groups {
        if names.count >= limit { return names }
        names.insert(name)
      }
    }
    return names
  }

  /// The number of those who see this user's presence, here and elsewhere, at most, without composing them: those in several contact
  /// groups count for each.
  var subscriberCountMax: Int {
    let elsewhere = own.remoteSubscribers.values.reduce(0) { $0 + $1.count }
    return shared.reduce(own.subscribers.count + elsewhere) { $0 + $1.members.count }
  }

  /// The local users who see this user's presence (`from`, `both`).
  public var subscribers: [UserID] { adding(own.subscribers) }
  /// The local users whose presence this user sees (`to`, `both`).
  public var subscriptions: [UserID] { adding(own.subscriptions) }

  private func adding(_ own: [UserID]) -> [UserID] {
    if shared.isEmpty { return own }
    var users = Set(own)
    for each in shared { for party in each.members.values { users.insert(party.id) } }
    users.remove(user.id)
    return Array(users)
  }
}
