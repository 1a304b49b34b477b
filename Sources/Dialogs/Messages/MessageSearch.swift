// Search in all messages that a user may read. Theory:
//
// An index returns candidates, newest first: that of words (`search`) or that of files and places (`media`). Each is
// then read and checked: whether it is shown, this user may read it, and it matches. A page ends when it is full, by its
// messages or their bytes, when `Limits.searchLooksMax` candidates have been checked, or when the index has looked for
// them `Limits.searchIndexLooksMax` times; either way it contains the position where the next one continues, so that no
// query, however it is made, blocks a reader for longer.

/// A search query, with a text or a kind or both.
///
///     let query = MessageQuery(text: "balcony", limit: 20)
///     let found = try await parley.read { try $0.find(query, for: user) }
public struct MessageQuery: Sendable, Hashable {
  /// The words, as in `ArchiveQuery.text`.
  public var text: String?
  public var kind: Content.Kind?
  /// The author, if only one user's messages are wanted.
  public var author: UserID?
  /// The dialog; `nil` for all private dialogs and rooms of the user.
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

  /// The indexed kinds; of the others there are too few to search for, or too many.
  public static let indexedKinds: [Content.Kind] = [
    .custom, .location, .contact, .sticker, .image, .video, .audio, .file,
  ]
}

public struct FoundMessages: Sendable {
  /// The messages, newest first.
  public var entries: [Entry] = []
  /// The rooms of the messages.
  public var rooms: [DialogID: Room] = [:]
  /// The position before which the next page begins; `nil` if there is none.
  public var next: Position?
}

/// The indexed data of a message.
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

/// A part of what the index of words finds.
public struct MessageCandidates: Sendable, Hashable {
  /// The candidates, in the order of the search.
  public var candidates: [MessageCandidate] = []
  /// The looks at the index that it took.
  public var looks = 0
  /// The last position that was looked at, if the search ended early by its looks: it goes on behind that.
  public var next: Position?

  public init(_ candidates: [MessageCandidate] = []) { self.candidates = candidates }
}

public protocol MessageSearchReader {
  /// Returns messages with these words before a position, newest first: in one dialog or room or, if it is `nil`, in
  /// all private dialogs of the user and in the log's rooms. Edited ones match by their current text; private messages
  /// of rooms may be among them.
  ///
  /// - Parameter looksMax: The looks at the index, of some ten microseconds each (`Limits.searchIndexLooksMax`), behind which it ends
  ///   soon, and has come further in any case. With none the index is not asked for words.
  func messages(
    with text: String, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int, looksMax: Int
  ) throws -> MessageCandidates
  /// Returns messages of a kind (`MessageQuery.indexedKinds`), in one dialog or, if it is `nil`, in all of the user's.
  func messages(
    of kind: Content.Kind, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate]
}

extension StoreReader {
  /// Returns the messages that match and that this user may read; none for a dialog that they do not belong to.
  public func find(_ query: MessageQuery, for user: Party) throws -> FoundMessages {
    var found = FoundMessages()
    let rooms = try memberships(of: user.id).map { FollowedRoom($0.room.dialog, since: $0.since) }
    let log = LogAccess.own(user, rooms: rooms)
    let joined = Dictionary(rooms.map { ($0.room, $0.since) }, uniquingKeysWith: { $1 })
    if let dialog = query.dialog, joined[dialog] == nil, try self.dialog(dialog)?.messages(for: user.id) == nil {
      return found
    }
    var before = query.before
    var (looks, indexLooks, bytes) = (0, 0, 0)
    while true {
      let batch = min(max(query.limit * 2, 64), Limits.searchLooksMax - looks)
      let page = try candidates(
        query, of: log, before: before, limit: batch, looksMax: Limits.searchIndexLooksMax - indexLooks)
      indexLooks += page.looks
      for candidate in page.candidates {
        looks += 1
        before = candidate.position
        guard let entry = try entry(candidate, query, joined, user, &found.rooms) else { continue }
        if found.entries.count == query.limit || bytes >= Limits.pageBytesMax {
          found.next = found.entries.last?.position
          return found
        }
        found.entries.append(entry)
        bytes += entry.byteCount
      }
      found.next = page.next
      if page.next != nil || page.candidates.count < batch { return found }
      if looks >= Limits.searchLooksMax || indexLooks >= Limits.searchIndexLooksMax {
        found.next = before
        return found
      }
    }
  }

  private func candidates(
    _ query: MessageQuery, of log: LogAccess, before: Position, limit: Int, looksMax: Int
  ) throws -> MessageCandidates {
    if let text = query.text {
      return try messages(with: text, of: log, in: query.dialog, before: before, limit: limit, looksMax: looksMax)
    }
    guard let kind = query.kind else { return MessageCandidates() }
    return MessageCandidates(try messages(of: kind, of: log, in: query.dialog, before: before, limit: limit))
  }

  /// Returns a candidate's entry; `nil` if it does not match, or the user may not read it.
  private func entry(
    _ candidate: MessageCandidate, _ query: MessageQuery, _ joined: [DialogID: Position], _ user: Party,
    _ rooms: inout [DialogID: Room]
  ) throws -> Entry? {
    if let kind = query.kind, candidate.kind != kind { return nil }
    if let author = query.author, candidate.author != author { return nil }
    // A dialog of two whose index names the user is theirs.
    var access = MessageAccess(candidate.dialog, for: user.id)
    if let since = joined[candidate.dialog] {
      if rooms[candidate.dialog] == nil { rooms[candidate.dialog] = try room(candidate.dialog) }
      guard let room = rooms[candidate.dialog], !room.isDestroyed else { return nil }
      access = MessageAccess(room.id, for: user.id, behind: room.horizon(since: since))
      // In a semi-anonymous room a search by author would reveal who the occupants are.
      if let author = query.author, author != user.id,
        !room.showsPeople(to: try affiliation(of: user.id, in: room.id, for: user))
      {
        return nil
      }
    }
    guard let entry = try entry(candidate.position, in: access), case .message(let message) = entry.fact,
      message.sequence > 0, entry.whisper == nil, entry.state?.retraction == nil
    else { return nil }
    return entry
  }
}

/// The full-text index of messages.
public struct MessageIndex: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// Updates the index; a search finds only indexed messages. Between the pieces is a pause for other writes (`IndexPace`). Ends
  /// early in a task that is cancelled.
  public func update() async throws(Problem) {
    let pace = parley.registries.indexPace
    while !Task.isCancelled {
      let now = ContinuousClock.now
      let time = pace.next(now: now)
      if time > now { try? await Task.sleep(until: time, clock: .continuous) }
      let (isMore, duration) = try await parley.work(keepingCaches: true) { writer in
        let began = ContinuousClock.now
        let isMore = try writer.indexMessages(limit: Limits.indexedAtOnce, bytes: Limits.indexedBytesAtOnce)
        return (isMore, ContinuousClock.now - began)
      }
      pace.wrote(in: duration, isMore: isMore, now: .now)
      if !isMore { return }
    }
  }
}
