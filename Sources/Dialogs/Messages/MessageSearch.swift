// Finding messages in everything a user may read. Theory:
//
// An index names candidates, newest first: that of words (`search`) or that of files and places (`media`). Each is then
// looked at whole: is it shown, may this user read it, is it what was asked for. A page ends when it is full or when
// `Limits.searchLooksMax` candidates have been looked at; either way it says where the next one goes on, so that no query,
// however it is made, holds a reader for longer.

/// What is looked for: of a text and a kind at least one.
public struct MessageQuery: Sendable, Hashable {
  /// As `ArchiveQuery.text`.
  public var text: String?
  public var kind: Content.Kind?
  /// Only what this user said.
  public var author: UserID?
  /// nil: in all private dialogs and rooms of the user.
  public var dialog: DialogID?
  public var before: Position
  public var limit: Int

  public init(
    text: String? = nil, kind: Content.Kind? = nil, author: UserID? = nil, dialog: DialogID? = nil,
    before: Position = .end, limit: Int
  ) {
    self.text = text
    self.kind = kind
    self.author = author
    self.dialog = dialog
    self.before = before
    self.limit = limit
  }

  /// The kinds of which an index is kept; of the others there are too few to look for, or too many.
  public static let indexedKinds: [Content.Kind] = [
    .custom, .location, .contact, .sticker, .image, .video, .audio, .file,
  ]
}

public struct FoundMessages: Sendable {
  /// Newest first.
  public var entries: [Entry] = []
  /// The rooms in which they were said.
  public var rooms: [DialogID: Room] = [:]
  /// Go on before this; nil: there is no more.
  public var next: Position?
}

/// What an index knows of a message.
public struct MessageCandidate: Sendable, Hashable {
  public let position: Position
  public let dialog: DialogID
  public let author: UserID
  public let kind: Content.Kind

  public init(position: Position, dialog: DialogID, author: UserID, kind: Content.Kind) {
    self.position = position
    self.dialog = dialog
    self.author = author
    self.kind = kind
  }
}

public protocol MessageSearchReader {
  /// Messages with these words before a position, newest first: in one dialog or room or, nil, in all private dialogs of
  /// the user and in these rooms. Edited ones count as they are now; whispers may be among them.
  func messages(
    with text: String, of user: UserID, in dialog: DialogID?, rooms: [DialogID], before: Position, limit: Int
  ) throws -> [MessageCandidate]
  /// The same for messages of a kind (`MessageQuery.indexedKinds`), in one dialog or, nil, in all that the user is in.
  func messages(
    of kind: Content.Kind, of user: UserID, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate]
}

extension StoreReader {
  /// Messages that this user may read. Of a dialog that they are not in nothing is found.
  public func find(_ query: MessageQuery, for user: Party) throws -> FoundMessages {
    var found = FoundMessages()
    let joined = Dictionary(
      try memberships(of: user.id).map { ($0.room.dialog, $0.since) }, uniquingKeysWith: { $1 })
    if let dialog = query.dialog, joined[dialog] == nil, try self.dialog(dialog)?.has(user.id) != true { return found }
    var before = query.before
    var looks = 0
    while true {
      let batch = min(max(query.limit * 2, 64), Limits.searchLooksMax - looks)
      let candidates = try candidates(query, of: user, rooms: Array(joined.keys), before: before, limit: batch)
      for candidate in candidates {
        looks += 1
        before = candidate.position
        guard let entry = try entry(candidate, query, joined, user, &found.rooms) else { continue }
        if found.entries.count == query.limit {
          found.next = found.entries.last?.position
          return found
        }
        found.entries.append(entry)
      }
      if candidates.count < batch { return found }
      if looks >= Limits.searchLooksMax {
        found.next = before
        return found
      }
    }
  }

  private func candidates(
    _ query: MessageQuery, of user: Party, rooms: [DialogID], before: Position, limit: Int
  ) throws -> [MessageCandidate] {
    if let text = query.text {
      return try messages(
        with: text, of: user.id, in: query.dialog, rooms: rooms.sorted(), before: before, limit: limit)
    }
    guard let kind = query.kind else { return [] }
    return try messages(of: kind, of: user.id, in: query.dialog, before: before, limit: limit)
  }

  /// nil: not what is looked for, or not theirs to read.
  private func entry(
    _ candidate: MessageCandidate, _ query: MessageQuery, _ joined: [DialogID: Position], _ user: Party,
    _ rooms: inout [DialogID: Room]
  ) throws -> Entry? {
    if let kind = query.kind, candidate.kind != kind { return nil }
    if let author = query.author, candidate.author != author { return nil }
    if let since = joined[candidate.dialog] {
      if rooms[candidate.dialog] == nil { rooms[candidate.dialog] = try room(candidate.dialog) }
      guard let room = rooms[candidate.dialog], !room.isDestroyed else { return nil }
      if room.settings.history == .sinceJoin, candidate.position <= since { return nil }
      // Who may not know who the people are learns it from no search.
      if let author = query.author, author != user.id,
        !room.showsPeople(to: try member(user.id, of: room.id)?.affiliation)
      {
        return nil
      }
    }
    guard let entry = try entry(candidate.position, in: candidate.dialog), case .message(let message) = entry.fact,
      message.sequence > 0, entry.whisper == nil, entry.state?.retraction == nil
    else { return nil }
    // What somebody has deleted for themself is found by no search of theirs.
    return try isHidden(candidate.position, in: candidate.dialog, for: user.id) ? nil : entry
  }
}
