import Dialogs

/// A page of the entries that a user's clients follow, read in one snapshot: those that concern the user, and those of
/// their groups.
struct FeedPage: Sendable {
  /// The current state of other objects that an entry refers to. A live entry contains its own.
  struct Subjects: Sendable {
    var rooms: [DialogID: Room] = [:]
    /// The messages that others have changed, if the user may read them.
    var targets: [Position: Entry] = [:]
    /// The rooms whose addresses the user may not see.
    var anonymized: Set<DialogID> = []
    /// The messages that the user has deleted for themselves, and their changes, which are not sent.
    var hidden: Set<Position> = []

    func isAnonymized(_ entry: Entry) -> Bool { entry.veilable.map { anonymized.contains($0.dialog) } ?? false }
  }

  let log: LogPage
  let subjects: Subjects
  /// The user's groups, with the position behind which they follow each.
  let memberships: [DialogID: Position]

  /// Reads a page. Blocks: for `Parley.read`.
  static func read(
    _ user: Party, after: Position, limit: Int, _ reader: any StoreReader
  ) throws -> FeedPage {
    let memberships = try reader.memberships(of: user.id).map { (room: $0.room.dialog, since: $0.since) }
    let log = try reader.page(of: user.id, rooms: memberships, after: after, limit: limit)
    let since = Dictionary(memberships.map { ($0.room, $0.since) }) { $1 }
    var subjects = Subjects()
    func room(_ id: DialogID) throws -> Room? {
      if let known = subjects.rooms[id] { return known }
      subjects.rooms[id] = try reader.room(id)
      return subjects.rooms[id]
    }
    var seen: Set<DialogID> = []
    let hides = try reader.hasHidden(user.id)
    for entry in log.entries {
      if let name = entry.veilable, seen.insert(name.dialog).inserted {
        let affiliation = try reader.member(user.id, of: name.dialog)?.affiliation
        if try room(name.dialog)?.showsPeople(to: affiliation) != true { subjects.anonymized.insert(name.dialog) }
      }
      switch entry.fact {
      case .room(let change) where change.room == nil: _ = try room(entry.dialog)
      case .invitation(let invitation) where invitation.name == nil: _ = try room(invitation.room.dialog)
      case .message(let message):
        let about = message.reference.flatMap { $0.changes ? $0.target : nil } ?? entry.position
        if hides, try reader.isHidden(about, in: entry.dialog, for: user.id) {
          subjects.hidden.insert(entry.position)
          continue
        }
        guard let reference = message.reference, reference.changes, subjects.targets[reference.target] == nil else {
          continue
        }
        if entry.room != nil, try room(entry.dialog)?.settings.history == .sinceJoin,
          reference.target <= since[entry.dialog] ?? .end
        {
          continue
        }
        subjects.targets[reference.target] = try reader.entry(reference.target, in: entry.dialog)
      case .marker, .contact, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings, .personal,
        .unsent, .call, .notification:
        continue
      }
    }
    return FeedPage(log: log, subjects: subjects, memberships: since)
  }
}
