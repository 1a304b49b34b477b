import Addresses

// Who belongs to a room, told by version (XEP-0463). Theory:
//
// The list is of affiliations alone; nicks are no part of it. Its version is the position of the entry that changed it last,
// so versions are as durable as the log, and never come back. Each row keeps the version of its own last change, also that of
// somebody who is gone: what has changed since V are the rows above V. Whether V was a version of this very room the entry at V
// says.
//
//   known, the room's own                  nothing, it is as it is now
//   known, and behind it the viewer has
//   been the same to the room all along    what has changed since
//   anything else                          the whole list
//
// The last line also covers who was not there at V, or saw less: they do not learn what was between, but only what is.

extension RoomSettings {
  /// With which affiliation somebody who is there may read who belongs to the room: everybody where people are known,
  /// else who looks after them.
  var listReaders: Affiliation { showsAddresses ? isMembersOnly ? .watcher : .none : .admin }

  /// Who of a room's people somebody may know by address (XEP-0045 5.2.1, 9.2, 9.5; XEP-0463 5.2.3): OMEMO needs the members.
  /// Banned people are the business of admins and owners.
  public func readable(by affiliation: Affiliation, isThere: Bool) -> Set<Affiliation> {
    guard affiliation >= listReaders, isThere || affiliation.isMember else { return [] }
    let members: Set<Affiliation> = [.watcher, .member, .admin, .owner]
    return affiliation.seesOutcasts ? members.union([.outcast]) : members
  }
}

extension Affiliation {
  public var seesOutcasts: Bool { self >= .admin }
}

extension Judge {
  /// What somebody who has entered is told. `version`: nil where it is not for them, or the list is too long to be told.
  mutating func memberList(
    _ request: MemberListRequest?, for viewer: Member?, in state: RoomCache.State, _ writer: any StoreWriter
  ) throws -> (version: Position?, answer: MemberListAnswer) {
    let room = state.room
    let readable = room.settings.readable(by: viewer?.affiliation ?? .none, isThere: true)
    if readable.isEmpty { return (nil, request == nil ? .nothing : .refused) }
    guard let request else { return (room.version, .nothing) }
    if case .since(let since) = request {
      if since == room.version { return (since, .nothing) }
      if let viewer, viewer.version <= since, try isVersion(since, of: room, writer) {
        let changes = try writer.memberChanges(of: room.id, after: since, limit: Limits.memberListChangesMax + 1)
        if changes.count <= Limits.memberListChangesMax {
          // Who is banned is no more on the list of those who do not see the banned.
          let told = changes.map { change in
            readable.contains(change.affiliation) ? change : with(change) { $0.affiliation = .none }
          }
          return (room.version, .members(told, since: since))
        }
      }
    }
    guard let people = try people(of: state, writer) else { return (nil, .nothing) }
    return (room.version, .members(people.filter { readable.contains($0.affiliation) }, since: nil))
  }

  /// A number that anybody may have made up, or have of another room.
  private func isVersion(_ position: Position, of room: Room, _ writer: any StoreWriter) throws -> Bool {
    guard case .room(let noted)? = try writer.entry(position, in: room.id)?.fact else { return false }
    switch noted.change {
    case .created: return true
    case .member(let change): return change.was != change.now
    case .settings, .topic, .destroyed: return false
    }
  }

  /// Everybody with an affiliation, by version; nil: too many. Read once per version.
  private mutating func people(of state: RoomCache.State, _ writer: any StoreWriter) throws -> [Member]? {
    if let known = state.people, known.version == state.room.version { return known.members }
    let found = try writer.members(
      of: state.room.id, among: [.outcast, .watcher, .member, .admin, .owner], after: nil,
      limit: Limits.memberListMax + 1)
    let isWhole = found.count <= Limits.memberListMax
    let people = isWhole ? found.sorted { ($0.version, $0.party.id) < ($1.version, $1.party.id) } : nil
    rooms.remember(people, in: state)
    return people
  }
}
