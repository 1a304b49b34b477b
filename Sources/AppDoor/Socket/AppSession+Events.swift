import Accounts
import Dialogs
import HTTPPort
import NIOCore

/// The events for a client.
extension AppSession {
  /// Processes a delivery of the hub, on the session's lane; `flush` follows.
  func receive(_ delivery: Delivery) {
    switch delivery {
    case .outcome(let token, let result):
      if token == 0 { return attended(result) }
      if let session = open { settle(token, result, session) }
    case .entry(let entry, let form):
      guard let session = open else { return }
      noteMembership(entry, session)
      if session.follower.deliver(entry, form, lags: !isWritable) {
        tell(entry, isAnonymized: form == .feedAnonymized, session)
      }
    case .signal(let signal, let form):
      if let session = open {
        receive(signal, isAnonymized: form == .feedAnonymized, session)
      } else if case .closed(let reason) = signal {
        // A revoked credential ends lingering.
        lingerNoMore()
        revoke(reason)
      }
    // An app session is never handed over: its client reconnects with a cursor.
    case .handedOver: break
    case .owed: break
    }
  }

  // MARK: The feed

  /// Sends an entry. `subjects` are those of the page that it was read with.
  private func tell(
    _ entry: Entry, isAnonymized: Bool, subjects: FeedPage.Subjects = FeedPage.Subjects(), _ session: OpenSession
  ) {
    noteUnread(entry, session)
    // Earlier changes were part of the session's initial state.
    if case .profile(let profile) = entry.fact, entry.position > session.attended { show(profile, session) }
    if !session.typingUsers.isEmpty, case .message(let message) = entry.fact, message.reference?.changes != true {
      showTyping(false, entry.author, "", entry.dialog, session)
    }
    if isHidden(entry, session) || subjects.hidden.contains(entry.position) { return }
    let form = EventForm.of(
      entry, session.rendering, isAnonymized: isAnonymized, for: session.caller.user.id, subjects)
    guard let frame = form.frame(after: session.cursor) else { return }
    write(count: frame.count, cursor: form.cursor) { frame.write(to: &$0) }
    session.cursor = form.cursor
  }

  /// Returns whether an entry changes a message that the user may not read: they have deleted it for themselves, or it
  /// is older than their membership. An entry read from the log has no message then.
  private func isHidden(_ entry: Entry, _ session: OpenSession) -> Bool {
    guard case .message(let message) = entry.fact, let reference = message.reference, reference.outcome != nil else {
      return false
    }
    return !reference.isReadable(for: session.caller.user.id, since: session.memberships[entry.dialog])
  }

  /// Records the position behind which the user follows a group.
  private func noteMembership(_ entry: Entry, _ session: OpenSession) {
    guard case .room(let change) = entry.fact else { return }
    let user = session.caller.user.id
    switch change.change {
    case .created where entry.author.id == user: session.memberships[entry.dialog] = entry.position.previous
    case .member(let member) where member.party.id == user && member.was.isMember != member.now.isMember:
      session.memberships[entry.dialog] = member.now.isMember ? entry.position : nil
      // Who has left is not told who stops typing.
      session.typingUsers = session.typingUsers.filter { $0.key.dialog != entry.dialog }
    case .destroyed: session.typingUsers = session.typingUsers.filter { $0.key.dialog != entry.dialog }
    case .created, .member, .settings, .topic: break
    }
  }

  /// Reads missed entries, if there are any.
  func readOn(_ session: OpenSession) {
    guard isWritable, let after = session.follower.read() else { return }
    let user = session.caller.user
    let wantsNumbers = !session.follower.isCaughtUp
    let (known, wantsMemberships) = (session.places, !session.hasMemberships)
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    parley.fetch(
      for: session.catchingUp, on: session.handle.lane,
      { reader in
        let feed = try FeedPage.read(
          user, after: after, limit: AppLimits.replayPage, at: known, ahead: Limits.feedAheadMax, reader)
        let memberships = wantsMemberships ? try reader.memberships(of: user.id) : []
        return (
          feed: feed, head: try reader.head().position, memberships: memberships,
          totals: wantsNumbers && feed.log.isLast
            ? (unread: try reader.unread(of: user.id), mentions: try reader.mentions(of: user.id, in: nil)) : nil,
          expired: wantsNumbers && feed.log.isSearched ? try reader.expired(in: LogAccess.own(user)) : .zero
        )
      }
    ) { result in
      let me = me.value
      guard let session = me.open else { return }
      switch result {
      case .failure(let problem):
        // Without its feed the session is useless; the client reconnects.
        me.close(.tryAgainLater, problem)
      case .success(let page):
        // Behind a page that is not sent they are looked for again, together with what has gone by its age.
        if me.isWritable { session.places = page.feed.log.places }
        session.hasMemberships = true
        // Live changes are newer than the page.
        session.memberships.merge(page.memberships.map { ($0.room.dialog, $0.since) }) { max($0, $1) }
        if me.isWritable, session.follower.skipsGone(page.expired, head: page.head) {
          me.tellResync(.expired, session)
          me.readOn(session)
          break
        }
        me.tell(page.feed, head: page.head, totals: page.totals, session)
      }
      me.flush()
    }
  }

  /// Sends a page of the feed, behind the session's position; then the held entries, or the next page.
  private func tell(
    _ page: FeedPage, head: Position, totals: (unread: Int64, mentions: Int64)?, _ session: OpenSession
  ) {
    // It is read again when the client reads: otherwise it would only wait in memory.
    if !isWritable { return session.follower.interrupt() }
    for entry in page.log.entries {
      tell(entry, isAnonymized: page.subjects.isAnonymized(entry), subjects: page.subjects, session)
    }
    switch session.follower.told(page.log, head: head) {
    case .live(let held, let caughtUp):
      if let caughtUp {
        session.cursor = session.rendering.cursor(caughtUp)
        tell(
          .caughtUp,
          CaughtUpBody(
            cursor: session.cursor, totalUnread: totals?.unread ?? 0, totalMentions: totals?.mentions ?? 0),
          cursor: session.cursor)
        // Replayed messages have changed them, and the client need not ask.
        readUnread(session, for: session.catchingUp)
        // The presence set by the client, or the default one.
        if !session.isAnnounced { announce(session) }
      }
      for held in held { tell(held.entry, isAnonymized: held.form == .feedAnonymized, session) }
    case .resync: tellResync(.tooFarBehind, session)
    case .more: break
    }
    // This may have made the channel unwritable; the next page then waits, as nothing more can be sent.
    flush()
    readOn(session)
  }

  /// Tells the client to fetch its dialogs anew, and to go on from where the follower is now.
  private func tellResync(_ reason: ResyncBody.Reason, _ session: OpenSession) {
    // The message that ended somebody's typing may be among those that are not sent.
    let stale = Set(session.typingUsers.keys.map(\.dialog))
    session.typingUsers = [:]
    for dialog in stale { tellTyping(in: dialog, session) }
    // Rooms that were entered in what is not sent are among the memberships of the next page.
    session.hasMemberships = false
    session.cursor = session.rendering.cursor(session.follower.told)
    tell(.resync, ResyncBody(reason: reason, cursor: session.cursor), cursor: session.cursor)
  }

  /// Continues after the client reads again.
  func resume(_ session: OpenSession) {
    readOn(session)
    let stale = session.stalePresences
    session.stalePresences = [:]
    for seen in stale.values { tellPresence(seen, session) }
    let dialogs = session.staleTyping
    session.staleTyping = []
    for dialog in dialogs { tellTyping(in: dialog, session) }
  }

  // MARK: Outcomes

  private func settle(_ token: UInt64, _ result: Result<Receipt, Problem>, _ session: OpenSession) {
    guard let awaited = session.awaited.removeValue(forKey: token) else { return }
    defer { regulateReading() }
    switch (result, awaited.answer) {
    case (.failure(let problem), _): refuse(awaited.re, problem, of: awaited.place, session)
    case (.success(let receipt), .message):
      let form = receipt.entry.map {
        EventForm.of($0, session.rendering, isAnonymized: receipt.isAnonymized, for: session.caller.user.id)
      }
      guard let message = form?.message else {
        return refuse(
          awaited.re, Problem(.internal, "outcome-missing", "The message was stored, but it cannot be shown."))
      }
      accept(awaited.re, raw: message)
    case (.success(let receipt), .marker):
      if let outcome = SetMarker.outcome(receipt, mark: nil, session.caller.user, session.rendering) {
        return accept(awaited.re, outcome.output)
      }
      readMark(awaited, receipt, session)
    }
  }

  /// Answers a marker that moved nothing with the current mark.
  private func readMark(_ awaited: OpenSession.Awaited, _ receipt: Receipt, _ session: OpenSession) {
    let user = session.caller.user.id
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    parley.fetch(for: session.readOwner, on: session.handle.lane, { try $0.mark(user, in: awaited.place.id) }) {
      result in
      let me = me.value
      guard let session = me.open else { return }
      switch result {
      case .failure(let problem): me.refuse(awaited.re, problem)
      case .success(let mark):
        let mark = mark ?? Mark(dialog: awaited.place.id, user: user)
        me.accept(awaited.re, session.rendering.marker(mark, of: session.caller.user, .open))
      }
      me.flush()
    }
  }

  // MARK: Signals

  private func receive(_ signal: Signal, isAnonymized: Bool, _ session: OpenSession) {
    switch signal {
    case .presence(let presence):
      if presence.from.id == session.caller.user.id { return }
      // The hub stores nothing of remote users: only the signal can be sent.
      if presence.from.realm.isRemote {
        if isWritable { tell(.presenceUpdated, PresenceUpdatedBody(presence: session.rendering.presence(presence))) }
        return
      }
      let seen = OpenSession.Seen(party: presence.from, isHidden: isHidden(presence), time: presence.time)
      // For a client that does not read only the latest presence counts, and the hub has it.
      if isWritable { tellPresence(seen, session) } else { session.stalePresences[presence.from.id] = seen }
    case .stanza(let stanza):
      if let event = stanza.custom { tellCustom(event, stanza, isAnonymized: isAnonymized, session) }
      guard let on = stanza.typing, stanza.from.id != session.caller.user.id else { return }
      if let room = stanza.room {
        let naming = isAnonymized ? ParticipantNaming(Anonymizer(room, parley), viewer: nil) : .open
        showTyping(on, stanza.from, naming.id(stanza.from), room.dialog, session)
      } else {
        withDialog(of: stanza.from, session) { me, dialog, session in
          me.showTyping(on, stanza.from, stanza.from.name, dialog, session)
        }
      }
    case .profile(let party, let profile):
      // The user's own change comes as an entry.
      if party.id == session.caller.user.id || !isWritable { return }
      tell(.userUpdated, UserUpdatedBody(user: session.rendering.user(party, profile)))
    // Occupants concern XMPP; an app lists the members. So do undelivered subscription stanzas, and names in rosters: an app
    // shows that of the profile. Announcements have no event: an app informs its users in its own way.
    case .contactNamed, .occupant, .notice, .node, .announcement, .shown, .probes, .undelivered: break
    case .call(let signal): tellCall(signal, session)
    case .closed(let reason): revoke(reason)
    }
  }

  /// Returns whether an unavailable presence is of a session that still exists: the user has blocked the viewer or
  /// ended the subscription, and must look offline.
  private func isHidden(_ presence: Presence) -> Bool {
    !presence.isAvailable
      && parley.hub.presences(of: presence.from.id).contains { $0.resource == presence.resource }
  }

  private func tellPresence(_ seen: OpenSession.Seen, _ session: OpenSession) {
    let presence =
      seen.isHidden
      ? session.rendering.absence(of: seen.party, lastSeen: seen.time)
      : session.rendering.presence(of: seen.party, lastSeen: seen.time)
    tell(.presenceUpdated, PresenceUpdatedBody(presence: presence))
  }

  private func revoke(_ reason: CloseReason) {
    switch reason {
    case .replaced:
      close(.replaced, reason: ProblemBody.typePrefix + "session-replaced")
    case .revoked, .passwordChanged:
      tell(.sessionRevoked, SessionRevokedBody(reason: reason.rawValue))
      close(.unauthenticated, reason: ProblemBody.typePrefix + "session-revoked")
    case .ended, .shutdown:
      tell(.goAway, GoAwayBody(reason: reason.rawValue, retryAfterMs: 1_000))
      close(.goingAway, reason: ProblemBody.typePrefix + reason.rawValue)
    case .tooSlow:
      close(.tooFast, reason: ProblemBody.typePrefix + "client-too-slow")
    case .tooLarge:
      isForGood = true
      close(.tryAgainLater, reason: ProblemBody.typePrefix + "sessions-too-large")
    }
  }

  // MARK: Typing

  /// Resolves the private dialog with a user and continues: at once if it is cached, otherwise after reading it, in the
  /// order of the calls.
  func withDialog(of party: Party, _ session: OpenSession, then: @escaping OpenSession.DialogContinuation) {
    let address = party.address
    if let dialog = session.dialogs[address] { return then(self, dialog, session) }
    if var waiting = session.waitingForDialogs[address] {
      // Of typing the last counts.
      if waiting.count >= AppLimits.dialogWaitersMax { waiting.removeLast() }
      session.waitingForDialogs[address] = waiting + [then]
      return
    }
    session.waitingForDialogs[address] = [then]
    if session.dialogs.count >= AppLimits.typingDialogsMax { session.dialogs = [:] }
    let user = session.caller.user.id
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    parley.fetch(
      for: session.readOwner, on: session.handle.lane,
      { reader in
        // The id of a remote user is not that of their row (`Party`).
        let peer = party.realm.isRemote ? try reader.user(address, seenFrom: party.realm)?.id : party.id
        return try peer.flatMap { try reader.dialog(between: user, and: $0) }
      }
    ) { result in
      let me = me.value
      guard let session = me.open else { return }
      let waiting = session.waitingForDialogs.removeValue(forKey: address) ?? []
      guard case .success(let dialog?) = result else { return }
      session.dialogs[address] = dialog.id
      for then in waiting { then(me, dialog.id, session) }
      me.flush()
    }
  }

  /// Shows or ends a typing indicator. `name` is the viewer's id of the party.
  private func showTyping(_ on: Bool, _ party: Party, _ name: String, _ dialog: DialogID, _ session: OpenSession) {
    let typingUser = OpenSession.TypingUser(dialog: dialog, address: party.address)
    let before = session.typingUsers.removeValue(forKey: typingUser)
    if on {
      guard session.typingUsers.count < AppLimits.typingDialogsMax else { return }
      session.typingUsers[typingUser] = name
    }
    // Neither a renewal is an event, nor the end of an indicator that was not shown.
    if on == (before != nil) { return }
    if isWritable {
      tellTyping(in: dialog, session)
    } else if session.staleTyping.count < AppLimits.typingDialogsMax {
      session.staleTyping.insert(dialog)
    }
  }

  /// Sends the list of users who are typing in a dialog.
  private func tellTyping(in dialog: DialogID, _ session: OpenSession) {
    let names = session.typingUsers.filter { $0.key.dialog == dialog }.map(\.value).sorted()
    tell(.typingUpdated, TypingUpdatedBody(dialogId: session.rendering.id(dialog), userIds: names))
  }

  // MARK: Unread numbers

  /// Notes a change of the viewer's unread numbers. They change with every message, so they are sent separately from
  /// the events, once for many changes.
  private func noteUnread(_ entry: Entry, _ session: OpenSession) {
    let isMine = entry.author.id == session.caller.user.id
    switch entry.fact {
    case .message(let message):
      switch message.reference?.kind {
      // The message may have mentioned the user before the change, or does so now.
      case .correction, .retraction, .moderation: break
      case nil, .reply, .reactions, .pin, .part: if isMine || !message.traits.contains(.counts) { return }
      }
    case .marker(let marker):
      if !isMine || marker.kind != .displayed { return }
    case .perUser(let change):
      switch change.change {
      case .starred, .delivery: return
      case .hidden, .cleared: break
      }
      if session.unreadDialogs.count < AppLimits.unreadDialogsMax { session.unreadDialogs.insert(change.dialog) }
      return scheduleUnread(session)
    case .contact, .contactGroup, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings, .draft,
      .scheduledMessage, .call, .notification, .undelivered:
      return
    }
    if session.unreadDialogs.count < AppLimits.unreadDialogsMax { session.unreadDialogs.insert(entry.dialog) }
    scheduleUnread(session)
  }

  /// Schedules the numbers: soon after a first change, and ever later during further changes, as each message is an
  /// event itself.
  private func scheduleUnread(_ session: OpenSession) {
    guard session.unreadTimer == nil else { return }
    let now = NIODeadline.now()
    let isQuiet = session.unreadTold.map { now >= $0 + session.unreadDelay } ?? true
    session.unreadDelay =
      isQuiet ? AppLimits.unreadDelay : min(session.unreadDelay + session.unreadDelay, AppLimits.unreadDelayMax)
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    session.unreadTimer = channel.eventLoop.scheduleTask(in: session.unreadDelay) {
      guard let session = me.value.open else { return }
      session.unreadTimer = nil
      session.unreadTold = .now()
      me.value.readUnread(session)
    }
  }

  /// - Parameter owner: The owner of the read; `nil` if it follows from live events.
  private func readUnread(_ session: OpenSession, for owner: ReadOwner? = nil) {
    if session.unreadDialogs.isEmpty { return }
    // While the client does not read, or is behind, the numbers are useless.
    guard isWritable, session.follower.isCaughtUp else { return scheduleUnread(session) }
    let dialogs = Set(session.unreadDialogs.prefix(AppLimits.unreadPage))
    session.unreadDialogs.subtract(dialogs)
    if !session.unreadDialogs.isEmpty { scheduleUnread(session) }
    let user = session.caller.user.id
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    parley.fetch(
      for: owner ?? session.readOwner, on: session.handle.lane,
      { reader in
        var numbers: [(dialog: DialogID, unread: Int64, mentions: Int64)] = []
        for id in dialogs {
          if let dialog = try reader.dialog(id) {
            let mark = try reader.mark(user, in: id) ?? Mark(dialog: id, user: user)
            numbers.append((id, mark.unread(ordinal: dialog.ordinal), try reader.mentions(of: user, in: id)))
          } else if let room = try reader.room(id), let mark = try reader.mark(user, in: id) {
            // A user who left meanwhile has no mark.
            numbers.append((id, mark.unread(ordinal: room.ordinal), try reader.mentions(of: user, in: id)))
          }
        }
        return (
          numbers, totals: (unread: try reader.unread(of: user), mentions: try reader.mentions(of: user, in: nil))
        )
      }
    ) { result in
      guard let session = me.value.open, case .success(let (numbers, totals)) = result else { return }
      for (dialog, unread, mentions) in numbers {
        me.value.tell(
          .unreadUpdated,
          UnreadUpdatedBody(
            dialogId: session.rendering.id(dialog), unreadCount: unread, mentionCount: mentions,
            totalUnread: totals.unread, totalMentions: totals.mentions))
      }
      me.value.flush()
    }
  }
}
