import Addresses

// The versioned member list of a room (XEP-0463). Theory:
//
// The list consists of affiliations alone, without nicks. Its version is the position of the entry that changed it
// last, so versions are as durable as the log and never repeat. Each row keeps the version of its own last change, also
// the row of a removed user: the changes since V are the rows above V. The entry at V tells whether V was a version of
// this very room.
//
//   known version is the current one         nothing
//   known, and the viewer's affiliation has
//   not changed since                        the changes since then
//   anything else                            the whole list
//
// The last line also covers a viewer who was absent at V, or saw less then: such a viewer gets the current list, but
// not the changes in between.

extension RoomSettings {
  /// The lowest affiliation with which an occupant may read the member list: anyone in a non-anonymous room, otherwise
  /// only admins.
  var listReaders: Affiliation { showsAddresses ? isMembersOnly ? .watcher : .none : .admin }

  /// Returns the affiliations whose holders a user may know by address (XEP-0045 5.2.1, 9.2, 9.5; XEP-0463 5.2.3):
  /// OMEMO needs the members. Only admins and owners see outcasts.
  func readable(by affiliation: Affiliation, isThere: Bool) -> Set<Affiliation> {
    guard affiliation >= listReaders, isThere || affiliation.isMember else { return [] }
    let members: Set<Affiliation> = [.watcher, .member, .admin, .owner]
    return affiliation.seesOutcasts ? members.union([.outcast]) : members
  }
}

extension Affiliation {
  public var seesOutcasts: Bool { self >= .admin }
}

extension Judge {
  /// Returns the list for a user who has entered. `version` is `nil` if the user may not read the list, or it is too
  /// long.
  mutating func memberList(
    _ request: MemberListRequest?, for viewer: Member?, in state: RoomCache.State
  ) throws -> (version: Position?, answer: MemberListAnswer) {
    let room = state.room
    let readable = room.settings.readable(by: viewer?.affiliation ?? .none, isThere: true)
    if readable.isEmpty { return (nil, request == nil ? .nothing : .refused) }
    guard let request else { return (room.version, .nothing) }
    if case .since(let since) = request {
      if since == room.version { return (since, .nothing) }
      if let viewer, viewer.version <= since, try isVersion(since, of: room) {
        let changes = try writer.memberChanges(
          of: room.id, for: .rules, after: since, limit: Limits.memberListChangesMax + 1)
        if changes.count <= Limits.memberListChangesMax {
          // A banned user has left the list of those who do not see outcasts.
          let told = changes.map { change in
            readable.contains(change.affiliation) ? change : with(change) { $0.affiliation = .none }
          }
          return (room.version, .members(told, since: since))
        }
      }
    }
    guard let people = try people(of: state) else { return (nil, .nothing) }
    return (room.version, .members(people.filter { readable.contains($0.affiliation) }, since: nil))
  }

  /// Returns whether a client's number is a version of this room: it may be made up, or another room's.
  private func isVersion(_ position: Position, of room: Room) throws -> Bool {
    guard case .room(let noted)? = try writer.entry(position, in: .server(room.id, .rules))?.fact else { return false }
    switch noted.change {
    case .created: return true
    case .member(let change): return change.was != change.now
    case .settings, .topic, .destroyed: return false
    }
  }

  /// Returns everyone with an affiliation, in the order of versions; `nil` if they are too many. Read once per version.
  private mutating func people(of state: RoomCache.State) throws -> [Member]? {
    if let known = state.people, known.version == state.room.version { return known.members }
    let found = try writer.members(
      of: .server(state.room.id, .rules), after: nil, limit: Limits.memberListMax + 1)
    let isWhole = found.count <= Limits.memberListMax
    let people = isWhole ? found.sorted { ($0.version, $0.party.id) < ($1.version, $1.party.id) } : nil
    rooms.remember(people, in: state)
    return people
  }
}
