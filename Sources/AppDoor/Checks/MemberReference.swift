import Addresses
import Dialogs

/// References to users within a dialog, where they may know each other by its ids only (`ParticipantNaming`): in a path
/// of its members, and in mentions.
enum MemberReference {
  /// Returns a member's address. Non-admins are refused before the lookup, so that they cannot probe who exists.
  static func address(
    _ id: String, in room: RoomName, by caller: Party, _ call: RequestContext
  ) async throws(Problem) -> BareJID {
    let own = ParticipantNaming.prefix + call.parley.occupantID(of: caller.id, in: room)
    if id == "me" || id == own { return caller.address }
    let isOccupant = id.hasPrefix(ParticipantNaming.prefix)
    let address = isOccupant ? nil : try Checks.address(id, domain: call.realm.domain)
    if let address, address == caller.address { return address }
    let found = try await call.parley.read { reader in
      let readable = try reader.access(to: room.dialog, for: caller).get()
      guard readable.member?.affiliation.seesAddresses == true else { throw Problem.notAdmin }
      return try address ?? find([id], in: room, readable, call.parley, reader)[id]?.party.address
    }
    guard let found else { throw unknown }
    return found
  }

  /// Returns mentions with user ids. In a semi-anonymous room non-admins may refer to others by occupant id only; any
  /// other user id is treated as unknown.
  static func named(
    _ mentions: [MentionBody], in room: RoomName, by author: Party, _ parley: Parley, _ reader: any StoreReader
  ) throws -> [MentionBody] {
    // Mentions that the core refuses anyway need no lookup.
    guard mentions.count <= Limits.mentionsMax,
      let readable = try reader.access(to: room.dialog, for: author).readable
    else { return mentions }
    let isOpen = readable.showsPeople
    let found = try find(
      Set(mentions.map(\.userId).filter { $0.hasPrefix(ParticipantNaming.prefix) }), in: room, readable, parley, reader)
    return try mentions.map { mention in
      if let member = found[mention.userId] {
        // The core accepts nicks from users who may not see addresses, as XMPP does.
        let isNamed = isOpen || member.party == author
        guard let name = isNamed ? member.party.name : member.nick.map({ "\(room.address)/\($0)" }) else {
          throw Problem.mentionUnknown
        }
        return MentionBody(userId: name, begin: mention.begin, end: mention.end)
      }
      if mention.userId.hasPrefix(ParticipantNaming.prefix) { throw Problem.mentionUnknown }
      if isOpen { return mention }
      let address = try Checks.address(mention.userId, domain: author.address.domain, field: "mentions")
      if address != author.address { throw Problem.mentionUnknown }
      return mention
    }
  }

  /// Finds members by occupant id, which requires reading all members: at most twice `Limits.membersMax`, on a reader's
  /// thread.
  private static func find(
    _ ids: Set<String>, in room: RoomName, _ readable: ReadableRoom, _ parley: Parley, _ reader: any StoreReader
  ) throws -> [String: Member] {
    var found: [String: Member] = [:]
    var after: UserID?
    while found.count < ids.count {
      let page = try reader.members(of: readable.members, after: after, limit: Limits.feedPageMax)
      for member in page {
        let id = ParticipantNaming.prefix + parley.occupantID(of: member.party.id, in: room)
        if ids.contains(id) { found[id] = member }
      }
      guard page.count == Limits.feedPageMax else { break }
      after = page.last?.party.id
    }
    return found
  }

  static let unknown = Problem(.missing, "member-unknown", "This user is no member of the dialog.", field: "userId")
}
