import Basics
import Dialogs

/// Entries as rows of `payloads`.
extension Reader {
  /// The columns that `entry(_:)` reads, of the table under the name `p`.
  static let payloadColumns = """
    p.position, p.dialog, p.author, p.peer, p.kind, p.time, p.seq, p.traits, p.type, p.from_resource,
    p.to_resource, p.stanza_id, p.lang, p.content_kind, p.text, p.fields, p.extras, p.detail, p.via, p.nick,
    p.mentions, p.attachments
    """

  /// The peer of entries in a room.
  static let noPeer = UserID(0)

  func entry(_ row: Prepared) throws -> Entry {
    let position = Position(row.int(0))
    let dialog = DialogID(row.int(1))
    let author = try known(UserID(row.int(2)))
    let peer = UserID(row.int(3))
    let place: Entry.Place
    if peer == Self.noPeer {
      place = .room(try known(dialog))
    } else {
      let peer = peer == author.id ? author : try known(peer)
      place =
        try row.intOrNil(18).map { .whisper(to: peer, in: try known(DialogID($0)), nick: row.text(19)) } ?? .peer(peer)
    }
    guard let kind = Fact.Kind(rawValue: UInt8(clamping: row.int(4))) else {
      throw StoreFailure.corrupt("entry \(position.number) is of an unknown kind")
    }
    let seal = try seal(author.realm)
    let fact: Fact =
      switch kind {
      case .message: .message(try said(row, seal))
      case .marker, .contact, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings, .personal,
        .unsent, .call, .notification:
        try FactCoding.decode(
          kind, row.bytes(17), in: dialog, stanza: { () throws(StoreFailure) in try Self.message(row) },
          seal: { seal.seal($0.number) }, party: { try known($0) }, room: { try known($0) })
      }
    let state = kind == .message && row.int(7) & StoredTraits.changed != 0 ? try state(of: position) : nil
    return Entry(
      position: position, time: Timestamp(milliseconds: row.int(5)), dialog: dialog, author: author, place: place,
      fact: fact, id: seal.seal(position.number), state: state)
  }

  private func said(_ row: Prepared, _ seal: Sealer) throws -> Message {
    let about =
      row.isNull(17)
      ? (reference: nil, forwarded: nil)
      : try FactCoding.decode(about: row.bytes(17), seal: { seal.seal($0.number) }, party: { try known($0) })
    return try Self.message(
      row, reference: about.reference, mentions: FactCoding.decode(mentions: row.bytesOrNil(20)) { try known($0) },
      forwarded: about.forwarded)
  }

  private static func message(
    _ row: Prepared, reference: Reference? = nil, mentions: [Mention] = [], forwarded: Forwarded? = nil
  ) throws(StoreFailure) -> Message {
    guard let kind = Content.Kind(rawValue: UInt8(clamping: row.int(13))),
      let type = Envelope.MessageType(rawValue: UInt8(clamping: row.int(8)))
    else { throw StoreFailure.corrupt("entry \(row.int(0)) is of an unknown type") }
    return Message(
      sequence: row.int(6),
      content: Content(
        kind: kind, text: row.text(14), fields: row.textOrNil(15), extras: row.bytes(16),
        attachments: try FactCoding.decode(attachments: row.bytesOrNil(21))),
      envelope: Envelope(
        type: type, fromResource: row.textOrNil(9), toResource: row.textOrNil(10), id: row.textOrNil(11),
        language: row.textOrNil(12)),
      traits: StoredTraits.message(row.int(7)), reference: reference, mentions: mentions, forwarded: forwarded)
  }
}

extension Writer {
  func insertPayload(_ entry: Entry, _ key: RepeatKey?) throws {
    let payload = try connection(.insertPayload)
    let peer =
      switch entry.place {
      case .peer(let peer), .whisper(let peer, _, _): peer.id
      case .room: Self.noPeer
      }
    try payload.bind(1, entry.position.number).bind(2, entry.dialog.number)
      .bind(3, entry.author.id.number).bind(4, peer.number)
      .bind(5, Int64(entry.fact.kind.rawValue)).bind(6, entry.time.milliseconds)
      .bind(21, entry.whisper?.room.dialog.number).bind(22, entry.whisper?.nick)
    try bind(entry.fact.stanza, key, to: payload)
    var mentions: [Mention] = []
    var attachments: [Attachment] = []
    if case .message(let message) = entry.fact {
      (mentions, attachments) = (message.mentions, message.content.attachments)
      if message.reference != nil || message.forwarded != nil {
        try payload.bind(18, FactCoding.encode(about: message))
      } else {
        try payload.bindNull(18)
      }
    } else {
      try payload.bind(18, FactCoding.encode(entry.fact))
    }
    try payload.bind(23, FactCoding.encode(mentions)).bind(24, FactCoding.encode(attachments)).run()
  }

  private func bind(_ message: Message?, _ key: RepeatKey?, to payload: Prepared) throws(StoreFailure) {
    guard let message else {
      for index: Int32 in 7...17 { try payload.bindNull(index) }
      try payload.bind(19, key?.id).bind(20, key.map { Int64(bitPattern: $0.bodyHash) })
      return
    }
    let content = message.content
    let envelope = message.envelope
    // The id that identifies repeats, if it is not the stanza's own.
    let keyID = key.flatMap { $0.id == envelope.id ? nil : $0.id }
    arena.begin(
      content.extras.count + content.text.utf8.count + (content.fields?.utf8.count ?? 0)
        + (envelope.fromResource?.utf8.count ?? 0) + (envelope.toResource?.utf8.count ?? 0)
        + (envelope.id?.utf8.count ?? 0) + (envelope.language?.utf8.count ?? 0) + (keyID?.utf8.count ?? 0))
    try payload.bind(7, message.sequence).bind(8, Int64(message.traits.rawValue))
      .bind(9, Int64(envelope.type.rawValue))
      .bind(10, text: arena.place(envelope.fromResource)).bind(11, text: arena.place(envelope.toResource))
      .bind(12, text: arena.place(envelope.id)).bind(13, text: arena.place(envelope.language))
      .bind(14, Int64(content.kind.rawValue))
      .bind(15, text: arena.place(content.text.isEmpty ? nil : content.text))
      .bind(16, text: arena.place(content.fields)).bind(17, bytes: arena.place(unlessEmpty: content.extras))
      .bind(19, text: arena.place(keyID)).bind(20, key.map { Int64(bitPattern: $0.bodyHash) })
  }
}

extension Query {
  fileprivate static let insertPayload = Query(
    """
    INSERT INTO payloads (position, dialog, author, peer, kind, time, seq, traits, type, from_resource,
      to_resource, stanza_id, lang, content_kind, text, fields, extras, detail, key_id, key_hash, via, nick, mentions,
      attachments)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
      ?24)
    """)
}
