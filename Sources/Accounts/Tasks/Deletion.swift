import Addresses
import Basics
public import Dialogs
import Logging
import Synchronization

extension Accounts {
  /// Begins to delete a user: after its commit no login is possible, all sessions and logins are ended, and the task
  /// exists. The name is never reused.
  ///
  /// - Parameters:
  ///   - erasing: whether all of their messages are retracted, for everyone; otherwise they remain.
  ///   - session: the requesting session, which the door ends after answering.
  ///   - onlyGuest: whether users who are no guests count as unknown.
  /// - Returns: the task, to be completed by `finish(_:)`.
  /// - Throws: `.missing` if there is no such user any more.
  public func beginDeletion(
    of id: UserID, erasing: Bool, except session: SessionID? = nil, onlyGuest: Bool = false
  ) async throws(Problem) -> AccountTask {
    let now = parley.clock.now
    let task: AccountTask = try await parley.work(behind: id) { writer in
      guard var user = try writer.user(id), user.state != .deleted, user.isGuest || !onlyGuest else {
        throw Problem(.missing, "user-unknown", "There is no such user.", field: "jid")
      }
      user.state = .disabled
      try writer.update(user)
      try Self.removeLogins(of: id, writer)
      try writer.removeLocation(of: id)
      // A begun task continues; a later request for more replaces it.
      for before in try writer.accountTasks(of: id) where before.state == .pending && before.kind != .export {
        if before.kind == .erasure || !erasing { return before }
        try writer.removeAccountTask(before.id)
      }
      return try writer.put(AccountTask(user: id, kind: erasing ? .erasure : .deletion, createdAt: now))
    }
    tokens.forget(user: id)
    parley.hub.close(id, .revoked) { $0.session.id != session }
    return task
  }

  /// Completes a task. Does nothing if it is running already, or done. Nothing is deleted of a user who is held: their
  /// task stays until the hold is removed.
  public func finish(_ task: AccountTask) async throws(Problem) {
    guard tasks.claim(task.id) else { return }
    defer { tasks.release(task.id) }
    // Read again after claiming.
    guard let task = try await parley.read({ try $0.accountTask(task.id) }), task.state == .pending else { return }
    switch task.kind {
    case .deletion, .erasure:
      let found = try await parley.read { reader in
        try reader.user(task.user).map { ($0, isHeld: try reader.isHeld($0.id)) }
      }
      guard let (user, isHeld) = found, !isHeld else { return }
      if user.state != .deleted {
        if task.kind == .erasure { try await takeBack(task, of: user) }
        guard try await delete(user, by: task) else { return }
      }
      parley.registries.pushes.forget(user.id)
      try await erase(by: task)
    case .export:
      await tasks.exports.take()
      defer { tasks.exports.giveBack() }
      try await gather(task)
    }
  }

  /// Completes a task without waiting. `resumeAccountTasks` tries a failed one again.
  public func finishInBackground(_ task: AccountTask) {
    // The request in which it begins is charged for its own reads alone.
    ReadOwner.$current.withValue(.user(task.user)) {
      Task {
        do throws(Problem) { try await finish(task) } catch {
          parley.logger.error(
            "a task of an account failed", metadata: ["task": "\(task.id)", "reason": "\(error.text)"])
        }
      }
    }
  }

  /// Returns whether the login of a token is recent (`AccountLimits.freshLogin`), and not only refreshed.
  public func isFresh(_ caller: Caller) async throws(Problem) -> Bool {
    let since = parley.clock.now
    return try await parley.read { reader in
      try reader.grants(of: caller.user.id).contains { grant in
        grant.id == caller.grant && since < grant.createdAt + AccountLimits.freshLogin
      }
    }
  }

  /// Continues the tasks of an earlier process, and returns their number. A failed one remains for the next time.
  @discardableResult
  public func resumeAccountTasks() async throws(Problem) -> Int {
    let pending = try await parley.read { try $0.pendingAccountTasks() }
    for task in pending {
      do throws(Problem) { try await finish(task) } catch {
        parley.logger.error(
          "a task of an account failed", metadata: ["task": "\(task.id)", "reason": "\(error.text)"])
      }
    }
    return pending.count
  }

  /// Deletes a user; all that is much of their data stays for `erase`. Returns whether that is next.
  private func delete(_ user: User, by task: AccountTask) async throws(Problem) -> Bool {
    try await leaveRooms(user)
    try await leaveRosters(user)
    try await endCalls(of: user)
    let now = parley.clock.now
    return try await parley.work(behind: user.id) { [self] writer in
      // An operator has enabled the account meanwhile, or put a hold on it.
      guard try writer.accountTask(task.id)?.state == .pending, var user = try writer.user(user.id),
        try !writer.isHeld(user.id)
      else { return false }
      user.state = .deleted
      user.profile = Profile()
      user.lastSeenAt = now
      try writer.update(user)
      // Exports contain all data.
      for other in try writer.accountTasks(of: user.id) where other.id != task.id {
        if let blob = try other.blob.flatMap({ try writer.blob($0, .server(.erasure)) }) {
          try writer.put(blob.over(at: now))
        }
        try writer.removeAccountTask(other.id)
      }
      try writer.eraseRecords(of: user.id)
      try note(.userDeleted, of: user.id, in: user.realm, writer)
      return true
    }
  }

  /// Erases the data of a deleted user, piece by piece. A piece waits for those of other users, so that a batch has one of them.
  private func erase(by task: AccountTask) async throws(Problem) {
    var place = ErasurePlace()
    while true {
      await tasks.pieces.take()
      defer { tasks.pieces.giveBack() }
      switch try await parley.post(.erase(task: task.id, at: place), by: Parley.nobody).value as? Erasure {
      case .next(let next): place = next
      case .done, .held: return
      case nil: throw Problem.storage
      }
    }
  }

  // MARK: Leaving

  /// Removes a deleted user from the rosters of others, who are told.
  func leaveRosters(_ user: User) async throws(Problem) {
    try await parley.post(.contactGroup(.leave(user.id)), by: Parley.nobody)
    let contacts = try await parley.read { try $0.ownContacts(of: user.id) }
    for contact in contacts {
      guard let peer = contact.peer, let other = try await parley.read({ try $0.party(peer) }) else { continue }
      do throws(Problem) {
        // It is the server's act: the other user may have stored as much as one may today.
        try await parley.post(.removeContact(user.address), by: other, isFromBackend: true)
      } catch  where error.kind == .missing {
        // The other user had no item.
      }
    }
  }

  /// Ends all memberships of a deleted user, also if the user may store nothing more today. A room whose only owner leaves
  /// gets a new one: the earliest admin, else the earliest member; an empty room is destroyed.
  func leaveRooms(_ user: User) async throws(Problem) {
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    for room in try await parley.read({ try $0.memberships(of: user.id).map(\.room) }) {
      do throws(Problem) { try await leave(room, party) } catch  where error == .roomDestroyed || error == .roomUnknown
      {
        // A temporary room has ended meanwhile, with the user's last session.
      }
    }
  }

  private func leave(_ room: RoomName, _ party: Party) async throws(Problem) {
    let leave = [MemberDraft(address: party.address, affiliation: Affiliation.none)]
    do throws(Problem) {
      try await parley.post(.room(.members(.dialog(room.dialog), leave)), by: party, isUncounted: true)
    } catch  where error == .lastOwner {
      let successor = try await parley.read { reader -> Member? in
        for among: Set<Affiliation> in [[.admin], [.member], [.watcher]] {
          let members = try reader.members(
            of: .server(room.dialog, .rules).only(among), after: nil, limit: Limits.membersMax)
          if let first = members.min(by: { $0.joinedAt < $1.joinedAt }) { return first }
        }
        return nil
      }
      if let successor {
        let hand = [MemberDraft(address: successor.party.address, affiliation: .owner)] + leave
        try await postSurely(.room(.members(.dialog(room.dialog), hand)), by: party)
      } else {
        try await parley.post(
          .room(.destroy(.dialog(room.dialog), reason: nil, alternate: nil)), by: party, isUncounted: true)
      }
    }
  }

  /// Ends the calls of a user who is being deleted.
  func endCalls(of user: User) async throws(Problem) {
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    for call in try await Calls(parley).open(of: party) {
      try await parley.post(.call(.move(call.id, .end(nil), resource: nil)), by: party, isUncounted: true)
    }
  }

  // MARK: Erasure

  /// Retracts all messages of the user, in the order of the log, in all dialogs.
  private func takeBack(_ task: AccountTask, of user: User) async throws(Problem) {
    var task = task
    let author = Party(id: user.id, realm: user.realm, address: user.address)
    while true {
      let after = task.reached
      let page = try await parley.read {
        try $0.authored(by: author.id, after: after, limit: AccountLimits.authoredLookedAtMax)
      }
      guard let reached = page.reached else { return }
      var rest = page.messages[...]
      while !rest.isEmpty {
        let piece = rest.prefix(AccountLimits.retractedAtOnce)
        rest = rest.dropFirst(piece.count)
        let outcomes = await withTaskGroup(of: Problem?.self) { group in
          for (position, dialog) in piece {
            group.addTask { [self] in
              do throws(Problem) {
                try await takeBack(position, in: dialog, by: author)
                return nil
              } catch { return error }
            }
          }
          var problems: [Problem] = []
          for await problem in group { if let problem { problems.append(problem) } }
          return problems
        }
        if let first = outcomes.first { throw first }
      }
      task.reached = reached
      let done = task
      let stands: Bool = try await parley.work(keepingCaches: true) { writer in
        guard try writer.accountTask(done.id)?.state == .pending else { return false }
        try writer.replace(done)
        return true
      }
      guard stands else { return }
    }
  }

  /// Posts a change that must reach everybody, also if its author may store nothing more today. A large room that refuses
  /// it as too fast gets it again after the time that the refusal names.
  private func postSurely(_ intent: Intent, by author: Party) async throws(Problem) {
    while true {
      let wait: Int
      do throws(Problem) {
        try await parley.post(intent, by: author, isUncounted: true)
        return
      } catch  where error.code == "deliveries-too-fast" {
        wait = error.retryAfter ?? 1
      }
      // A stop ends the wait, and the next start goes on with the task.
      guard (try? await Task.sleep(for: .seconds(wait))) != nil else { throw Problem.overloaded }
    }
  }

  /// Retracts a message as its author would: everyone is told. If the author could not (no longer a member, or blocked
  /// by the other), it is retracted in the store only, and is not found any more.
  package func takeBack(
    _ position: Position, in dialog: DialogID, by author: Party, reason: String? = nil
  ) async throws(Problem) {
    guard let found = try await parley.read({ try $0.entry(position, in: .server(dialog, .erasure)) }),
      case .message(let message) = found.fact
    else { return }
    if message.sequence == 0 {
      if case .reactions(let emoji) = message.reference?.kind, !emoji.isEmpty, let target = message.reference?.target {
        return try await takeBackReactions(to: target, in: dialog, by: author)
      }
      return
    }
    if found.state?.retraction != nil { return }
    if let intent = Self.change(.retraction(reason: reason), of: found) {
      do throws(Problem) {
        try await postSurely(intent, by: author)
        return
      } catch {
        if error.kind == .overloaded || error.kind == .internal { throw error }
      }
    }
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in
      guard let entry = try writer.entry(position, in: .server(dialog, .erasure)), entry.state?.retraction == nil else {
        return
      }
      try writer.releaseBlobs(of: position, by: author.id, ending: now)
      try writer.put(
        MessageState(
          version: position, revision: (entry.state?.revision ?? 0) + 1,
          retraction: MessageState.Retraction(by: author, at: now, id: nil, reason: reason, isModeration: false)),
        of: position, in: dialog)
    }
  }

  private func takeBackReactions(to target: Position, in dialog: DialogID, by author: Party) async throws(Problem) {
    guard let found = try await parley.read({ try $0.entry(target, in: .server(dialog, .erasure)) }),
      found.state?.reactions.contains(where: { $0.user == author }) == true
    else { return }
    if let intent = Self.change(.reactions([]), of: found, author: author) {
      do throws(Problem) {
        try await postSurely(intent, by: author)
        return
      } catch {
        if error.kind == .overloaded || error.kind == .internal { throw error }
      }
    }
    try await parley.work(keepingCaches: true) { writer in
      guard let entry = try writer.entry(target, in: .server(dialog, .erasure)), var state = entry.state else { return }
      state.reactions.removeAll { $0.user == author }
      state.revision += 1
      try writer.put(state, of: target, in: dialog)
    }
  }

  /// Returns the post of a change; `nil` for private messages of rooms, which require presence.
  private static func change(_ kind: Reference.Kind, of entry: Entry, author: Party? = nil) -> Intent? {
    let reference = ReferenceDraft(kind: kind, target: .entry(entry.id))
    let content = Content(kind: .none)
    switch entry.place {
    case .peer(let peer):
      // The other user's message was sent to the author.
      let other = author.map { $0 == entry.author ? peer : entry.author } ?? peer
      return .message(
        MessageDraft(
          to: other.address, content: content, envelope: Envelope(type: .chat),
          traits: [.archived, .fromApp, .replayed], key: nil, reference: reference))
    case .room(let room):
      return .room(
        .say(
          .dialog(room.dialog),
          RoomMessageDraft(
            content: content, envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp], key: nil,
            reference: reference)))
    case .whisper: return nil
    }
  }
}

extension Blob {
  func over(at time: Timestamp) -> Blob {
    var blob = self
    blob.expiresAt = time
    return blob
  }
}
