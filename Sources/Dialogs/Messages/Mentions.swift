import Addresses

// The mentions of messages (XEP-0372 3.2). Theory:
//
// Mentions are a part of the message: `Message.mentions` are the original ones, `MessageState.mentions` those of the
// last correction, the same for every viewer. They result in one row per notified member, under the ordinal of the
// message: the rows behind the ordinal up to which the member has read are that member's unread mentions. A correction
// replaces the rows of its target and has none itself, and a tombstone has none, so no message counts twice.
//
// Users who mention themselves, or who have blocked the author, are not notified: the mention is shown all the same, or
// its author could detect the block.

extension Judge {
  /// Returns the mentions of a message that is about to be sent. Nothing is written.
  ///
  /// Invalid mentions are ignored from XMPP, and refused from an app. A place that is outside of the text, or in an
  /// encrypted text, is left out.
  ///
  /// - Parameter find: returns the user at an address, if they belong to the dialog.
  static func mentions(
    _ drafts: [MentionDraft], of content: Content, isApp: Bool,
    _ find: (JID) throws -> (party: Party, name: Mention.Name)?
  ) throws -> [Mention] {
    if drafts.isEmpty || content.kind == .none { return [] }
    if isApp { try checkMentions(drafts, of: content) }
    let length = content.text.unicodeScalars.count
    return try drafts.prefix(Limits.mentionsMax).compactMap { draft -> Mention? in
      let place = content.kind == .encrypted ? nil : Self.place(of: draft, length: length)
      guard let found = try find(draft.address) else {
        if isApp {
          throw Problem.mentionUnknown
        }
        return nil
      }
      return Mention(party: found.party, name: found.name, place: place)
    }
  }

  /// Checks an app's mentions, independently of the mentioned users.
  static func checkMentions(_ drafts: [MentionDraft], of content: Content) throws(Problem) {
    guard drafts.count <= Limits.mentionsMax else {
      throw Problem(
        .tooLarge, "too-many-mentions", "One message has at most \(Limits.mentionsMax) mentions.",
        field: "mentions")
    }
    let length = content.text.unicodeScalars.count
    for draft in drafts where draft.begin != nil || draft.end != nil {
      guard content.kind != .encrypted, place(of: draft, length: length) != nil else {
        throw Problem(
          .malformed, "mention-misplaced",
          "A mention has begin and end, in code points of content.text, or neither.", field: "mentions")
      }
    }
  }

  /// Returns the place of a mention; `nil` if it has none, or one outside of a text of so many code points.
  private static func place(of draft: MentionDraft, length: Int) -> Range<Int>? {
    guard let begin = draft.begin, let end = draft.end, begin >= 0, begin < end, end <= length else { return nil }
    return begin..<end
  }

  /// Returns the mentions of a message in a room: members, present or not.
  mutating func mentions(
    of draft: RoomMessageDraft, by author: Party, as affiliation: Affiliation, isApp: Bool, in state: RoomCache.State
  ) throws -> [Mention] {
    let room = state.room
    let knowsPeople = room.showsPeople(to: affiliation)
    return try Self.mentions(draft.mentions, of: draft.content, isApp: isApp) { address in
      let user: UserID?
      if let nick = address.resource {
        guard address.bare == room.address, let key = (try? Self.nick(nick))?.key else { return nil }
        user =
          try rooms.occupants(of: room.id)?.byKey[key]?.party.id
          ?? writer.member(nickKey: key, of: .server(room.id, .rules))?.party.id
      } else {
        // Users who may not see addresses cannot probe by this which member has one, in either protocol.
        user =
          knowsPeople || address.bare == author.address
          ? try self.user(address.bare, seenFrom: room.name.realm)?.party.id : nil
      }
      guard let user, let member = try member(user, in: state), member.affiliation.isMember else {
        return nil
      }
      if room.settings.showsAddresses { return (member.party, .address) }
      let nick = rooms.occupants(of: room.id)?.occupant(of: user)?.nick ?? member.nick
      return (member.party, nick.map { Mention.Name.nick($0) } ?? .unnamed)
    }
  }

  /// Stores the users for whom the mentions of `entry`, which has just been inserted, count.
  ///
  /// - Parameters:
  ///   - reference: the entry's reference to an earlier message, with that one's new state.
  ///   - resource: the author's resource.
  mutating func count(
    _ mentions: [Mention], of entry: Entry, _ reference: Reference?, resource: String?
  ) throws {
    switch reference?.kind {
    case nil, .reply:
      if !mentions.isEmpty { try count(mentions, at: entry.position, of: entry, resource: resource) }
    case .correction:
      try count(mentions, at: reference?.target ?? entry.position, of: entry, resource: resource)
    case .retraction, .moderation:
      try count([], at: reference?.target ?? entry.position, of: entry, resource: resource)
    case .reactions, .pin, .part: break
    }
  }

  private mutating func count(
    _ mentions: [Mention], at position: Position, of entry: Entry, resource: String?
  ) throws {
    var users: [UserID] = []
    for party in mentions.map(\.party) where party != entry.author && !users.contains(party.id) {
      if try isBlocked(entry.author, resource: resource, by: party) { continue }
      users.append(party.id)
    }
    try writer.setMentioned(users, by: position, in: entry.dialog)
  }
}

extension Problem {
  /// The problem for everyone who is no member, whether the user exists or not.
  public static let mentionUnknown = Problem(
    .malformed, "mention-unknown", "Only members of the dialog can be mentioned.", field: "mentions")
}
