import Addresses
import Basics
import Dialogs
import ServerMetrics
import XMLStream
import XMPP

/// XEP-0313: the messages of a user, by the page. The log is the archive: a query is one read, its ids are the
/// encrypted positions of entries.
///
/// It supports `urn:xmpp:mam:2#extended` (7): ids as bounds, single messages, flipped pages, metadata. A user's archive
/// has no room messages, which the field `include-groupchat` does not change (4.1.4): each room has its own. It has
/// private messages of rooms, under the addresses of occupants.
struct Archive: Feature {
  static let xep = XEP(
    313, "1.1.3", "Message Archive Management",
    note:
      "Archives of users, and of rooms without the field `with` (4.1.1). `<count/>` is omitted (4.3.2). Ids of messages that retention has deleted are answered with `item-not-found`."
  )

  static let query = Name("query", NS.mam)
  private static let metadata = Name("metadata", NS.mam)
  static let result = Name("result", NS.mam)
  private static let fin = Name("fin", NS.mam)

  func register(in table: inout FeatureTable) {
    table.advertise(
      "\(NS.mam)", "\(NS.mamExtended)", "urn:xmpp:mam:2#groupchat-field", on: [.account])
    // COMPAT(profanity 0.13, docs/decisions/0006): looks nowhere else.
    table.advertise("\(NS.mam)", on: [.server])
    table.iq(.get, Self.query, to: [.account]) { turn, _ in turn.reply { Self.writeForm(ofRoom: false, into: &$0) } }
    table.iq(.set, Self.query, to: [.account], Self.answer)
    table.iq(.get, Self.metadata, to: [.account]) { turn, _ in Self.answerMetadata(turn) }
    // Only people who may enter a room may read its archive.
    table.advertise("\(NS.mam)", "\(NS.mamExtended)", "\(NS.stanzaID)", on: [.room])
    table.iq(.get, Self.query, to: [.room]) { turn, _ in turn.reply { Self.writeForm(ofRoom: true, into: &$0) } }
    table.iq(.set, Self.query, to: [.room], Self.answerOfRoom)
    table.iq(.get, Self.metadata, to: [.room], Self.answerMetadataOfRoom)
    // 8.1.
    let forbidden: FeatureTable.IQHandler = { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
    table.iq(.get, Self.query, to: [.user], forbidden)
    table.iq(.set, Self.query, to: [.user], forbidden)
    table.iq(.get, Self.metadata, to: [.user], forbidden)
  }

  // MARK: The form (4.1.5)

  /// Writes the fields that the archive of a user, or of a room, supports.
  static func writeForm(ofRoom isOfRoom: Bool, into writer: inout ElementWriter) {
    writer.element(query) { writer in
      writer.element(.dataForm) { writer in
        writer.attribute("type", "form" as StaticString)
        func field(_ name: StaticString, _ type: StaticString, _ content: (inout ElementWriter) -> Void = { _ in }) {
          writer.element("field") { writer in
            writer.attribute("type", type)
            writer.attribute("var", name)
            content(&writer)
          }
        }
        field("FORM_TYPE", "hidden") { writer in
          writer.element("value") { $0.raw(NS.mam) }
        }
        if !isOfRoom { field("with", "jid-single") }
        for name: StaticString in ["start", "end", "before-id", "after-id"] { field(name, "text-single") }
        field("ids", "list-multi") { writer in
          // XEP-0122: any value is allowed.
          writer.element(Name("validate", "http://jabber.org/protocol/xdata-validate")) { writer in
            writer.attribute("datatype", "xs:string" as StaticString)
            writer.element("open")
          }
        }
        if !isOfRoom { field("include-groupchat", "boolean") }
        field(FullTextSearch.field, "text-single")
      }
    }
  }

  // MARK: The query

  private static func answer(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let (parley, realm) = (turn.parley, turn.party.realm)
    let request = try ArchiveRequest(query) { parley.position(of: $0, in: realm) }
    // A client that reads the archive needs no offline messages (6.1.1).
    turn.session.readsArchive()
    let user = turn.party
    turn.whenIndexed(request.text != nil) {
      read(request, turn) {
        try $0.page(of: user, $1)
      } then: {
        send($0, for: request, to: turn)
      }
    }
  }

  /// Reads a page. A read looks at a bounded number of rows; one that has found nothing is followed by another, since a page
  /// without an entry has no id by which the client could ask for the next one (XEP-0059 2.2). Others read between them, the
  /// user is charged for each, and the next one waits while the user is in debt.
  private static func read(
    _ request: ArchiveRequest, _ turn: Turn,
    page: @escaping @Sendable (ArchiveRequest, any StoreReader) throws -> ArchivePage?,
    then: @escaping (ArchivePage) -> Void
  ) {
    turn.fetch(as: request.readKind) {
      try page(request, $0)
    } reply: { (found) throws(StanzaError) in
      // 4.1.3, 4.3.2.
      guard let found else { throw StanzaError(.itemNotFound, "there is no such message in the archive") }
      guard let next = found.next else { return then(found) }
      charge(turn.session, longReads: 1)
      guard found.entries.isEmpty else { return then(found) }
      turn.session.behindDebt { read(request.behind(next), turn, page: page, then: then) }
    }
  }

  /// Charges whoever asks for reads that have looked at as many rows as one may.
  static func charge(_ session: XMPPSession, longReads count: Int) {
    session.charge(stanzas: count * DoorLimits.archiveReadStanzas)
  }

  private static func send(_ page: ArchivePage, for request: ArchiveRequest, to turn: Turn) {
    let session = turn.session
    let result = ArchiveResult(queryID: request.queryID, archive: .user)
    // 4.3.4: flipping changes the order of sending, but not the description of the page.
    let order = request.isFlipped ? page.entries.reversed() : page.entries
    for entry in order {
      session.send(as: .result(entry, result)) { write(entry, result, for: session, into: &$0) }
    }
    writeEnd(of: page, turn)
  }

  private static func writeEnd(of page: ArchivePage, _ turn: Turn) {
    turn.reply { writer in
      writer.element(fin) { writer in
        if page.complete { writer.attribute("complete", "true" as StaticString) }
        ResultSetPage(first: page.entries.first?.id.description, last: page.entries.last?.id.description)
          .write(into: &writer)
      }
    }
  }

  /// Writes one whole result to a session.
  static func write(
    _ entry: Entry, _ result: ArchiveResult, for session: XMPPSession, into writer: inout ElementWriter
  ) {
    let (parley, to) = (session.parley, session.jid.description)
    guard result.archive != .user else {
      return write(
        entry, queryID: result.queryID, for: session.party, to: to, { parley.occupantID(of: $0, in: $1) }, into: &writer
      )
    }
    guard let room = entry.room else { return }
    write(from: room.address, to: to, into: &writer) {
      writeResult(entry, queryID: result.queryID, into: &$0) {
        RoomOutbound.forwarded(entry, withAddress: result.archive == .roomWithAddresses, parley, into: &$0)
      }
    }
  }

  /// Writes one whole result of a user's archive (4.2).
  static func write(
    _ entry: Entry, queryID: String?, for user: Party, to: String, _ occupantID: (UserID, RoomName) -> String,
    into writer: inout ElementWriter
  ) {
    guard let message = entry.archived else { return }
    write(from: user.address, to: to, into: &writer) {
      writeResult(entry, message, queryID: queryID, for: user, occupantID, into: &$0)
    }
  }

  /// Writes the same without the message around it.
  static func writeResult(
    _ entry: Entry, _ message: Message, queryID: String?, for user: Party,
    _ occupantID: (UserID, RoomName) -> String, into writer: inout ElementWriter
  ) {
    writeResult(entry, queryID: queryID, into: &writer) {
      if entry.whisper != nil, entry.author != user {
        return Outbound.writeWhisper(
          of: entry, message, to: user.address.description, withStanzaID: false, isDelayed: false, viewer: user,
          occupantID, into: &$0)
      }
      Outbound.writeStanza(
        of: entry, message, to: Outbound.address(entry.addressee, message.envelope.toResource), withStanzaID: false,
        isDelayed: false, viewer: user, into: &$0)
    }
  }

  static func write(
    from archive: BareJID, to: String, into writer: inout ElementWriter, _ content: (inout ElementWriter) -> Void
  ) {
    writer.element(.message) { writer in
      writer.attribute("to", to)
      writer.attribute("from", archive.description)
      content(&writer)
    }
  }

  static func writeResult(
    _ entry: Entry, queryID: String?, into writer: inout ElementWriter, _ stanza: (inout ElementWriter) -> Void
  ) {
    writer.element(result) { writer in
      writer.attribute("queryid", queryID)
      writer.attribute("id", entry.id.description)
      writer.element(.forwarded) { writer in
        Delay.write(entry.time, into: &writer)
        stanza(&writer)
      }
    }
  }

  // MARK: Rooms (5.1.2)

  /// Runs `then` with what the requester may read of the room; refuses if that is nothing.
  private static func ofRoom(_ turn: Turn, _ then: @escaping (ReadableRoom) throws(StanzaError) -> Void) {
    turn.occupancy { (_, occupancy) throws(StanzaError) in
      guard let readable = occupancy.access.readable else { throw StanzaError(.forbidden) }
      try then(readable)
    }
  }

  private static func answerOfRoom(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let (parley, realm) = (turn.parley, turn.party.realm)
    let request = try ArchiveRequest(query) { parley.position(of: $0, in: realm) }
    if request.with != nil { throw StanzaError(.featureNotImplemented, "a room's archive is not filtered by person") }
    ofRoom(turn) { readable in
      let messages = readable.messages
      turn.whenIndexed(request.text != nil) {
        read(request, turn) {
          try $0.page(of: messages, $1)
        } then: { page in
          let session = turn.session
          let result = ArchiveResult(
            queryID: request.queryID, archive: readable.showsPeople ? .roomWithAddresses : .room)
          for entry in request.isFlipped ? page.entries.reversed() : page.entries {
            session.send(as: .result(entry, result)) { write(entry, result, for: session, into: &$0) }
          }
          writeEnd(of: page, turn)
        }
      }
    }
  }

  private static func answerMetadataOfRoom(_ turn: Turn, _ query: Element) throws(StanzaError) {
    ofRoom(turn) { readable in
      turn.fetch { reader in
        try ends { try reader.archive(of: readable.messages, $0) }
      } reply: { (ends) throws(StanzaError) in
        charge(turn.session, longReads: ends.longReads)
        turn.reply { writeMetadata(ends, into: &$0) }
      }
    }
  }

  // MARK: Metadata (5)

  private static func answerMetadata(_ turn: Turn) {
    let user = turn.party
    turn.fetch {
      try ends(of: user, $0)
    } reply: { (ends) throws(StanzaError) in
      charge(turn.session, longReads: ends.longReads)
      turn.reply { writeMetadata(ends, into: &$0) }
    }
  }

  /// The oldest and the newest message of an archive, and the number of reads for them that have looked at as many rows as one
  /// may.
  struct Ends: Sendable {
    var oldest: Entry?
    var newest: Entry?
    var longReads = 0
  }

  /// Returns the ends of a user's archive, as it was when the log ended at `position`.
  static func ends(
    of user: Party, at position: Position = .end, _ reader: any StoreReader
  ) throws -> Ends {
    try ends(at: position) { try reader.archive(of: .own(user), $0) }
  }

  private static func ends(
    at position: Position = .end, _ archive: (ArchiveQuery) throws -> ArchivePage
  ) throws -> Ends {
    var first = ArchiveQuery(limit: 1)
    if position < .end { first.before = position.next }
    var last = first
    last.backwards = true
    var longReads = 0
    let oldest = try end(first, &longReads, archive)
    let newest = try end(last, &longReads, archive)
    return Ends(oldest: oldest, newest: newest, longReads: longReads)
  }

  /// Returns the entry at an end of an archive. Where the user has deleted more there than one read looks at, it is the last of
  /// these: its id is as good a bound for queries. It is `nil` also where nothing is found in `DoorLimits.archiveEndReads` reads.
  private static func end(
    _ query: ArchiveQuery, _ longReads: inout Int, _ archive: (ArchiveQuery) throws -> ArchivePage
  ) throws -> Entry? {
    var query = query
    for _ in 0..<DoorLimits.archiveEndReads {
      let page = try archive(query)
      if page.next != nil { longReads += 1 }
      guard page.entries.isEmpty, let next = page.next else { return page.entries.first }
      var deleted = ArchiveQuery(limit: 1)
      deleted.positions = [next]
      deleted.includesHidden = true
      if let entry = try archive(deleted).entries.first { return entry }
      query.go(behind: next)
    }
    return nil
  }

  static func writeMetadata(_ ends: Ends, into writer: inout ElementWriter) {
    writer.element(metadata) { writer in
      if let first = ends.oldest, let last = ends.newest {
        for (name, entry) in [("start" as StaticString, first), ("end", last)] {
          writer.element(name) { writer in
            writer.attribute("id", entry.id.description)
            entry.time.withBytes { writer.attribute("timestamp", $0) }
          }
        }
      }
    }
  }
}

extension Entry {
  /// The stanza that the archive keeps; `nil` if it keeps none.
  var archived: Message? {
    if case .call(let change) = fact { change.stanza } else { fact.stanza }
  }

  /// The bytes of the stanza as it is sent, or of an app's content: entries of an archive are kept whole until they are
  /// acknowledged (`Sent.result`), also with what XMPP clients are not sent.
  var weight: Int {
    if case .undelivered(let undelivered) = fact { return undelivered.stanzaID.utf8.count }
    if case .marker(let marker) = fact, marker.stanza == nil { return marker.targetStanzaID?.utf8.count ?? 0 }
    guard let message = archived else { return 0 }
    let (content, envelope) = (message.content, message.envelope)
    // Ids and languages of XMPP have no bound of their own.
    var bytes = (envelope.id?.utf8.count ?? 0) + (envelope.language?.utf8.count ?? 0) + DoorLimits.archiveResultBytes
    if !content.extras.isEmpty { return bytes + content.extras.count }
    bytes += content.text.utf8.count + (content.fields?.utf8.count ?? 0)
    bytes += message.reference?.targetStanzaID?.utf8.count ?? 0
    for file in content.attachments { bytes += file.url.utf8.count + (file.name?.utf8.count ?? 0) }
    return bytes
  }
}

/// The way in which a result of a query shows an entry.
struct ArchiveResult: Hashable, Sendable {
  /// Stored: never renumber.
  enum Archive: UInt8, Sendable {
    case user = 0
    case room = 1
    /// A room's, for somebody who may see the authors' addresses.
    case roomWithAddresses = 2
  }
  let queryID: String?
  let archive: Archive
  /// The bytes of the query's id, which the client chooses and each result repeats.
  var byteCount: Int { queryID?.utf8.count ?? 0 }
}

/// A query (XEP-0313 4.1, 4.3), with ids resolved to positions.
struct ArchiveRequest: Sendable {
  var queryID: String?
  var isFlipped = false
  var with: JID?
  var start: Timestamp?
  var end: Timestamp?
  /// The positions of single messages, ascending; `nil` if not asked for.
  var ids: [Position]?
  /// The words to search for (XEP-0431); `nil` for all messages.
  var text: String?
  var readKind: ReadKind { text == nil ? .archive : .search }
  /// The ids that were used as bounds, which must be in the archive.
  var anchors: Set<Position> = []
  var after = Position.zero
  var before = Position.end
  var isBackward = false
  var limit = DoorLimits.archivePageDefault

  /// Reads a query.
  ///
  /// - Parameter position: returns the position of an id; `nil` for one of another server.
  /// - Throws: `bad-request` for a malformed form, `feature-not-implemented` for an unknown field (4.1.5),
  ///   `item-not-found` for an id that was never issued (4.1.3).
  init(_ query: Element, position: (PublicID) -> Position?) throws(StanzaError) {
    func open(_ text: String) throws(StanzaError) -> Position {
      guard let id = PublicID(text), let found = position(id) else {
        throw StanzaError(.itemNotFound, "there is no such message in the archive")
      }
      return found
    }
    // 6.1.3: nodes are for other archives than a user's.
    if query["node"] != nil { throw StanzaError(.itemNotFound, "there is no such node") }
    queryID = query["queryid"]
    isFlipped = query.first(Name("flip-page", NS.mam)) != nil
    if let form = try query.payload(DataForm.self) { try read(form, open) }
    if ids != nil, text != nil {
      throw StanzaError(.featureNotImplemented, "single messages are not searched (XEP-0431)")
    }
    if let set = try query.payload(ResultSetRequest.self) {
      if set.index != nil { throw StanzaError(.featureNotImplemented, "pages are asked for by id (XEP-0059 2.5)") }
      if let id = set.after {
        let bound = try open(id)
        anchors.insert(bound)
        after = max(after, bound)
      }
      if let id = set.before {
        let bound = try open(id)
        anchors.insert(bound)
        before = min(before, bound)
      }
      isBackward = set.isBackward
      limit = set.limit(default: DoorLimits.archivePageDefault)
    }
  }

  /// Reads the fields of a query (4.1).
  private mutating func read(
    _ form: DataForm, _ open: (String) throws(StanzaError) -> Position
  ) throws(StanzaError) {
    if let type = form.formType, type != String(describing: NS.mam) {
      throw StanzaError(.badRequest, "FORM_TYPE is \(NS.mam)")
    }
    for field in form.fields {
      let value = field.name == "ids" ? "" : try form.single(field.name ?? "") ?? ""
      switch field.name {
      case "FORM_TYPE": break
      case "with":
        if value.isEmpty { break }
        guard let jid = JID(parsing: value) else { throw StanzaError(.jidMalformed, "'with' is no address") }
        with = jid
      case "start": start = try Self.time(value, "start")
      case "end": end = try Self.time(value, "end")
      case "after-id":
        if value.isEmpty { break }
        let bound = try open(value)
        anchors.insert(bound)
        after = max(after, bound)
      case "before-id":
        if value.isEmpty { break }
        let bound = try open(value)
        anchors.insert(bound)
        before = min(before, bound)
      case "ids":
        var found: Set<Position> = []
        for id in field.values where !id.isEmpty { found.insert(try open(id)) }
        if !found.isEmpty { ids = found.sorted() }
      case "{urn:xmpp:fulltext:0}fulltext": text = try FullTextSearch.read(value)
      case "include-groupchat": _ = try form.boolean("include-groupchat")
      default: throw StanzaError(.featureNotImplemented, "the field '\(field.name ?? "")' is not known here")
      }
    }
  }

  private static func time(_ text: String, _ name: String) throws(StanzaError) -> Timestamp? {
    if text.isEmpty { return nil }
    guard let time = Timestamp(text) else { throw StanzaError(.badRequest, "'\(name)' is no date and time") }
    return time
  }

  /// Returns the page of a room's archive, ascending; `nil` if an id is not in it. Called on a reader's thread.
  func page(
    of messages: MessageAccess, _ reader: any StoreReader
  ) throws -> ArchivePage? {
    // Entries before the floor do not exist for this reader.
    if let ids, ids.contains(where: { $0 <= messages.behind }) { return nil }
    return try page(with: nil, reader, expired: { try reader.expired(in: messages) }) {
      try reader.archive(of: messages, $0)
    }
  }

  /// Returns the page of a user's archive, ascending; `nil` if an id is not in it. Called on a reader's thread.
  func page(of user: Party, _ reader: any StoreReader) throws -> ArchivePage? {
    var dialog: DialogID?
    let expired = { try reader.expired(in: LogAccess.own(user)) }
    if let with {
      guard let found = try Self.dialog(of: user, with: with.bare, reader) else {
        let known = try hasAnchors(reader, expired: expired) { try reader.archive(of: .own(user), $0) }
        return known && ids == nil ? ArchivePage(entries: [], complete: true) : nil
      }
      dialog = found
    }
    return try page(with: dialog, reader, expired: expired) { try reader.archive(of: .own(user), $0) }
  }

  /// Returns the dialog with a user, or with a room, whose whispers it contains.
  private static func dialog(of user: Party, with address: BareJID, _ reader: any StoreReader) throws -> DialogID? {
    if let peer = try reader.user(address, seenFrom: user.realm) {
      return try reader.dialog(between: user.id, and: peer.id)?.id
    }
    return try reader.room(at: address)?.id
  }

  private func page(
    with dialog: DialogID?, _ reader: any StoreReader, expired: () throws -> Position,
    _ archive: (ArchiveQuery) throws -> ArchivePage
  ) throws -> ArchivePage? {
    guard try hasAnchors(reader, expired: expired, archive) else { return nil }
    if let ids { return try page(ids, in: dialog, archive) }
    // If no results are asked for, one entry shows whether there are any.
    var query = ArchiveQuery(limit: max(1, limit))
    query.with = dialog
    query.withResource = with?.resource
    query.start = start
    query.end = end
    query.text = text
    query.after = after
    query.before = before
    query.backwards = isBackward
    query.bytesMax = DoorLimits.archivePageBytesMax
    let page = try archive(query)
    if limit > 0 || page.entries.isEmpty { return cut(page) }
    return ArchivePage(entries: [], complete: false)
  }

  /// Returns the request for what is behind a position in the direction of paging, after a read that has found nothing up to it.
  func behind(_ position: Position) -> ArchiveRequest {
    var rest = self
    // They are valid, and may have gone by their age meanwhile.
    rest.anchors = []
    if isBackward { rest.before = min(before, position) } else { rest.after = max(after, position) }
    return rest
  }

  /// Returns whether the bounds are valid. One that has been removed since it was issued still is: a marker, say, that
  /// was the last of the archive until a later one replaced it. One that may have gone by its age is not (XEP-0313
  /// 4.1.3): the client would not notice what is missing.
  ///
  /// - Parameter expired: returns the position up to which entries have gone so.
  private func hasAnchors(
    _ reader: any StoreReader, expired: () throws -> Position, _ archive: (ArchiveQuery) throws -> ArchivePage
  ) throws -> Bool {
    if anchors.isEmpty { return true }
    var check = ArchiveQuery(limit: anchors.count)
    check.positions = anchors.sorted()
    // A message that the user has deleted for themself is still a valid bound.
    check.includesHidden = true
    let missing = anchors.subtracting(try archive(check).entries.map(\.position))
    if missing.isEmpty { return true }
    let gone = try expired()
    return try missing.allSatisfy { try $0 > gone && !reader.hasEntry(at: $0, in: nil) }
  }

  /// Returns single messages: all must exist (4.1.3); other filters select among them.
  private func page(
    _ ids: [Position], in dialog: DialogID?, _ archive: (ArchiveQuery) throws -> ArchivePage
  ) throws -> ArchivePage? {
    let inRange = ids.filter { $0 > after && $0 < before }
    let wanted = isBackward ? inRange.suffix(limit) : inRange.prefix(limit)
    if wanted.isEmpty { return ArchivePage(entries: [], complete: inRange.isEmpty) }
    // In pieces, since all are looked for, and no more of them is kept than is sent.
    var page = ArchivePage(entries: [], complete: wanted.count == inRange.count)
    var rest = isBackward ? Array(wanted.reversed()) : Array(wanted)
    while !rest.isEmpty {
      var query = ArchiveQuery(limit: DoorLimits.archiveIDsAtOnce)
      query.positions = Array(rest.prefix(DoorLimits.archiveIDsAtOnce))
      rest.removeFirst(query.positions?.count ?? 0)
      let found = try archive(query).entries
      guard found.count == query.positions?.count else { return nil }
      if page.entries.byteCount >= DoorLimits.archivePageBytesMax {
        page.complete = false
      } else {
        page.entries = isBackward ? found + page.entries : page.entries + found
      }
    }
    page.entries.removeAll { entry in
      if let dialog, entry.dialog != dialog, entry.whisper?.room.dialog != dialog { return true }
      if let start, entry.time < start { return true }
      if let end, entry.time > end { return true }
      return false
    }
    return cut(page)
  }

  /// Cuts a page of large messages, at the end that the client reads on from.
  private func cut(_ page: ArchivePage) -> ArchivePage {
    var left = DoorLimits.archivePageBytesMax
    // The client's own id comes back with each result.
    let own = queryID?.utf8.count ?? 0
    func fits(_ entry: Entry) -> Bool {
      left -= entry.weight + own
      return left >= 0
    }
    let kept =
      isBackward
      ? page.entries.reversed().prefix(while: fits).count : page.entries.prefix(while: fits).count
    let count = max(kept, min(1, page.entries.count))
    if count == page.entries.count { return page }
    return ArchivePage(
      entries: Array(isBackward ? page.entries.suffix(count) : page.entries.prefix(count)), complete: false)
  }
}
