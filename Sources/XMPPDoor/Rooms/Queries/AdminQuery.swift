import Addresses
import Dialogs
import XMLStream
import XMPP

/// A client's request for a list of people, or to change them (XEP-0045 8.2 to 8.5, 9, 10.3 to 10.8, 17.4, 19.3), and
/// the answer. The core decides whether it is allowed.
enum AdminQuery: Hashable, Sendable {
  /// Lists all users of an affiliation. `member` includes watchers.
  case affiliation(Affiliation)
  /// Lists every occupant of a role.
  case role(Role)
  /// Changes affiliations, all or none of them.
  case changeAffiliations([Change])
  /// Changes roles, all or none of them.
  case changeRoles([RoleDraft])

  /// The person that a change is about.
  enum Person: Hashable, Sendable {
    case address(BareJID)
    /// The occupant with this nick, which some clients send instead of an address (against 17.4 rule 6).
    case occupant(nick: String)
  }

  /// A new affiliation.
  struct Change: Hashable, Sendable {
    let person: Person
    let affiliation: Affiliation
    /// The nick to reserve for the person (9.3); empty to release it (9.5); `nil` to leave it unchanged.
    let nick: String?
    let reason: String?

    /// Returns the change as the core takes it.
    func draft(of address: BareJID) -> MemberDraft {
      MemberDraft(
        address: address, affiliation: affiliation, nick: nick, reason: reason, keepsWatchers: true, bansAddress: true)
    }
  }

  // MARK: Reading

  /// Reads an IQ of type `get`.
  init(get query: Element) throws(StanzaError) {
    let items = try Self.items(of: query)
    guard let item = items.first, items.count == 1 else {
      throw StanzaError(.badRequest, "a request for a list has one item")
    }
    switch (try Affiliation.read(item), try Role.read(item)) {
    case (Affiliation.none?, nil), (nil, Role.none?): throw StanzaError(.badRequest, "there is no list of 'none'")
    case (let affiliation?, nil): self = .affiliation(affiliation)
    case (nil, let role?): self = .role(role)
    case (nil, nil), (.some, .some):
      throw StanzaError(.badRequest, "a list is of an affiliation or of a role")
    }
  }

  /// Reads an IQ of type `set`.
  /// - Throws: `bad-request` for no items, an item without affiliation and role or with both (17.4 rule 4), items of
  ///   both kinds, an item without a person, a person named twice, an unknown affiliation or role; `jid-malformed` for
  ///   an invalid address or nick; `policy-violation` for more than `Limits.memberChangesMax` items.
  init(set query: Element) throws(StanzaError) {
    var changes: [Change] = []
    var roles: [RoleDraft] = []
    var seen: Set<Person> = []
    for item in try Self.items(of: query) {
      let person: Person
      switch (try Affiliation.read(item), try Role.read(item)) {
      case (let affiliation?, nil):
        let change = try Self.change(item, to: affiliation)
        person = change.person
        changes.append(change)
      case (nil, let role?):
        // An address beside it is ignored (17.4 rule 5).
        let nick = try RoomNick.read(try item.required("nick"))
        person = .occupant(nick: nick)
        roles.append(RoleDraft(nick: nick, role: role, reason: RoomReason.read(.mucAdminReason, of: item)))
      case (nil, nil), (.some, .some):
        throw StanzaError(.badRequest, "an item changes an affiliation or a role")
      }
      guard seen.insert(person).inserted else { throw StanzaError(.badRequest, "somebody is named twice") }
    }
    switch (changes.isEmpty, roles.isEmpty) {
    case (false, true): self = .changeAffiliations(changes)
    case (true, false): self = .changeRoles(roles)
    case (true, true): throw StanzaError(.badRequest, "a change has items")
    case (false, false): throw StanzaError(.badRequest, "affiliations and roles are changed one after the other")
    }
  }

  private static func items(of query: Element) throws(StanzaError) -> [Element] {
    var items: [Element] = []
    for child in query.children where child.is(.mucAdminItem) {
      guard items.count < Limits.memberChangesMax else {
        throw StanzaError(.policyViolation, "one request has at most \(Limits.memberChangesMax) items")
      }
      items.append(child)
    }
    return items
  }

  private static func change(_ item: Element, to affiliation: Affiliation) throws(StanzaError) -> Change {
    let reason = RoomReason.read(.mucAdminReason, of: item)
    // Affiliations belong to bare addresses (10.3).
    guard let address = try item.jid("jid")?.bare else {
      guard let nick = item["nick"] else {
        throw StanzaError(.badRequest, "an affiliation is of an address")
      }
      return Change(
        person: .occupant(nick: try RoomNick.read(nick)), affiliation: affiliation, nick: nil, reason: reason)
    }
    // Outcasts and people without affiliation have no reserved nick (17.4 rule 6).
    var nick: String?
    if affiliation.isMember, let text = item["nick"] { nick = text.isEmpty ? "" : try RoomNick.read(text) }
    return Change(person: .address(address), affiliation: affiliation, nick: nick, reason: reason)
  }

  // MARK: Writing

  /// Writes a list of people by affiliation (17.4 rule 6): bare addresses, reserved nicks, no roles; the reason of a
  /// ban (9.2).
  ///
  /// - Parameter showsAddresses: whether the reader may see addresses (5.2.1): otherwise nicks only, and people without
  ///   one are left out.
  static func write(
    _ members: [Member], _ bans: [AddressBan] = [], showsAddresses: Bool, into writer: inout ElementWriter
  ) {
    writer.open(.mucAdmin)
    for member in members {
      let nick = member.affiliation.isMember ? member.nick : nil
      if !showsAddresses, nick == nil { continue }
      writer.element("item") { writer in
        writer.attribute("affiliation", member.affiliation.text)
        if showsAddresses { writer.attribute("jid", member.party.address.description) }
        writer.attribute("nick", nick)
        RoomReason.write(member.reason, into: &writer)
      }
    }
    for ban in bans {
      writer.element("item") { writer in
        writer.attribute("affiliation", Affiliation.outcast.text)
        writer.attribute("jid", ban.address.description)
        RoomReason.write(ban.reason, into: &writer)
      }
    }
    writer.close()
  }

  /// Writes a list of occupants by role (17.4 rule 5), with the address of the first session of each.
  ///
  /// - Parameter showsAddresses: whether the reader may see addresses, as moderators may.
  static func write(_ occupants: [OccupantView], showsAddresses: Bool, into writer: inout ElementWriter) {
    writer.element(.mucAdmin) { writer in
      for occupant in occupants {
        writer.element("item") { writer in
          writer.attribute("affiliation", occupant.affiliation.text)
          if showsAddresses {
            writer.attribute("jid", OccupantWriter.address(occupant.party, occupant.resources.first))
          }
          writer.attribute("nick", occupant.nick)
          writer.attribute("role", occupant.role.text)
        }
      }
    }
  }
}
