import Addresses
import Basics
import Dialogs

/// The states of messages, and their references to earlier ones.
enum StoredTraits {
  /// The bit in `payloads.traits`, beside those of `Message.Traits`, of a message with a row in `states`.
  static let changed: Int64 = 1 << 15
  static func message(_ stored: Int64) -> Message.Traits {
    Message.Traits(rawValue: UInt16(truncatingIfNeeded: stored & ~changed))
  }
}

extension Reader {
  /// Returns the state of a message that has one. A correction of a retracted message has no row: it is a tombstone like
  /// its target.
  func state(of position: Position, _ reference: Reference?) throws -> MessageState? {
    if let own = try state(of: position) { return own }
    guard let reference, reference.kind == .correction else { return nil }
    return try state(of: reference.target)
  }

  private func state(of position: Position) throws -> MessageState? {
    try connection(.state, position).first { row in
      var state = MessageState(
        version: Position(row.int(0)), revision: row.int(1), text: row.textOrNil(2),
        editedAt: row.intOrNil(3).map { Timestamp(milliseconds: $0) })
      let mentions = row.bytesOrNil(5)
      try FactCoding.decode(row.bytes(4), into: &state) { try known($0) }
      state.mentions = try FactCoding.decode(mentions: mentions) { try known($0) }
      return state
    }
  }
}

extension Writer {
  func put(_ state: MessageState, of position: Position, in dialog: DialogID) throws {
    // A change without a text (reactions) leaves the present one.
    if state.retraction != nil || state.text != nil {
      try reindex(position, to: state.retraction == nil ? state.text : nil)
    }
    try connection(
      .putState, position, state.version, state.revision, state.text, state.editedAt, FactCoding.encode(state)
    ).bind(FactCoding.encode(state.mentions)).run()
    try connection(state.retraction == nil ? .markChanged : .blank, position, dialog)
      .run()
    guard state.retraction != nil else { return }
    try uncount(position, in: dialog)
    try connection(.blankEdits, position, dialog).run()
    try connection(.closeEdits, position).run()
  }

  /// Excludes a retracted message and its mentions from all unread counts.
  private func uncount(_ position: Position, in dialog: DialogID) throws {
    let found = try connection(.insertRetracted, dialog, position).first { $0.int(0) }
    // If it is not found it never counted, or was retracted before.
    guard let ordinal = found else { return }
    try connection(.setRetractedOrdinal, dialog, ordinal).run()
    try connection(.deleteMentions, dialog, ordinal).run()
  }

  /// Stores that an entry changes an earlier one, with which it is deleted (`expire`).
  func insertChange(_ position: Position, of target: Position, isEdit: Bool) throws {
    try connection(.insertChange, target, position, isEdit).run()
  }
}

extension FactCoding {
  // MARK: States

  static func encode(_ state: MessageState) -> [UInt8] {
    var out = ByteWriter()
    // The second version ends with a pin; the third with a pin, if there is one, and the delivery; the fourth with both, if
    // there are any, and the number of corrections.
    let isCounted = state.corrections > 0
    out.write(version + (isCounted ? 3 : state.delivery != nil ? 2 : state.pin != nil ? 1 : 0))
    out.write(state.retraction) {
      $0.write($1.by.id.number)
      $0.write($1.at.milliseconds)
      $0.write($1.id) { $0.write($1) }
      $0.write($1.reason) { $0.write($1) }
      $0.write($1.isModeration)
    }
    out.write(state.reactions) {
      $0.write($1.user.id.number)
      $0.write($1.emoji) { $0.write($1) }
    }
    if isCounted || state.delivery != nil { out.write(state.pin != nil) }
    if let pin = state.pin {
      out.write(pin.by.id.number)
      out.write(pin.at.milliseconds)
    }
    if isCounted { out.write(state.delivery != nil) }
    switch state.delivery {
    case nil: break
    // In the position of a failure's kind.
    case .queued: out.write(queued)
    case .failed(let failure): write(failure, &out)
    }
    if isCounted { out.write(Int64(state.corrections)) }
    return out.bytes
  }

  private static let queued: Int64 = 0

  static func decode(_ bytes: [UInt8], into state: inout MessageState, party: (UserID) throws -> Party) throws {
    var from = ByteReader(bytes)
    let found = try from.int()
    guard (version...version + 3).contains(found) else { throw damaged }
    if try from.flag() {
      state.retraction = MessageState.Retraction(
        by: try party(UserID(try from.int())), at: Timestamp(milliseconds: try from.int()),
        id: try from.optional(text), reason: try from.optional(text), isModeration: try from.flag())
    }
    let reactions = try from.list { from throws(StoreFailure) in (UserID(try from.int()), try from.list(text)) }
    state.reactions = try reactions.map { MessageState.Reaction(user: try party($0), emoji: $1) }
    if try found > version && (found == version + 1 || from.flag()) {
      state.pin = MessageState.Pin(
        by: try party(UserID(try from.int())), at: Timestamp(milliseconds: try from.int()))
    }
    if try found == version + 2 || found == version + 3 && from.flag() {
      var behind = from
      if try behind.int() == queued {
        from = behind
        state.delivery = .queued
      } else {
        state.delivery = .failed(try failure(&from))
      }
    }
    if found == version + 3 { state.corrections = Int(clamping: try from.int()) }
  }

  // MARK: Per-user changes

  static func write(_ change: PerUserMessageChange, _ out: inout ByteWriter) {
    let code: Int64 =
      switch change.change {
      case .hidden: 1
      case .cleared(let leaves): leaves ? 3 : 2
      case .starred(let isStarred): isStarred ? 4 : 5
      case .delivery: 6
      }
    out.write(code)
    out.write(change.dialog.number)
    out.write(change.target.number)
  }

  static func perUserMessageChange(_ from: inout ByteReader) throws(StoreFailure) -> PerUserMessageChange {
    let change: PerUserMessageChange.Change =
      switch try from.int() {
      case 1: .hidden
      case 2: .cleared(leaves: false)
      case 3: .cleared(leaves: true)
      case 4: .starred(true)
      case 5: .starred(false)
      case 6: .delivery
      default: throw damaged
      }
    return PerUserMessageChange(change, in: DialogID(try from.int()), target: Position(try from.int()))
  }

  // MARK: References

  /// Encodes a message's reference to an earlier one, and the origin of a forwarded message, which the first version lacks.
  static func encode(about message: Message) -> [UInt8] {
    var out = ByteWriter()
    out.write(message.forwarded == nil ? version : version + 1)
    if let forwarded = message.forwarded {
      out.write(forwarded.author) { $0.write($1.id.number) }
      out.write(forwarded.at.milliseconds)
      out.write(message.reference != nil)
    }
    if let reference = message.reference { write(reference, &out) }
    return out.bytes
  }

  static func decode(
    about bytes: [UInt8], seal: (Position) -> PublicID, party: (UserID) throws -> Party
  ) throws -> (reference: Reference?, forwarded: Forwarded?) {
    var from = ByteReader(bytes)
    let found = try from.int()
    guard (version...version + 1).contains(found) else { throw damaged }
    if found == version { return (try reference(&from, seal: seal), nil) }
    let author = try from.optional { from throws(StoreFailure) in UserID(try from.int()) }
    let forwarded = Forwarded(
      author: try author.map { try party($0) }, at: Timestamp(milliseconds: try from.int()))
    return (try from.flag() ? try reference(&from, seal: seal) : nil, forwarded)
  }

  private static func write(_ reference: Reference, _ out: inout ByteWriter) {
    switch reference.kind {
    case .reply: out.write(Int64(reference.targetAuthor == nil ? 1 : 6))
    case .correction: out.write(Int64(2))
    case .reactions(let emoji):
      out.write(Int64(3))
      out.write(emoji) { $0.write($1) }
    case .retraction(let reason):
      out.write(Int64(4))
      out.write(reason) { $0.write($1) }
    case .moderation(let reason):
      out.write(Int64(5))
      out.write(reason) { $0.write($1) }
    case .part: out.write(Int64(7))
    case .pin(let isPinned): out.write(Int64(isPinned ? 8 : 9))
    }
    out.write(reference.target.number)
    out.write(reference.targetStanzaID) { $0.write($1) }
    if reference.kind == .reply, let author = reference.targetAuthor { out.write(author.description) }
  }

  private static func reference(
    _ from: inout ByteReader, seal: (Position) -> PublicID
  ) throws(StoreFailure) -> Reference {
    let code = try from.int()
    let kind: Reference.Kind =
      switch code {
      // 6: with the target's author.
      case 1, 6: .reply
      case 2: .correction
      case 3: .reactions(try from.list(text))
      case 4: .retraction(reason: try from.optional(text))
      case 5: .moderation(reason: try from.optional(text))
      case 7: .part
      case 8: .pin(true)
      case 9: .pin(false)
      default: throw damaged
      }
    let target = Position(try from.int())
    return Reference(
      kind: kind, target: target, targetID: seal(target), targetStanzaID: try from.optional(text),
      targetAuthor: code == 6 ? JID(stored: try from.text()) : nil)
  }
}

extension Query {
  fileprivate static let state = Query(
    "SELECT version, revision, text, edited, detail, mentions FROM states WHERE position = ?1")
  fileprivate static let putState = Query(
    """
    INSERT OR REPLACE INTO states (position, version, revision, text, edited, detail, mentions)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    """)
  fileprivate static let insertRetracted = Query(
    """
    INSERT OR IGNORE INTO retracted (dialog, ordinal, position, author)
    SELECT e.dialog, e.ordinal, e.position, p.author FROM entries e CROSS JOIN payloads p ON p.position = e.position
    WHERE e.dialog = ?1 AND e.position = ?2 AND e.flags & \(EntryFlags.counts.rawValue)
    RETURNING ordinal
    """)
  fileprivate static let setRetractedOrdinal = Query(
    "UPDATE dialogs SET retracted_ordinal = ?2 WHERE id = ?1 AND retracted_ordinal < ?2")
  fileprivate static let insertChange = Query("INSERT INTO changes (target, position, edit) VALUES (?1, ?2, ?3)")
  fileprivate static let closeEdits = Query("UPDATE changes SET edit = 0 WHERE target = ?1 AND edit = 1")
  fileprivate static let markChanged = Query(
    """
    UPDATE payloads SET traits = traits | \(StoredTraits.changed)
    WHERE position = ?1 AND dialog = ?2 AND traits & \(StoredTraits.changed) = 0
    """)
  /// `secure_delete` overwrites the old content.
  private static func blank(_ position: String) -> Query {
    Query(
      """
      UPDATE payloads SET traits = traits | \(StoredTraits.changed), text = NULL, fields = NULL, extras = NULL,
        mentions = NULL, attachments = NULL
      WHERE position \(position) AND dialog = ?2
      """)
  }
  fileprivate static let blank = blank("= ?1")
  fileprivate static let blankEdits = blank("IN (SELECT position FROM changes WHERE target = ?1 AND edit = 1)")
}
