import Addresses

// The occupants whom a room does not admit any more, since its settings have changed or their domain was banned. They may be ten
// thousand, and the exit of one who is shown is delivered to all others. So some leave in the post that closes the room to them, before
// which nobody of them enters again, and the others in further posts of the same request (`Judge.leave`). Its answer comes after the last,
// and its author's posts behind it: what an owner says in a room that they have closed is heard by nobody who had to leave.

extension Judge {
  private struct Outsider {
    let key: String
    let affiliation: Affiliation
    let code: UInt16
    /// The domain that is banned.
    var domain: String?
  }

  /// Returns some of these occupants. It looks at all occupants, less than a millisecond for 10,000: an index would cost at each entrance.
  private mutating func outsiders(of state: RoomCache.State, atMost count: Int) throws -> [Outsider] {
    let settings = state.room.settings
    // A single address that is banned here belongs to no user, so it concerns no occupant.
    let bans = try addressBans(in: state)
    if bans.isEmpty, !settings.isMembersOnly, settings.acceptsRemote { return [] }
    var found: [Outsider] = []
    for (key, occupant) in rooms.occupants(of: state.room.id)?.byKey ?? [:] {
      if found.count == count { break }
      let affiliation = occupant.affiliation
      let domain = occupant.party.address.domain
      if affiliation == .none, !bans.isEmpty, bans.contains(domain) {
        // 9.1.
        found.append(Outsider(key: key, affiliation: .outcast, code: 301, domain: domain))
      } else if settings.isMembersOnly, !affiliation.isMember {
        // 10.2.1.
        found.append(Outsider(key: key, affiliation: affiliation, code: 322))
      } else if !settings.acceptsRemote, isElsewhere(occupant.party) {
        // 8.2.
        found.append(Outsider(key: key, affiliation: affiliation, code: 307))
      }
    }
    return found
  }

  mutating func hasOutsiders(_ state: RoomCache.State) throws -> Bool { try !outsiders(of: state, atMost: 1).isEmpty }

  /// Removes some of these occupants.
  mutating func expelOutsiders(from state: RoomCache.State, by author: UserID) throws {
    let room = state.room
    let actor = rooms.occupants(of: room.id)?.occupant(of: author)?.nick
    // They are removed behind the look, as a change during it would copy all occupants.
    for outsider in try outsiders(of: state, atMost: Limits.expelledAtOnce) {
      var reason: String?
      if let domain = outsider.domain {
        let text = try writer.value(of: room.id, node: ValueKey.bans, item: domain) ?? []
        reason = text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
      } else if outsider.code == 307 {
        reason = Problem.roomNotFederated.text
      }
      expel(
        outsider.key, from: room, affiliation: outsider.affiliation, codes: [outsider.code],
        actor: outsider.domain == nil ? nil : actor, reason: reason)
    }
  }

  /// Continues a request that has closed the room to some occupants, whatever its author may do by now.
  mutating func expelOutsiders(_ post: Post, from id: DialogID) throws {
    guard let state = try lookUp(.dialog(id), for: post.author), !state.room.isDestroyed else {
      throw Problem.roomDestroyed
    }
    try expelOutsiders(from: state, by: post.author.id)
    let (entry, hasChanged) = (post.begun?.entry, post.begun?.hasChanged ?? true)
    if try hasOutsiders(state) { return leave(Post.Begun(left: post.intent, entry: entry, hasChanged: hasChanged)) }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.room = state.room
    receipt.isRepeat = !hasChanged
    settle(post, receipt)
  }
}
