import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Reading from the log: offline messages, entries missed while the client was away or slow, and the position up to
/// which the client has confirmed.
extension XMPPSession {
  // MARK: Catching up

  /// Handles the first presence of non-negative priority: offline messages are sent, oldest first, unless the client
  /// reads its archive itself.
  func becameAvailable() {
    guard (presence?.priority ?? -1) >= 0 else { return }
    cursor.becameAvailable()
    tellUnarchived()
    readOn()
  }

  /// Notes that the client reads its archive itself: of the offline messages it needs those that are not in it (XEP-0313
  /// 6.1.1).
  ///
  /// - Parameter isRead: whether the archive counts as read.
  func readsArchive(isRead: Bool = false) {
    if let positions = cursor.readsArchive() { untold = Untold(positions: positions, isRead: isRead) }
    tellUnarchived()
  }

  /// Sends a client that reads its archive itself what no archive has: invitations to rooms, which of the user's messages
  /// were not delivered, and messages that a hint (XEP-0334) or the user's preferences keep out of the archive. It is sent
  /// when other clients are sent offline messages. After a full page a client with stream management must acknowledge
  /// first: more stanzas than may be unacknowledged would end its session, and the next one in the same way.
  private func tellUnarchived() {
    guard let untold, !isReadingUnarchived, !lags, successor == nil, (presence?.priority ?? -1) >= 0 else { return }
    isReadingUnarchived = true
    let positions = untold.positions
    let query = offlineMessages(after: positions.lowerBound.previous, before: positions.upperBound.next)
    fetch(for: missed, { [party] in try $0.unarchived(of: .own(party), query) }) {
      [self] (result: Result<ArchivePage, Problem>) in
      isReadingUnarchived = false
      guard case .success(let page) = result else { return unreadable() }
      if isUnread || successor != nil { return }
      let entries = page.entries
      for entry in entries { tell(entry, .direct, delayed: true) }
      if !page.complete, let last = page.next ?? entries.last?.position, last < positions.upperBound {
        self.untold = Untold(positions: last.next...positions.upperBound, isRead: untold.isRead)
        // A page that only looked at other rows is nothing to confirm.
        if !entries.isEmpty { askForSign() }
        flush()
        return tellUnarchived()
      }
      self.untold = nil
      if entries.isEmpty, !confirmation.isOwed {
        if untold.isRead { confirmed(positions.upperBound) }
      } else {
        if untold.isRead { confirmation.tell(positions.upperBound) }
        askForSign()
      }
      if !lags { readOn() }
      flush()
    }
  }

  /// Returns the query of a page of offline messages between two positions.
  private func offlineMessages(after: Position, before: Position = .end) -> ArchiveQuery {
    var query = ArchiveQuery(limit: Limits.replayMax)
    query.after = after
    query.before = before
    query.bytesMax = Limits.pageBytesMax
    return query
  }

  /// Continues when the client reads again, or is back: what it missed comes from the log.
  func resumeReading() {
    if !isInactive { releaseHeld() }
    resumeWaiting()
    tellUnarchived()
    continueLookups()
    sendPaced()
    readOn()
    for address in rooms.behind { RoomInbound.readOn(address, self) }
  }

  /// Continues with answers and paced stanzas when the loop has done its other work (`SessionOutlet.takesMore`). Nothing is
  /// read from the log: what is missed waits for acknowledgements, which have not come by that.
  func resumeAnswers() {
    resumeWaiting()
    sendPaced()
  }

  private func sendPaced() {
    while !paced.isEmpty, !isBehind, outlet?.takesMore() != false { paced.removeFirst()() }
  }

  /// Reads the next missed page, if anything was missed. What no archive has is older than what the replay sends, and
  /// comes first.
  private func readOn() {
    guard untold == nil || cursor.replay == .due, !isUnread, successor == nil, let read = cursor.next() else { return }
    let log = LogAccess.own(party, rooms: rooms.followed)
    switch read {
    case .log(let after):
      fetch(
        for: missed,
        { [missedPlaces] in
          try $0.page(
            of: log, after: after, limit: Limits.feedPageMax, all: true, at: missedPlaces, ahead: Limits.feedAheadMax)
        }
      ) { [self] (result: Result<LogPage, Problem>) in
        guard case .success(let page) = result else { return unreadable() }
        if isUnread || successor != nil { return cursor.interrupt() }
        tell(page, of: log.rooms)
      }
    case .replay(let after, let place):
      let query = offlineMessages(after: after)
      fetch(
        for: missed,
        { reader in
          let messages = try reader.replay(of: log, query)
          if !messages.complete { return OfflinePage(messages: messages, log: nil) }
          let page = try reader.page(
            of: log, after: place, limit: Limits.feedPageMax, all: true, ahead: Limits.feedAheadMax)
          return OfflinePage(messages: messages, log: (page, try reader.head().position))
        }
      ) { [self] (result: Result<OfflinePage, Problem>) in
        guard case .success(let page) = result else { return unreadable() }
        // Offline messages may exceed what may wait for a client at all.
        if isUnread || successor != nil { return cursor.interrupt() }
        let messages = page.messages.entries
        for message in messages where cursor.isInOrder(message.position) { tell(message, .direct, delayed: true) }
        // At once: a client that connects only briefly must not get them again.
        if !messages.isEmpty { askForSign() }
        if let read = page.log {
          cursor.replayEnded(at: read.head)
          tell(read.page, of: log.rooms)
        } else if let last = messages.last {
          cursor.replayed(through: last.position)
        } else if let next = page.messages.next {
          cursor.replayPassed(to: next)
          if !lags { readOn() }
        }
      }
    }
  }

  private struct OfflinePage: Sendable {
    let messages: ArchivePage
    /// The log behind the last of the messages, read in one snapshot with them; the log ended at `head`.
    let log: (page: LogPage, head: Position)?
  }

  /// Sends a page of the log behind the cursor; then the entries that arrived meanwhile, or the next page.
  ///
  /// - Parameter followed: the rooms that the page was read for.
  private func tell(_ page: LogPage, of followed: [FollowedRoom]) {
    // Many sessions may be suspended for long: these look for the places again.
    missedPlaces = suspendedAt == nil ? page.places : nil
    var told = Position.zero
    for entry in page.entries {
      // Entries that are kept as bytes, such as roster pushes, may fill all room: the rest is read again.
      if isFull { return tellNoMore(behind: told, of: followed) }
      if let form = form(of: entry) { goOn(with: entry, form) }
      told = entry.position
    }
    rooms.passed(but: followed)
    flush()
    for held in cursor.told(through: page.end, isLast: page.isLast, lags: lags) { goOn(with: held.entry, held.form) }
    for address in rooms.behind { RoomInbound.readOn(address, self) }
    if !lags { readOn() }
  }

  /// Leaves the rest of a page to another one, which is read when there is room for it.
  private func tellNoMore(behind told: Position, of followed: [FollowedRoom]) {
    missedPlaces = nil
    rooms.passed(but: followed)
    _ = cursor.told(through: told, isLast: false, lags: true)
    flush()
  }

  /// Ends the stream. What was missed is still behind the cursor, and is sent when the client comes back.
  func unreadable() {
    cursor.interrupt()
    rooms.interrupt()
    outlet?.fail(StreamError(.internalServerError, "the archive could not be read"))
  }

  /// Returns the form in which an entry read from the log goes to this session, as live routing would have chosen it.
  private func form(of entry: Entry) -> Form? {
    if entry.room != nil { return .room }
    guard let message = entry.fact.stanza else {
      switch entry.fact {
      case .marker(let marker): return marker.asked ? (entry.author.id == party.id ? .carbonSent : .direct) : nil
      case .contact, .contactGroup, .blocks, .profile: return .direct
      case .invitation(let invitation):
        return isAvailable && invitation.isFor(onlineSession?.interests ?? []) ? .direct : nil
      case .undelivered(let undelivered):
        guard let resource = undelivered.fromResource, resource != jid.resource else { return .direct }
        return carbons ? .carbonReceived : nil
      case .message, .dialogOpened, .room, .node, .settings, .perUser, .draft, .scheduledMessage, .call, .notification:
        return nil
      }
    }
    let copies = carbons && !message.traits.contains(.uncopied)
    if let whisper = entry.whisper {
      // Only occupants who were in the room then, and still are, get the whisper.
      guard let joinedRoom = rooms[whisper.room.address], entry.position > joinedRoom.follows.since else { return nil }
      guard entry.author == party, entry.isToOther else { return .direct }
      return copies && message.envelope.fromResource != jid.resource ? .carbonSent : nil
    }
    if entry.author.id == party.id, entry.peer != party {
      return copies && message.envelope.fromResource != jid.resource ? .carbonSent : nil
    }
    if entry.author.id == party.id, message.envelope.fromResource == jid.resource { return nil }
    if let resource = message.envelope.toResource {
      if resource == jid.resource { return .direct }
      return copies ? .carbonReceived : nil
    }
    if let presence, presence.priority >= 0 { return .direct }
    return copies ? .carbonReceived : nil
  }

  private var carbons: Bool {
    parley.hub.onlineSessions(of: party.id).first { $0.session === handle }?.carbons ?? false
  }

  // MARK: Confirmation

  /// Notes that the client has everything up to `position`.
  func confirmed(_ position: Position) {
    guard confirmation.confirm(position) else { return }
    if cursor.confirmed(position) { readOn() }
    postConfirmation(after: Limits.confirmEvery)
  }

  func postConfirmation(after count: Int = 1) {
    guard let position = confirmation.due(after: count) else { return }
    _ = parley.submit(Post(author: party, intent: .confirm(position), completion: .none, from: handle.peer))
  }

  /// Handles an IQ result or error from the client to the server: the answer to a request, or to the one that was sent
  /// behind messages (a client without stream management confirms in no other way).
  func answered(_ stanza: Stanza) {
    guard let id = stanza.id, !door.questions.answered(stanza, from: JID(jid)) else { return }
    if let index = questions.firstIndex(where: { $0.id == id }) {
      return questions.remove(at: index).answered(self, stanza)
    }
    guard let position = confirmation.answered(id) else { return }
    confirmed(position)
    if cursor.replay == .waiting { askForSign() }
    postConfirmation()
  }

  /// Sends the client an IQ request. Requests that it does not answer are forgotten in time.
  func ask(_ content: (inout ElementWriter) -> Void, then: @escaping (XMPPSession, Stanza) -> Void) {
    let id = DoorContext.randomID()
    if questions.count >= DoorLimits.questionsMax { questions.removeFirst() }
    questions.append((id, then))
    send { request(id, content, into: &$0) }
  }

  private func request(_ id: String, _ content: (inout ElementWriter) -> Void, into writer: inout ElementWriter) {
    writer.element(.iq) { writer in
      writer.attribute("type", IQType.get.text)
      writer.attribute("id", id)
      writer.attribute("from", jid.bare.domain)
      writer.attribute("to", jid.description)
      content(&writer)
    }
  }

  func askForSign() {
    if management.isEnabled {
      requestAcknowledgement()
    } else {
      let id = DoorContext.randomID()
      if let kind = confirmation.begin(id) { askToConfirm(id, kind) }
    }
  }

  func askToConfirm(_ id: String, _ kind: DeliveryConfirmation.Request) {
    outlet?.write { writer in
      request(
        id,
        { writer in
          switch kind {
          case .version: writer.element(SoftwareVersion.query)
          case .ping: writer.element(.ping)
          }
        }, into: &writer)
    }
  }
}
