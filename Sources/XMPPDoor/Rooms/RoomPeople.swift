import Addresses
import Dialogs
import XMLStream
import XMPP

/// Lists of people and changes to them (XEP-0045 8.2 to 8.5, 9, 10.3 to 10.8).
enum RoomPeople {
  static func list(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let request = try AdminQuery(get: query)
    let lists = if case .role = request { true } else { false }
    turn.occupancy(listing: lists ? .max : 0) { (room, occupancy) throws(StanzaError) in
      let isAdmin = occupancy.affiliation >= .admin
      let isModerator = isAdmin || occupancy.role == .moderator
      switch request {
      case .role(let role):
        // 8.5, 9.7: by moderators; moderators themselves by admins.
        guard isModerator, role != .moderator || isAdmin else { throw StanzaError(inRoom: .notModerator) }
        let found = occupancy.occupants.filter { $0.role == role }.sorted { $0.nick < $1.nick }
        turn.reply { AdminQuery.write(found, showsAddresses: true, into: &$0) }
      case .affiliation(let affiliation):
        guard let list = occupancy.access.readable?.list(affiliation) else {
          throw StanzaError(inRoom: affiliation >= .admin && !room.settings.showsAddresses ? .notOwner : .notAdmin)
        }
        let lists = turn.session.door.memberLists
        if let known = lists.find(affiliation, of: room.id, occupancy.edition) { return turn.reply { $0.raw(known) } }
        turn.fetch {
          (try $0.members(of: list, after: nil, limit: Limits.membersMax), try $0.addressBans(of: list))
        } reply: { (members, bans) throws(StanzaError) in
          var writer = ElementWriter()
          AdminQuery.write(members, bans, showsAddresses: true, into: &writer)
          let list = writer.buffer
          lists.keep(list, affiliation, of: room.id, occupancy.edition)
          turn.reply { $0.raw(list) }
        }
      case .changeAffiliations, .changeRoles: throw StanzaError(.badRequest)
      }
    }
  }

  static func change(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let room = RoomReference.address(turn.room)
    switch try AdminQuery(set: query) {
    case .changeRoles(let roles): turn.postToRoom(.roles(room, roles)) { _ in turn.reply() }
    case .changeAffiliations(let changes):
      let lists = changes.contains { if case .occupant = $0.person { true } else { false } }
      turn.occupancy(listing: lists ? .max : 0) { (_, occupancy) throws(StanzaError) in
        // Comparing each with each would be millions of comparisons in a large room.
        let occupants = Dictionary(occupancy.occupants.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        var drafts: [MemberDraft] = []
        for change in changes {
          switch change.person {
          case .address(let address): drafts.append(change.draft(of: address))
          case .occupant(let nick):
            guard let key = try? Precis.nicknameKey(nick), let occupant = occupants[key] else {
              throw StanzaError(inRoom: .occupantUnknown)
            }
            drafts.append(change.draft(of: occupant.party.address))
          }
        }
        change(turn, drafts)
      }
    case .affiliation, .role: throw StanzaError(.badRequest)
    }
  }

  /// Changes affiliations. A ban of a higher-ranking person is `not-allowed` (9.1); changing the lists of owners and
  /// admins is `forbidden` to others (10.3 to 10.8).
  private static func change(_ turn: Turn, _ drafts: [MemberDraft]) {
    turn.session.post(.room(.members(.address(turn.room), drafts))) { result in
      switch result {
      case .success: turn.reply()
      case .failure(let problem):
        let isForOwners = problem.code == Problem.outranked.code && !drafts.contains { $0.affiliation == .outcast }
        turn.fail(inRoom: isForOwners ? .notOwner : problem)
      }
    }
  }
}
