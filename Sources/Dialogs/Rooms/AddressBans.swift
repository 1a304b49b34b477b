public import Addresses

// Bans of addresses that are no user's (XEP-0045 9.2): of somebody who has no account yet, or none any more, and of whole
// domains. An affiliation belongs to a user, so these are values of the room. Somebody with an affiliation of their own is
// not concerned: 9.2 compares the user's address before the domain.

/// A ban of an address that is no user's.
public struct AddressBan: Hashable, Sendable {
  /// The address; a domain stands for everybody there.
  public let address: BareJID
  public let reason: String?
}

extension StoreReader {
  /// Returns the bans of addresses, if outcasts may be listed.
  public func addressBans(of list: MemberAccess) throws -> [AddressBan] {
    guard list.among.contains(.outcast) else { return [] }
    return try records(RoomKeyValue.self, .equal(.room, list.room), .equal(.node, ValueKey.bans)).compactMap { value in
      guard let address = BareJID(stored: value.item) else { return nil }
      return AddressBan(
        address: address, reason: value.bytes.isEmpty ? nil : String(decoding: value.bytes, as: UTF8.self))
    }
  }
}

extension Judge {
  /// Changes the bans of addresses that some of the drafts ask for, and returns the other drafts, which are about users.
  /// All are checked before anything is written.
  mutating func changeAddressBans(
    _ drafts: [MemberDraft], by post: Post, as actor: Affiliation, in state: RoomCache.State
  ) throws -> (added: [AddressBan], lifted: [BareJID], others: [MemberDraft]) {
    var added: [AddressBan] = []
    var lifted: [BareJID] = []
    var others: [MemberDraft] = []
    let known = try addressBans(in: state)
    for draft in drafts {
      let isBanned = known.contains(draft.address.description)
      if actor >= .admin, try isNobodys(draft.address, seenFrom: state.room.name.realm) {
        if draft.affiliation == .outcast, draft.bansAddress {
          added.append(AddressBan(address: draft.address, reason: Self.cut(draft.reason)))
          continue
        }
        if isBanned, draft.affiliation == Affiliation.none {
          lifted.append(draft.address)
          continue
        }
      } else if actor >= .admin, isBanned, draft.affiliation != nil {
        // The address has become a user's, and has an affiliation from now on, or none.
        lifted.append(draft.address)
      }
      others.append(draft)
    }
    if known.count + added.count(where: { !known.contains($0.address.description) }) > Limits.addressBansMax {
      throw Problem.memberListFull
    }
    return (added, lifted, others)
  }

  private mutating func isNobodys(_ address: BareJID, seenFrom realm: RealmID) throws -> Bool {
    guard address.local != nil, let user = try user(address, seenFrom: realm) else { return true }
    return user.state == .deleted
  }

  /// Stores changed bans, and puts out some of those whom they concern (9.1).
  mutating func apply(
    _ added: [AddressBan], lifted: [BareJID], by post: Post, in state: RoomCache.State
  ) throws {
    for ban in added { try store(ban, in: state) }
    for address in lifted {
      try setValue(of: state.room.id, node: ValueKey.bans, item: address.description, nil)
      rooms.note(ban: address.description, stands: false, in: state)
      rooms.edited(state)
    }
    if added.contains(where: { $0.address.local == nil }) { try expelOutsiders(from: state, by: post.author.id) }
  }

  /// Returns whether a user without an affiliation is banned by their address or its domain.
  mutating func isBanned(_ party: Party, _ affiliation: Affiliation, in state: RoomCache.State) throws -> Bool {
    guard affiliation == .none else { return affiliation == .outcast }
    let bans = try addressBans(in: state)
    return bans.contains(party.address.description) || bans.contains(party.address.domain)
  }

  /// Writes a ban. The other bans stay in memory: reading a thousand takes milliseconds, and an owner may ban and lift with each stanza.
  mutating func store(_ ban: AddressBan, in state: RoomCache.State) throws {
    try setValue(
      of: state.room.id, node: ValueKey.bans, item: ban.address.description, Array((ban.reason ?? "").utf8))
    rooms.note(ban: ban.address.description, stands: true, in: state)
    rooms.edited(state)
  }

  /// Returns the banned addresses that are no user's, in normal form.
  mutating func addressBans(in state: RoomCache.State) throws -> Set<String> {
    if let known = state.addressBans { return known }
    let found = Set(try writer.addressBans(of: .server(state.room.id, .rules)).map(\.address.description))
    rooms.remember(bans: found, in: state)
    return found
  }
}
