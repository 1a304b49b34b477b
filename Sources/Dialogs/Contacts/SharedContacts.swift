public import Addresses
import Basics
import Synchronization

/// A contact group with its members, as all their contact snapshots share it: an online member costs a reference, not a
/// roster. Immutable; replaced by each change.
public final class SharedContacts: Sendable {
  let group: ContactGroup
  let members: [BareJID: Party]

  init(_ group: ContactGroup, _ members: [BareJID: Party]) {
    self.group = group
    self.members = members
  }
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
  }
  private let state: Mutex<State>

  /// Loads the groups; blocks.
  init(_ reader: any StoreReader, _ realms: [Realm]) throws {
    var state = State()
    for group in try realms.flatMap({ try reader.contactGroups(in: $0.id) }) {
      let members = try reader.members(ofContactGroup: group.id).compactMap { try reader.party($0) }
      state.set(nil, SharedContacts(group, Dictionary(members.map { ($0.address, $0) }) { $1 }))
    }
    self.state = Mutex(state)
  }

  func callAsFunction(_ id: Int64) -> SharedContacts? { state.withLock { $0.groups[id] } }

  /// Returns the groups that a user is in, the oldest first.
  func groups(of user: UserID) -> [SharedContacts] {
    state.withLock { state in (state.ofUser[user] ?? []).compactMap { state.groups[$0] } }
  }

  func replace(_ before: SharedContacts?, by after: SharedContacts?) {
    state.withLock { $0.set(before, after) }
  }
}

extension Hub {
  /// Replaces a group in the registry, and in the snapshots of its members who are online.
  func replace(_ before: SharedContacts?, by after: SharedContacts?, version: Position) {
    contactGroups.replace(before, by: after)
    var members = after?.members ?? [:]
    if let before { members.merge(before.members) { $1 } }
    for party in members.values {
      setContactSnapshot(party.id) { $0.with(shared: contactGroups.groups(of: party.id), rosterVersion: version) }
    }
  }

  /// Shows those who have joined or left a group and its other members to each other, or no longer, where nothing but
  /// the group decides it.
  func showPresences(_ change: ContactGroupChange, in group: Int64, time: Timestamp) {
    let isJoining = change.act == .joined
    func show(_ user: Party, to viewer: Party) {
      // Whoever is offline has nothing to show.
      guard user.id != viewer.id, let snapshot = contactSnapshot(of: user.id),
        snapshot.contact(viewer.address, but: group)?.subscription.from != true
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
  ///
  /// - Parameter group: a group that is left out.
  public func contact(_ address: BareJID, but group: Int64? = nil) -> Contact? {
    let own = own[address]
    if shared.isEmpty || address == user.address { return own }
    var peer: Party?
    var names: [String] = []
    for each in shared where each.group.id != group {
      guard let member = each.members[address] else { continue }
      peer = member
      names.append(each.group.displayName)
    }
    guard let peer else { return own }
    return Contact.shared(own, of: user.id, address, as: peer.id, by: names)
  }

  /// All contacts as the roster shows them, and unanswered requests, in no order. Computed: its cost is that of a whole
  /// roster.
  public var contacts: [Contact] {
    if shared.isEmpty { return Array(own.values) }
    var addresses = Set(own.keys)
    for each in shared { addresses.formUnion(each.members.keys) }
    addresses.remove(user.address)
    return addresses.compactMap { contact($0) }
  }

  /// Calls `body` with the `contacts` and what `find` returns for the local ones, without those by groups for whom it
  /// returns `nil`: they are not even composed.
  func forEachContact<Found>(finding find: (UserID) -> Found?, _ body: (Contact, Found?) -> Void) {
    for (address, contact) in own {
      let contact = shared.isEmpty ? contact : self.contact(address) ?? contact
      body(contact, contact.peer.flatMap(find))
    }
    for (index, each) in shared.enumerated() {
      let names = [each.group.displayName]
      for (address, party) in each.members where party.id != user.id {
        guard let found = find(party.id), own[address] == nil else { continue }
        if shared.count == 1 {
          // As `contact` would, with nothing to merge.
          var contact = Contact(
            owner: user.id, address: address, peer: party.id, groups: names, subscription: .both, version: .zero)
          contact.sharedBy = names
          body(contact, found)
        } else if !shared[..<index].contains(where: { $0.members[address] != nil }), let contact = contact(address) {
          body(contact, found)
        }
      }
    }
  }

  /// The local users who see this user's presence (`from`, `both`).
  public var subscribers: [UserID] { adding(ownSubscribers) }
  /// The local users whose presence this user sees (`to`, `both`).
  public var subscriptions: [UserID] { adding(ownSubscriptions) }

  private func adding(_ own: [UserID]) -> [UserID] {
    if shared.isEmpty { return own }
    var users = Set(own)
    for each in shared { for party in each.members.values { users.insert(party.id) } }
    users.remove(user.id)
    return Array(users)
  }
}
