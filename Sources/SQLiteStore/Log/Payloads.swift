import Basics
import Dialogs

/// Entries as rows of `payloads`.
extension Reader {
  /// The columns that `entry(_:)` reads, of the table with the alias `p`.
  static let payloadColumns = """
    p.position, p.dialog, p.author, p.peer, p.kind, p.time, p.seq, p.traits, p.type, p.from_resource,
    p.to_resource, p.stanza_id, p.lang, p.content_kind, p.text, p.fields, p.extras, p.detail, p.via, p.nick,
    p.mentions, p.attachments
    """

  /// The value of the peer column for entries in a room.
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
      case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings,
        .perUser,
        .draftOrScheduled, .call, .notification, .undelivered:
        try FactCoding.decode(
          kind, row.bytes(17), in: dialog, stanza: { () throws(StoreFailure) in try Self.message(row) },
          seal: { seal.seal($0.number) }, party: { try known($0) }, room: { try known($0) })
      }
    var state: MessageState?
    if case .message(let message) = fact, row.int(7) & StoredTraits.changed != 0 {
      state = try self.state(of: position, message.reference)
    }
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
    let peer =
      switch entry.place {
      case .peer(let peer), .whisper(let peer, _, _): peer.id
      case .room: Self.noPeer
      }
    let payload = try connection(
      .insertPayload, entry.position, entry.dialog, entry.author.id, peer, entry.fact.kind.rawValue, entry.time
    ).bind(entry.whisper?.room.dialog, entry.whisper?.nick)
    let stanza = try bind(entry.fact.stanza, key, to: payload)
    guard case .message(let message) = entry.fact else {
      let detail = FactCoding.encode(entry.fact)
      growth.entries += 1
      growth.bytes += Int64(detail?.count ?? 0)
      if let stanza = entry.fact.stanza {
        let texts = [stanza.content.text, stanza.content.fields, stanza.envelope.id, stanza.envelope.language]
        growth.bytes += Int64(texts.reduce(stanza.content.extras.count) { $0 + ($1?.utf8.count ?? 0) })
      }
      return try stanza.bind(detail, nil as Int64?, nil as Int64?).run()
    }
    let about = message.reference != nil || message.forwarded != nil ? FactCoding.encode(about: message) : nil
    try stanza.bind(about, FactCoding.encode(message.mentions), FactCoding.encode(message.content.attachments)).run()
  }

  private func bind(
    _ message: Message?, _ key: RepeatKey?, to payload: Prepared
  ) throws(StoreFailure) -> Prepared {
    guard let message else { return try payload.bindNulls(11).bind(key?.id, key?.bodyHash) }
    let content = message.content
    let envelope = message.envelope
    // The id that identifies repeats, if it is not the stanza's own.
    let keyID = key.flatMap { $0.id == envelope.id ? nil : $0.id }
    arena.begin(
      content.extras.count + content.text.utf8.count + (content.fields?.utf8.count ?? 0)
        + (envelope.fromResource?.utf8.count ?? 0) + (envelope.toResource?.utf8.count ?? 0)
        + (envelope.id?.utf8.count ?? 0) + (envelope.language?.utf8.count ?? 0) + (keyID?.utf8.count ?? 0))
    return
      try payload
      .bind(message.sequence, message.traits.rawValue, envelope.type.rawValue)
      .bind(
        arena.place(envelope.fromResource), arena.place(envelope.toResource), arena.place(envelope.id),
        arena.place(envelope.language), content.kind.rawValue
      )
      .bind(
        arena.place(content.text.isEmpty ? nil : content.text), arena.place(content.fields),
        arena.place(unlessEmpty: content.extras), arena.place(keyID), key?.bodyHash)
  }
}

extension Query {
  fileprivate static let insertPayload = Query(
    """
    INSERT INTO payloads (position, dialog, author, peer, kind, time, via, nick, seq, traits, type, from_resource,
      to_resource, stanza_id, lang, content_kind, text, fields, extras, key_id, key_hash, detail, mentions, attachments)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
      ?24)
    """)
}
