import Addresses
import Basics
import Dispatch
import Logging
import ServerMetrics

/// The single consumer of the inbox. Theory:
///
/// It takes all queued posts, or a share of those of an account or network that has posted many (`InboxQueue`), judges each against
/// cached dialog state, as long as its account and network have not used up their shares of the time (`TimeShares`), writes all entries in
/// one transaction, and only after the sync sends the effects: outcomes to authors, entries to sessions, one hop per lane. While
/// the disk syncs, the next batch collects: an idle server commits at once, a busy one batches by itself.
///
/// The only timer is for posts that can wait (`Parley.canWait`): those to remote users, which take longer anyway, and which
/// a busy link delivers one at a time. A commit of such posts alone starts no sooner than `Limits.commitPause` after the
/// last one with any. Other posts end the pause.
///
/// As the only writer it needs no locks: it assigns positions, and the order in which it takes posts is the order of the
/// log. A failing batch is rolled back, all caches are dropped, and it is tried again in halves, so that one bad post does
/// not fail others; a post that fails alone is refused with `storage-failed`.
final class Committer: Sendable {
  private let thread: CommitterThread

  init(inbox: Inbox, commitLoop: CommitLoop) {
    thread = CommitterThread(name: "committer") { completely in
      while true {
        let pauseEnd = completely ? nil : commitLoop.pauseEnd
        let (batch, hasPatient) = inbox.take(pausing: pauseEnd != nil)
        if batch.isEmpty { return pauseEnd }
        if hasPatient { commitLoop.startPause() }
        commitLoop.commit(batch[...])
      }
    }
  }

  deinit { thread.end() }

  /// Wakes the committer; called once per change from idle to busy.
  func wake() { thread.wake() }

  /// Returns when all queued posts have been committed and their effects sent.
  func drain() async {
    await withCheckedContinuation { done in
      thread.afterwards { done.resume() }
    }
  }
}

/// The state of the committer. Confined to the committer's thread.
final class CommitLoop: @unchecked Sendable {  // its only caller is the closure of the one `CommitterThread`
  private let store: any Store
  private let hub: Hub
  private let registries: Parley.Registries
  private let clock: any Clock
  private let logger: Logger
  private let inbox: Inbox
  private let realms: RealmTable
  private var judge: Judge
  private var audiences = Audiences()
  private var pause = DispatchTime(uptimeNanoseconds: 0)
  /// Whether an effect of the next settled post is for a room or for contacts.
  private var isSpread = false
  /// The number of people who may get node events of the next settled post (`Hub.route`).
  private var nodeAudience = (contacts: 0, subscribers: 0)

  init(
    store: any Store, hub: Hub, registries: Parley.Registries, clock: any Clock, realms: RealmTable,
    options: Parley.Options, inbox: Inbox, logger: Logger
  ) throws {
    self.store = store
    self.hub = hub
    self.registries = registries
    self.clock = clock
    self.logger = logger
    self.inbox = inbox
    self.realms = realms
    let head = try store.read { try $0.head() }
    judge = Judge(
      realms: realms, hub: hub, registries: registries, options: options, head: head.position, time: head.time)
  }

  /// The end of the pause; `nil` if there is none now.
  var pauseEnd: DispatchTime? { DispatchTime.now() < pause ? pause : nil }

  func startPause() { pause = .now() + .nanoseconds(Limits.commitPauseNanoseconds) }

  func commit(_ batch: ArraySlice<Post>) {
    var failures = 0
    var shares = TimeShares(of: batch, inbox.places)
    commit(batch, &failures, &shares)
    if shares.left.isEmpty { return }
    let (left, served) = shares.ended()
    let judged = shares.isOver ? batch.count - left.count : nil
    inbox.putBack(left, judged: judged, hasHadTurn: { served.contains($0) })
  }

  /// Commits a batch, or a part of one that has failed. `failures` counts posts that failed alone in it: if the engine itself
  /// fails (disk full), the other posts are refused without trying each.
  private func commit(_ batch: ArraySlice<Post>, _ failures: inout Int, _ shares: inout TimeShares) {
    // The former half may have used up shares.
    let batch = shares.taking(batch)
    if batch.isEmpty { return }
    if failures >= 8 { return refuse(batch, Problem.storage) }
    let before = judge.mark
    let sharesBefore = shares
    let now = clock.now
    let start = ContinuousClock.now
    let began = BatchTrace.beginning(registries.traces)
    do {
      try store.write(synced: batch.contains(where: \.isSynced)) { writer in
        judge.begin(writer, now: now)
        for post in batch {
          if shares.leaves(post) { continue }
          // The stanza does not count as handled, so the client sends it again when it resumes its stream after the restart.
          if inbox.refuses(post) {
            judge.refuse(post, .overloaded)
            continue
          }
          let taken = judge.judgingTime.total
          try judge.judge(post)
          shares.count(judge.judgingTime.total - taken + timeOfEnd(by: post), of: post)
        }
        try judge.finish()
      }
    } catch {
      judge.rollBack(to: before)
      shares = sharesBefore
      if batch.count > 1 {
        let middle = batch.startIndex + batch.count / 2
        commit(batch[batch.startIndex..<middle], &failures, &shares)
        commit(batch[middle...], &failures, &shares)
        return
      }
      switch error {
      case let failed as WorkFailed: refuse(batch, failed.problem)
      default:
        failures += 1
        logger.error("a post could not be stored", metadata: ["error": "\(error)"])
        refuse(batch, Problem.storage)
      }
      return
    }
    registries.metrics.commitSeconds.observe(since: start)
    let left = shares.left[sharesBefore.left.count...]
    registries.metrics.commitPosts.observe(batch.count - left.count)
    let effects = judge.take()
    let trace = BatchTrace(batch, without: left, began: began, effects)
    tell(effects)
    trace?.told()
    registries.hooks.wake()
  }

  /// Returns the time that the audiences take to remove the session that a post ends; it was charged when the session began.
  private func timeOfEnd(by post: Post) -> Duration {
    guard case .room(.vacate(let session, isLost: _)) = post.intent else { return .zero }
    return Limits.lookTime * (Limits.looksPerPlace * audiences.roomCount(of: session))
  }

  private func refuse(_ batch: ArraySlice<Post>, _ problem: Problem) {
    tell(batch.map { .settled($0, .failure(problem)) })
    for post in batch { post.trace?.end(with: problem) }
  }

  /// Sends the effects of a commit, in the order of the log. Deliveries to sessions precede outcomes, so that a caller that
  /// waits for a post finds its deliveries sent.
  private func tell(_ effects: [Effect]) {
    var lanes = LaneBatch(registries.fanOutLoad)
    var waiting: [() -> Void] = []
    var isTaken = true
    var arePushRoomsChanged = false
    // The further entries of the next settled post, if it is a message with several files.
    var parts = 0
    // Whether it shows everybody in a room another nick.
    var isRename = false
    isSpread = false
    nodeAudience = (0, 0)
    for (index, item) in effects.enumerated() {
      switch item {
      case .settled(let post, var result):
        lanes.postEnded()
        if case .failure = result, case .room(let intent) = post.intent, intent.isPieceOfEnd {
          registries.failedRoomEnds.note()
        }
        if let charge = post.charge {
          if result.toldNobody(of: post.intent, isSpread: isSpread) {
            charge.giveBack(now: clock.now)
          } else {
            // A message with several files was charged as one, and a change of nick, which is two presences, as one of these, unless it
            // came as an entrance.
            if isRename, case .room(.enter(_, let entering)) = post.intent, !entering.isJoin { parts += 1 }
            charge.add(parts, now: clock.now)
          }
        }
        let ofNodes = takeNodeDeliveries(of: post)
        (parts, isRename, isSpread) = (0, false, false)
        if case .success = result, ofNodes > 0 { chargeNodeDeliveries(ofNodes, of: post) }
        if case .success(let receipt) = result, receipt.deliveries > 0 {
          registries.sending.budget(ofAuthor: post.author, from: post.peer, in: realms, now: clock.now)
            .owe(deliveries: receipt.deliveries, now: clock.now)
          if let room = receipt.chargedRoom {
            registries.sending.budget(of: SendingAccount.room(room), now: clock.now)
              .owe(deliveries: receipt.deliveries, now: clock.now)
          }
        }
        if case .signal = post.intent, !isTaken, case .success(var receipt) = result {
          receipt.isRepeat = true
          result = .success(receipt)
        }
        switch post.completion {
        case .none: break
        case .session(let session, let token): lanes.add(.outcome(token: token, result), to: session)
        case .callback(let body): waiting.append { body(result) }
        }
      case .entry(let entry, let author):
        if case .message(let message) = entry.fact, message.traits.contains(.part) { parts += 1 }
        if entry.room != nil {
          isSpread = true
          lanes.effects = effects[index...]
        }
        announce(entry, except: author, into: &lanes)
      case .arrived(let onlineSession, let contactSnapshot):
        // The groups with the changes of earlier posts.
        let shared = hub.contactGroups.groups(of: onlineSession.session.party.id)
        if let replaced = hub.register(onlineSession, contactSnapshot: contactSnapshot?.seeing(shared)) {
          lanes.add(.signal(.closed(.replaced), .direct), to: replaced)
        }
      case .handedOver(let old, let new):
        hub.replace(old, with: new)
        lanes.add(.handedOver, to: old)
      case .signal(.shown(let presence, let addresses), _, _, _):
        // Earlier entries are sent first.
        lanes.send()
        lanes = LaneBatch(registries.fanOutLoad)
        for address in addresses { isTaken = hub.present(presence, to: address) }
      case .signal(let signal, let session, let party, let target):
        isTaken = hub.route(signal, from: session, party: party, to: target, into: &lanes)
      case .profile(let party, let profile, let session, let contactSnapshot):
        isSpread = true
        hub.tellSubscribers(
          .profile(party, profile), from: session, of: party, contactSnapshot: contactSnapshot, into: &lanes)
      case .contactSnapshot(let user, let item, let change):
        hub.setContactSnapshot(user, item: item, change)
      case .contactGroup(let before, let after, let version): hub.replace(before, by: after, version: version)
      case .contactNamed(let party, let groups, let version):
        hub.rename(party, in: groups, version: version, into: &lanes)
      case .contactGroupPresences(let change, let cause):
        lanes.send()
        lanes = LaneBatch(registries.fanOutLoad)
        hub.showPresences(change, by: cause, time: judge.time)
      case .presence(let user, let viewer, let available):
        // Presences are sent after the entries that caused them.
        lanes.send()
        lanes = LaneBatch(registries.fanOutLoad)
        hub.showPresence(of: user, to: viewer, available: available, time: judge.time)
      case .room(let effect):
        lanes.effects = effects[index...]
        if case .occupant(let presence, except: _) = effect, presence.newNick != nil { isRename = true }
        tell(effect, into: &lanes)
      case .node(let event, let contactSnapshot):
        if event.isForContacts { isSpread = true }
        let (contacts, subscribers) = hub.route(event, contactSnapshot: contactSnapshot, into: &lanes)
        nodeAudience.contacts += contacts
        nodeAudience.subscribers += subscribers
      case .followed(let memberships, let session):
        for each in memberships { audiences.follow(each.room, by: session, seesAddresses: each.seesAddresses) }
      case .vacated(let session): audiences.forget(session)
      case .typingOverdue: for record in hub.typing.takeOverdue(clock.now) { end(record, into: &lanes) }
      case .later(let post): inbox.appendSurely(post)
      case .rest(let post):
        // Ends the effects of the post, which has no outcome.
        lanes.postEnded()
        let ofNodes = takeNodeDeliveries(of: post)
        (parts, isRename, isSpread) = (0, false, false)
        if ofNodes > 0 { chargeNodeDeliveries(ofNodes, of: post) }
        inbox.putBack([post])
      case .pushing(let user, let asked, let rooms):
        registries.pushes.set(user, asked, rooms)
        arePushRoomsChanged = true
      case .alerts(let user, let room, let alerts):
        registries.pushes.set(user, in: room, alerts)
        arePushRoomsChanged = true
      case .owed(let user): registries.pushes.wake(for: user)
      case .calls: registries.calls.wake()
      case .reports: registries.reports.wake()
      case .outbox(let pair, let row):
        if let link = hub.federation?.link(pair) { lanes.add(.owed(row), to: link) }
      case .closed(let user, let reason): hub.close(user, reason, into: &lanes)
      }
    }
    if arePushRoomsChanged { registries.pushes.batchEnded() }
    for (session, user, count) in judge.rooms.takeRoomCounts() { hub.setRoomCount(count, of: session, by: user) }
    lanes.send()
    for body in waiting { body() }
  }

  /// Returns the deliveries of a post's node events for which its author is charged now: those to explicit subscribers, whose number is
  /// not known earlier, and those to the owner's contacts if `Parley.submit` has not charged them, as for a visit, or for an owner
  /// without a session. A user who adds people to a room changes their bookmarks, but is not charged for their contacts.
  private func takeNodeDeliveries(of post: Post) -> Int {
    defer { nodeAudience = (0, 0) }
    if post.isFromBackend { return 0 }
    return nodeAudience.subscribers + (post.intent.isOfNodes && post.charge == nil ? nodeAudience.contacts : 0)
  }

  /// Charges the account that caused the deliveries; the component, if it acts in a user's name, as with deliveries to contacts.
  private func chargeNodeDeliveries(_ count: Int, of post: Post) {
    let now = clock.now
    let component = post.component.flatMap { realms.realm($0) }
    let budget =
      if let component {
        registries.sending.budget(of: SendingAccount.component(component.domain), now: now)
      } else {
        registries.sending.budget(ofAuthor: post.author, from: post.peer, in: realms, now: now)
      }
    budget.owe(deliveries: count, now: now)
  }

  private func announce(_ entry: Entry, except author: SessionID?, into lanes: inout LaneBatch) {
    switch entry.fact {
    case .message(let message):
      registries.metrics.messages.add(
        message.traits.contains(.fromApp) ? .app : entry.author.realm.isRemote ? .remote : .xmpp)
      if !hub.typing.isEmpty, message.reference?.changes != true {
        hub.typing.end(by: entry.author.address, at: entry.peer.map { .user($0.address) } ?? .room(entry.dialog))
      }
      guard let peer = entry.peer else { return echo(entry, into: &lanes) }
      spread(entry, message, to: peer, kind: .conversation, except: author, into: &lanes)
    case .marker(let marker):
      guard let peer = entry.peer else { return mark(entry, marker, into: &lanes) }
      let shown = marker.told ? sessions(of: peer, seenFrom: entry.author) : []
      if let stanza = marker.stanza, marker.told {
        spread(entry, stanza, to: peer, kind: .conversation, except: author, into: &lanes)
        return
      }
      for onlineSession in shown where peer.id != entry.author.id {
        switch onlineSession.door {
        case .app: lanes.add(.entry(entry, .feed), to: onlineSession.session)
        case .xmpp:
          if marker.asked, onlineSession.isAvailable { lanes.add(.entry(entry, .direct), to: onlineSession.session) }
        case .remote:
          if marker.asked { lanes.add(.entry(entry, .direct), to: onlineSession.session) }
        }
      }
      for onlineSession in hub.onlineSessions(of: entry.author.id) {
        switch onlineSession.door {
        case .app: lanes.add(.entry(entry, .feed), to: onlineSession.session)
        case .xmpp:
          if marker.asked, onlineSession.carbons, onlineSession.session.id != author {
            lanes.add(.entry(entry, .carbonSent), to: onlineSession.session)
          }
        case .remote: break
        }
      }
    case .contact, .blocks, .profile:
      for onlineSession in hub.onlineSessions(of: entry.author.id) {
        lanes.add(.entry(entry, onlineSession.door == .app ? .feed : .direct), to: onlineSession.session)
      }
      guard case .contact = entry.fact else { break }
      for link in hub.links(of: entry.author.realm, where: \.isToldOfRosters) {
        lanes.add(.entry(entry, .direct), to: link)
      }
    case .contactGroup(let change):
      for party in change.members {
        for onlineSession in hub.onlineSessions(of: party.id) {
          lanes.add(.entry(entry, onlineSession.door == .app ? .feed : .direct), to: onlineSession.session)
        }
      }
    case .dialogOpened:
      for user in Set([entry.author.id, entry.peer?.id ?? entry.author.id])
      where user == entry.author.id || hub.isHeard(entry.author, by: user) {
        for onlineSession in hub.onlineSessions(of: user) where onlineSession.door == .app {
          lanes.add(.entry(entry, .feed), to: onlineSession.session)
        }
      }
    case .room(let change):
      // Occupants of a room that ends, of whom some may still be present, are notified only by their own presence (XEP-0045 10.9).
      var isEnd = false
      if case .destroyed = change.change { isEnd = true }
      echo(entry, toOccupants: !isEnd, into: &lanes)
    case .invitation(let invitation):
      for onlineSession in hub.onlineSessions(of: entry.author.id) {
        switch onlineSession.door {
        case .app: lanes.add(.entry(entry, entry.isSemiAnonymous ? .feedAnonymized : .feed), to: onlineSession.session)
        case .xmpp:
          if onlineSession.isAvailable, invitation.isFor(onlineSession.interests) {
            lanes.add(.entry(entry, .direct), to: onlineSession.session)
          }
        case .remote: break
        }
      }
    case .call(let change):
      guard let peer = entry.peer else { break }
      if let message = change.message {
        spread(entry, message, to: peer, kind: .conversation, except: author, into: &lanes)
      } else {
        for onlineSession in hub.onlineSessions(of: peer.id) + hub.onlineSessions(of: entry.author.id)
        where onlineSession.door == .app {
          lanes.add(.entry(entry, .feed), to: onlineSession.session)
        }
      }
    // Interested clients get an event (`Effect.node`).
    case .node: break
    // Only pushes.
    case .notification: break
    case .undelivered(let undelivered):
      Routing.recipients(
        hub.onlineSessions(of: entry.author.id), resource: undelivered.fromResource, kind: .conversation, copies: true,
        except: nil
      ) { session, form in lanes.add(.entry(entry, form), to: session) }
    case .settings, .perUser, .draft, .scheduledMessage:
      for onlineSession in hub.onlineSessions(of: entry.author.id) where onlineSession.door == .app {
        lanes.add(.entry(entry, .feed), to: onlineSession.session)
      }
    }
  }

  /// Returns the sessions that get an entry for a user; none for a remote user, who gets a row of the outbox.
  private func sessions(of peer: Party, seenFrom author: Party) -> [OnlineSession] {
    realms.isElsewhere(peer) ? [] : hub.onlineSessions(of: peer, seenFrom: author)
  }

  // MARK: Rooms

  /// Delivers one entry to all followers of a room, and to all occupants.
  private func echo(_ entry: Entry, toOccupants: Bool = true, into lanes: inout LaneBatch) {
    guard let audience = audiences.audience(of: entry.dialog) else {
      return registries.audienceSizes.forget(entry.dialog)
    }
    if let room = entry.room { registries.audienceSizes.note(audience.count, in: room) }
    if toOccupants {
      lanes.spread(entry.dialog, to: audience.occupants, of: audience.count) { _ in .entry(entry, .room) }
    }
    lanes.spread(entry.dialog, to: audience.followers, of: audience.count) { recipient in
      .entry(entry, recipient.feed(isSemiAnonymous: entry.isSemiAnonymous))
    }
  }

  /// Delivers a marker: in small rooms to everyone; in larger ones only to the reader's sessions and those of the
  /// marked message's author (`marker.told`).
  private func mark(_ entry: Entry, _ marker: Marker, into lanes: inout LaneBatch) {
    if marker.told { return echo(entry, into: &lanes) }
    for onlineSession in hub.onlineSessions(of: entry.author.id) where onlineSession.door == .app {
      lanes.add(.entry(entry, .feed), to: onlineSession.session)
    }
  }

  /// Relays a stanza to the app sessions of a room's members.
  private func overhear(
    _ stanza: RelayedStanza, in room: DialogID, isSemiAnonymous: Bool, into lanes: inout LaneBatch
  ) {
    guard let audience = audiences.audience(of: room) else { return }
    lanes.spread(room, to: audience.followers, of: audience.count) { recipient in
      recipient.user == stanza.from.id
        ? nil : .signal(.stanza(stanza), recipient.feed(isSemiAnonymous: isSemiAnonymous))
    }
  }

  /// Relays a stanza to the occupants of a room.
  private func relay(_ stanza: RelayedStanza, in room: DialogID, into lanes: inout LaneBatch) {
    guard let audience = audiences.audience(of: room) else { return }
    lanes.spread(room, to: audience.occupants, of: audience.count) { _ in .signal(.stanza(stanza), .room) }
  }

  /// Notifies the end of typing to those who were notified of its beginning by the core (`Typing`).
  private func end(_ record: Typing.Record, into lanes: inout LaneBatch) {
    guard case .room(let room) = record.place else { return hub.end(record, into: &lanes) }
    let ended = record.ended
    if record.isOfApp { relay(ended, in: room, into: &lanes) }
    overhear(ended, in: room, isSemiAnonymous: record.isSemiAnonymous, into: &lanes)
  }

  private func tell(_ effects: RoomEffect, into lanes: inout LaneBatch) {
    switch effects {
    case .sessionEntered(let session, let isModerator, let room):
      audiences.addOccupant(session, isModerator: isModerator, in: room)
    case .sessionLeft(let session, let room):
      guard let party = audiences.unseat(session, in: room) else { return }
      if (audiences.audience(of: room)?.count ?? 0) < Limits.fanOutMin { registries.audienceSizes.forget(room) }
      for record in hub.typing.take(of: party.address, in: room) { end(record, into: &lanes) }
    case .sessionMoved(let old, let session, let room): audiences.replace(from: old, to: session, in: room)
    case .moderates(let isModerator, let user, let room):
      audiences.setModerator(isModerator, user: user, in: room)
    case .unfollowed(let user, let room): audiences.unfollow(room, by: user)
    case .seesAddresses(let seesAddresses, let user, let room):
      audiences.setSeesAddresses(seesAddresses, user: user, in: room)
    case .closed(let room):
      audiences.close(room)
      registries.audienceSizes.forget(room)
      registries.pushes.forget(room)
    case .occupant(let presence, let except):
      guard let audience = audiences.audience(of: presence.room.dialog) else {
        return registries.audienceSizes.forget(presence.room.dialog)
      }
      registries.audienceSizes.note(audience.count, in: presence.room)
      lanes.spread(presence.room.dialog, to: audience.occupants, of: audience.count) { recipient in
        if recipient.session.id == except { return nil }
        let form: Form =
          recipient.user == presence.party.id
          ? .roomOwn : presence.showsAddress || recipient.seesAddresses ? .roomOpen : .room
        return .signal(.occupant(presence), form)
      }
    case .shown(let presence, let sessions, let own):
      // The end of a room shows each occupant their own presence.
      let room = presence.room.dialog
      lanes.spread(.room(room), to: audiences.audience(of: room)?.count ?? 0) { lanes in
        for session in sessions {
          lanes.add(
            .signal(.occupant(presence), own ? .roomOwn : presence.showsAddress ? .roomOpen : .room), to: session)
        }
      }
    case .notice(let notice, let showsAddresses, let moderatorsOnly):
      guard let audience = audiences.audience(of: notice.room.dialog) else { return }
      lanes.spread(notice.room.dialog, to: audience.occupants, of: audience.count) { recipient in
        if moderatorsOnly, !recipient.seesAddresses { return nil }
        // Recipients who may see addresses see them here too.
        return .signal(.notice(notice), recipient.seesAddresses || showsAddresses ? .roomOpen : .room)
      }
    case .told(let notice, let sessions):
      for session in sessions { lanes.add(.signal(.notice(notice), .room), to: session) }
    case .signal(let stanza, let room, let isSemiAnonymous):
      spread(stanza, in: room, isSemiAnonymous: isSemiAnonymous, into: &lanes)
    case .passed(let stanza, let sessions):
      for session in sessions { lanes.add(.signal(.stanza(stanza), .room), to: session) }
    case .whispered(let entry, let sessions, let copies):
      for session in sessions { lanes.add(.entry(entry, .direct), to: session) }
      guard !copies.isEmpty else { return }
      let carbons = Set(hub.onlineSessions(of: entry.author.id).lazy.filter(\.carbons).map(\.session.id))
      for session in copies where carbons.contains(session.id) { lanes.add(.entry(entry, .carbonSent), to: session) }
    }
  }

  /// Delivers a stanza that is not stored to the occupants of a room, and typing to those who have not been shown it yet.
  private func spread(
    _ stanza: RelayedStanza, in room: DialogID, isSemiAnonymous: Bool, into lanes: inout LaneBatch
  ) {
    guard let audience = audiences.audience(of: room) else { return registries.audienceSizes.forget(room) }
    var heard = Typing.Audience.everyone
    // Only followers want an XMPP client's typing.
    if let isTyping = stanza.typing, stanza.isTypingOfApp || audience.followers.count > 0 {
      heard = hub.typing.note(
        stanza, isTyping, at: .room(room), isSemiAnonymous: isSemiAnonymous, now: clock.now)
    }
    if heard != .no { isSpread = true }
    if heard == .everyone || heard == .clients { relay(stanza, in: room, into: &lanes) }
    if heard == .everyone || heard == .apps {
      overhear(stanza, in: room, isSemiAnonymous: isSemiAnonymous, into: &lanes)
    }
  }

  private func spread(
    _ entry: Entry, _ message: Message, to peer: Party, kind: Routing.Kind, except author: SessionID?,
    into lanes: inout LaneBatch
  ) {
    let copies = !message.traits.contains(.uncopied)
    let toSelf = entry.author.id == peer.id
    Routing.recipients(
      sessions(of: peer, seenFrom: entry.author), resource: message.envelope.toResource, kind: kind,
      copies: copies && !toSelf, except: author
    ) { session, form in lanes.add(.entry(entry, form), to: session) }
    if !toSelf {
      Routing.copies(hub.onlineSessions(of: entry.author.id), copies: copies, except: author) { session, form in
        lanes.add(.entry(entry, form), to: session)
      }
    } else if let author {
      // An app session gets its own message as an event, like all others.
      for onlineSession in hub.onlineSessions(of: entry.author.id)
      where onlineSession.door == .app && onlineSession.session.id == author {
        lanes.add(.entry(entry, .feed), to: onlineSession.session)
      }
    }
  }
}

extension Result<Receipt, Problem> {
  /// Returns whether the post has deliveries only to its author: it was refused, or changed nothing that others see, such as a
  /// repeated message, or the end of typing that was never shown.
  ///
  /// - Parameter isSpread: Whether an effect of it is for a room or for contacts.
  fileprivate func toldNobody(of intent: Intent, isSpread: Bool) -> Bool {
    guard case .success = self else { return true }
    // Other changes in a room refund the charge elsewhere.
    return intent.refundsIfUnspread && !isSpread
  }
}

extension Intent {
  /// Whether it changes a node or a profile: its author is charged for the notifications of the contacts of its owner.
  fileprivate var isOfNodes: Bool {
    switch self {
    case .node, .visit, .profile: true
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block,
      .report, .unblock, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call, .room,
      .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal, .confirm, .leave,
      .endTyping, .imported, .refused, .erase, .work:
      false
    }
  }

  /// Whether its charge is given back where nothing of it was for a room or for contacts (`Result.toldNobody`).
  fileprivate var refundsIfUnspread: Bool {
    switch self {
    case .room(.say), .room(.signal), .room(.marker), .node, .profile: true
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block,
      .report, .unblock, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call, .room,
      .visit, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal, .confirm,
      .leave, .endTyping, .imported, .refused, .erase, .work:
      false
    }
  }
}

/// An effect of a committed batch, to be applied in order. A batch has thousands, nearly all of the first two cases; cases that would
/// take more bytes than these keep their values in an object.
enum Effect {
  case settled(Post, Result<Receipt, Problem>)
  case entry(Entry, author: SessionID?)
  indirect case arrived(OnlineSession, ContactSnapshot?)
  case handedOver(from: any LiveSession, to: any LiveSession)
  case signal(Signal, SessionID?, Party, SignalTarget)
  /// A changed profile. `contactSnapshot` is its owner's, if they were not online.
  indirect case profile(Party, Profile, by: SessionID?, ContactSnapshot?)
  /// A change of a user's contacts and settings, if they are online; `item` is the roster item that it sets or removes.
  case contactSnapshot(UserID, item: BareJID? = nil, @Sendable (ContactSnapshot) -> ContactSnapshot)
  case presence(of: UserID, to: BareJID, available: Bool)
  /// A changed contact group, before and after (`nil` if it was deleted), and the new version of its members' rosters.
  case contactGroup(SharedContacts, SharedContacts?, Position)
  /// A user with another name, their contact groups with it, and the new version of the rosters that show it.
  case contactNamed(Party, [SharedContacts], Position)
  /// The presences of those who joined or left a contact group, and of its other members.
  case contactGroupPresences(ContactGroupChange, by: ContactGroupCause)
  case closed(UserID, CloseReason)
  /// A further post, queued behind those that others have posted by now. It is lost if the process ends, so nothing may
  /// depend on it.
  case later(Post)
  /// The next piece of a post that is done in pieces, queued before later posts of its author. It is lost if the process ends,
  /// and the outcome with it.
  case rest(Post)
  /// The push settings of the user's registrations; `rooms` are `nil` if the registry knows them.
  case pushing(UserID, PushRegistry.Asked, rooms: [DialogID: PushRegistry.Preference]?)
  /// The user's push preference for a room, by their membership or settings.
  case alerts(UserID, DialogID, PushRegistry.Preference)
  /// The user has pending pushes.
  case owed(UserID)
  /// A call has a new time at which it ends.
  case calls
  /// A report waits to be forwarded.
  case reports
  /// A row of the outbox waits for another server.
  case outbox(DomainPair, OutboxRow)
  case room(RoomEffect)
  /// A node's event. `contactSnapshot` is the owner's, if they were not online.
  case node(NodeEvent, ContactSnapshot?)
  /// An app session follows rooms of which its user is a member.
  case followed([RoomCache.Membership], any LiveSession)
  /// The end of a session.
  case vacated(SessionID)
  /// The time of a typing indicator may be over.
  case typingOverdue
}

/// A batch's change of a room's audience, or a delivery to it.
enum RoomEffect {
  case sessionEntered(any LiveSession, isModerator: Bool, DialogID)
  case sessionLeft(SessionID, DialogID)
  case sessionMoved(SessionID, any LiveSession, DialogID)
  case moderates(Bool, UserID, DialogID)
  case unfollowed(UserID, DialogID)
  /// Whether a member's app sessions see addresses.
  case seesAddresses(Bool, UserID, DialogID)
  case closed(DialogID)
  /// A presence for everyone in the room, including the occupant's own sessions.
  case occupant(OccupantPresence, except: SessionID?)
  /// A presence for some sessions; `own` if they are the occupant's.
  case shown(OccupantPresence, to: [any LiveSession], own: Bool)
  case notice(RoomNotice, showsAddresses: Bool, moderatorsOnly: Bool)
  case told(RoomNotice, to: [any LiveSession])
  /// A stanza for everyone in the room, and for app sessions that follow it.
  case signal(RelayedStanza, DialogID, isSemiAnonymous: Bool)
  case passed(RelayedStanza, to: [any LiveSession])
  /// A private message for the sessions of one occupant, with copies for those of the author.
  case whispered(Entry, to: [any LiveSession], copies: [any LiveSession])
}
