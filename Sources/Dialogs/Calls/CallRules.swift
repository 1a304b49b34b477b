import Addresses
import Basics

// The rules of calls. Theory:
//
// A call is a row, and each change an entry in the dialog of the two users: apps are sent the call, XMPP clients the
// corresponding message of XEP-0353. For an XMPP client's move that is the client's own stanza; for an app's, the door
// writes one. Only the committer changes the row, so of two devices that answer the first wins.
//
// When a call ends, a message about it, with the caller as author, is inserted in the same commit. That commit also
// inserts the pending push of the end for devices that were woken for the call.
extension Judge {
  mutating func call(_ post: Post, _ intent: CallIntent) throws {
    switch intent {
    case .start(let draft): try start(post, draft)
    case .move(let id, let move, let resource): try self.move(post, id, move, resource)
    case .signal(let id, let body, let resource):
      try signal(post, own(id, post.author), body, from: resource, isApp: true)
    case .negotiation(let negotiation): try negotiate(post, negotiation)
    case .said(let stanza): try said(post, stanza)
    case .expire(let id): try expire(post, id)
    }
  }

  // MARK: Calling

  private mutating func start(_ post: Post, _ draft: CallDraft) throws {
    let author = post.author
    let peer = try reachable(draft.to, for: author)
    if peer.id == author.id {
      throw Problem(.malformed, "call-oneself", "Nobody calls themself.", field: "userId")
    }
    try checkBlocks(author, resource: draft.resource, peer)
    // A repeated call gets its first answer, whatever has changed since.
    if let dialog = try writer.dialog(between: min(author.id, peer.id), and: max(author.id, peer.id)),
      var receipt = try repeated(draft.key, by: author, in: dialog.id)
    {
      guard let call = try receipt.entry.flatMap({ try writer.call($0.position) }) else { throw Problem.clientIDReused }
      receipt.value = call
      return settle(post, receipt)
    }
    let callParty = Call.CallParty(author, resource: draft.resource, isApp: true)
    let call = try ring(
      post, callParty, peer, name: nil, draft.kind,
      Message(
        sequence: 0, content: Content(kind: .none),
        envelope: Envelope(type: .chat, fromResource: draft.resource, id: draft.key.id),
        traits: [.archived, .rings, .fromApp]),
      key: draft.key)
    var receipt = Receipt(position: head)
    receipt.value = call
    settle(post, receipt)
  }

  /// Rings, or ends at once.
  ///
  /// - Parameter name: the name by XMPP; `nil` for a call from an app, which is named by its id.
  private mutating func ring(
    _ post: Post, _ callParty: Call.CallParty, _ peer: Party, name: String?, _ kind: Call.Kind, _ message: Message,
    key: RepeatKey?
  ) throws -> Call {
    try checkMayCall(callParty.party, peer)
    try checkStranger(callParty.party, peer.address)
    try checkPace(of: callParty.party)
    try checkOutbox(from: callParty.party, to: peer)
    try checkStores(by: callParty.party, post)
    let open = try writer.openCalls(of: peer.id, limit: Limits.callsOpenMax)
    let opening = CallOpening.of(
      name: name, isApp: callParty.isApp, caller: callParty.party.id, callee: peer.id, among: open
    ) { isConnected($0) }
    if case .answersOther = opening {
      throw Problem(.conflict, "call-crossed", "They are calling you: answer that call.")
    }
    // From here on the call is accepted: users and dialogs without a number get one.
    var callParty = callParty
    if callParty.party.id.number < 0 {
      callParty = Call.CallParty(
        try known(callParty.party), resource: callParty.resource, isApp: callParty.isApp)
    }
    let callee = Call.CallParty(try known(peer, metBy: callParty.party), resource: nil, isApp: false)
    let (state, _) = try dialog(of: callParty.party, and: callee.party)
    if case .instead(let old, let reason) = opening {
      // The callee would have two calls, and ends the first; if both called at once, the caller of the old call ends
      // it.
      let by = reason == .crossed ? old.caller.party.id : callee.party.id
      if let next = try old.after(.end(reason), by: by, resource: nil, isApp: true, at: time) {
        try record(next, from: old, by: by, message: old.hasApp, successor: name, post)
      }
    }
    let position = nextPosition()
    let call = Call(
      id: position, dialog: state.dialog.id,
      name: name ?? realms.entryID(position, in: callParty.party.realm).description, kind: kind, caller: callParty,
      callee: callee,
      rangAt: time, due: time + callRinging)
    guard case .ends(let reason) = opening,
      let next = try call.after(.end(reason), by: callee.party.id, resource: nil, isApp: true, at: time)
    else {
      try insert(
        CallChange(act: .ring, call: call, message: message), at: position, by: callParty.party, to: callee.party,
        key: key,
        post)
      return call
    }
    // The call does not ring; a calling XMPP client gets an answer.
    try insert(
      CallChange(act: .ring, call: next.call, message: callParty.isApp ? nil : message), at: position,
      by: callParty.party,
      to: callee.party, key: key, post)
    if !callParty.isApp {
      try insert(
        CallChange(act: next.act, call: next.call, message: answer(next.act, from: call, by: callee.party.id, nil)),
        at: nextPosition(), by: callee.party, to: callParty.party, key: nil, post)
    }
    try log(next.call)
    return next.call
  }

  /// Checks the callee's setting (`UserSettings.callsFrom`). That of a remote user is checked by their own server.
  private func checkMayCall(_ caller: Party, _ callee: Party) throws {
    if callee.realm.isRemote { return }
    let settings = try writer.userSettings(of: callee.id)
    let isContact = try writer.contact(of: callee.id, caller.address)?.subscription.from == true
    guard !UserSettings.sees(settings.callsFrom, isContact) else { return }
    throw Problem(
      .forbidden, "not-a-contact",
      settings.callsFrom == .nobody
        ? "They take no calls." : "Only those whom they have accepted as contacts can call them.")
  }

  private func checkPace(of caller: Party) throws {
    if caller.id.number < 0 { return }
    let minute = Timestamp(milliseconds: time.milliseconds - 60_000)
    if try writer.callCount(by: caller.id, since: minute) >= Limits.callsPerMinuteMax {
      throw Problem(
        .tooFast, "calls-too-fast", "One user begins at most \(Limits.callsPerMinuteMax) calls a minute.",
        retryAfter: 60)
    }
    let ringing = try writer.openCalls(of: caller.id, limit: Limits.callsOpenMax).count {
      $0.state == .ringing && $0.caller.party.id == caller.id
    }
    if ringing >= Limits.callsRingingMax {
      throw Problem(
        .conflict, "too-many-calls",
        "At most \(Limits.callsRingingMax) calls of one user ring at a time. Take one back first.")
    }
  }

  /// Returns whether the device at this side is connected, or, an XMPP client, will have what it is sent.
  private func isConnected(_ callParty: Call.CallParty) -> Bool {
    guard callParty.isApp else {
      return hub.onlineSessions(of: callParty.party.id).contains {
        $0.door == .xmpp && $0.resource == callParty.resource
      }
    }
    return appSessions(of: callParty.party.id).contains { $0.resource == callParty.resource && !$0.isUnseen }
  }

  // MARK: Moves of apps

  /// Returns the user's own call; throws for a foreign id.
  private func own(_ id: Position, _ user: Party) throws -> Call {
    guard let call = try writer.call(id), call.has(user.id) else { throw Problem.callUnknown }
    return call
  }

  private mutating func move(
    _ post: Post, _ id: Position, _ move: CallMove, _ resource: String?
  ) throws {
    let call = try own(id, post.author)
    // A user who blocks, or is blocked, may still end the call.
    if move == .accept || move == .heard {
      try checkBlocks(post.author, resource: resource, call.peer(of: post.author.id).party)
    }
    var receipt = Receipt(position: head)
    receipt.value = call
    guard let next = try call.after(move, by: post.author.id, resource: resource, isApp: true, at: time) else {
      receipt.isRepeat = true
      return settle(post, receipt)
    }
    try record(next, from: call, by: post.author.id, resource: resource, message: true, post)
    receipt.value = next.call
    receipt.position = head
    settle(post, receipt)
  }

  /// Processes what an XMPP client says by Jingle. The end of a call that has ended already is no change.
  private mutating func negotiate(_ post: Post, _ said: CallNegotiation) throws {
    guard said.name.utf8.count <= Limits.callNameBytesMax,
      let peer = try user(said.with, seenFrom: post.author.realm)?.party,
      let dialog = try writer.dialog(between: min(post.author.id, peer.id), and: max(post.author.id, peer.id)),
      let call = try writer.call(named: said.name, in: dialog.id)
    else { throw Problem.callUnknown }
    let (own, other) = (call.callParty(of: post.author.id), call.peer(of: post.author.id))
    guard !own.isApp, own.resource == said.resource, other.isApp, other.resource == said.toResource else {
      throw Problem.callUnknown
    }
    switch said.act {
    case .signal(let body): try signal(post, call, body, from: said.resource, isApp: false)
    case .end(let reason, let byApp):
      var receipt = Receipt(position: head)
      receipt.value = call
      let user = byApp ? other.party.id : post.author.id
      if let next = try call.after(.end(reason), by: user, resource: nil, isApp: byApp, at: time) {
        try record(next, from: call, by: user, message: true, post)
        receipt.value = next.call
        receipt.position = head
      }
      settle(post, receipt)
    }
  }

  private mutating func signal(
    _ post: Post, _ call: Call, _ body: CallSignal.Body, from resource: String, isApp: Bool
  ) throws {
    let (callParty, peer) = (call.callParty(of: post.author.id), call.peer(of: post.author.id))
    switch call.state {
    case .ended: throw Problem.callEnded
    case .ringing:
      throw Problem(.conflict, "call-not-accepted", "Nothing can be said in a call before it is answered.")
    case .accepted: break
    }
    guard callParty.isApp == isApp, callParty.resource == resource else { throw Problem.callAnswered }
    // Whether somebody elsewhere is connected, is known there.
    guard peer.party.realm.isRemote || isConnected(peer) else {
      throw Problem(
        .conflict, "peer-not-connected", "The other device has no connection to be told by now. Try again shortly.")
    }
    let signal = CallSignal(
      call: call.id, name: call.name, dialog: call.dialog, sender: post.author, senderResource: resource,
      isCaller: call.caller.party.id == post.author.id, recipient: peer.party.address,
      recipientResource: peer.resource, isForApp: peer.isApp, body: body)
    tell(
      .signal(
        .call(signal), session(of: post), post.author, .user(peer.party.address, resource: peer.resource)))
    var receipt = Receipt(position: head)
    receipt.value = call
    settle(post, receipt)
  }

  // MARK: Stanzas of XMPP clients

  private mutating func said(_ post: Post, _ stanza: CallStanza) throws {
    let draft = stanza.message
    let author = post.author
    guard stanza.name.utf8.count <= Limits.callNameBytesMax, draft.to != author.address else {
      return try message(post, draft)
    }
    guard draft.content.extras.count <= Limits.callStanzaBytesMax else {
      throw Problem(
        .tooLarge, "call-stanza-too-large", "A message of a call has at most \(Limits.callStanzaBytesMax) bytes.")
    }
    let peer = try reachable(draft.to, for: author)
    try checkBlocks(author, resource: draft.envelope.fromResource, peer)
    let stored = try writer.dialog(between: min(author.id, peer.id), and: max(author.id, peer.id))
    if let stored, let receipt = try repeated(draft.key, by: author, in: stored.id) {
      return settle(post, receipt)
    }
    let call = try stored.flatMap { try writer.call(named: stanza.name, in: $0.id) }
    var content = draft.content
    (content.kind, content.text) = (.none, "")
    let said = Message(
      sequence: 0, content: content, envelope: draft.envelope,
      traits: draft.traits.subtracting([.counts, .replayed]))
    if stanza.act == .ring {
      if call != nil {
        throw Problem(.conflict, "call-name-used", "There was a call of this id: make another.")
      }
      let callParty = Call.CallParty(author, resource: draft.envelope.fromResource, isApp: false)
      _ = try ring(post, callParty, peer, name: stanza.name, stanza.kind, said, key: draft.key)
      return settle(post)
    }
    // A stanza of an unknown call is relayed as an ordinary message.
    guard let call else { return try message(post, draft) }
    let resource = draft.envelope.fromResource
    let next: (call: Call, act: CallAct)?
    do throws(Problem) {
      next = try call.after(stanza.move, by: author.id, resource: resource, isApp: false, at: time)
    } catch {
      // Two XMPP clients handle such an error themselves.
      if call.hasApp { throw error }
      next = nil
    }
    // What changes nothing here may still answer or end the call for the peer's client.
    guard let next else { return try message(post, draft, isNeeded: true) }
    try record(next, from: call, by: author.id, said: said, key: draft.key, post)
    settle(post)
  }

  // MARK: Time

  private mutating func expire(_ post: Post, _ id: Position) throws {
    if let call = try writer.call(id), let next = call.expired(at: time) {
      // A calling XMPP client decides itself how long it waits.
      try record(
        next, from: call, by: call.caller.party.id, message: call.state == .ringing ? call.caller.isApp : call.hasApp,
        post)
    }
    settle(post)
  }

  // MARK: Recording

  /// Records a change by an app, or by the server itself.
  private mutating func record(
    _ next: (call: Call, act: CallAct), from before: Call, by user: UserID, resource: String? = nil, message: Bool,
    successor: String? = nil, _ post: Post
  ) throws {
    try record(
      next, from: before, by: user, said: message ? answer(next.act, from: before, by: user, resource) : nil,
      successor: successor, post)
  }

  /// Returns the addresses of the message that the door writes (XEP-0353): answers go to the calling device, a
  /// retraction to all that ring.
  private func answer(_ act: CallAct, from before: Call, by user: UserID, _ resource: String?) -> Message {
    Message(
      sequence: 0, content: Content(kind: .none),
      envelope: Envelope(
        type: .chat, fromResource: resource ?? before.callParty(of: user).resource,
        toResource: act == .retract ? nil : before.peer(of: user).resource),
      traits: [.archived, .fromApp])
  }

  private mutating func record(
    _ next: (call: Call, act: CallAct), from before: Call, by user: UserID, said: Message?, key: RepeatKey? = nil,
    successor: String? = nil, _ post: Post
  ) throws {
    let call = next.call
    let (author, peer) = (call.callParty(of: user).party, call.peer(of: user).party)
    let position = nextPosition()
    try insert(
      CallChange(act: next.act, call: call, message: said, successor: successor), at: position, by: author, to: peer,
      key: key, post)
    if before.state == .ringing, call.state != .ringing, !call.callee.party.realm.isRemote,
      try wakes(call.callee.party, call.caller.party)
    {
      oweEnd(at: position, of: call.id, in: call.dialog, to: call.callee.party.id)
    }
    if call.state == .ended { try log(call) }
  }

  /// Returns whether a call wakes the callee's devices: those of strangers elsewhere ring only where somebody is there.
  private func wakes(_ callee: Party, _ caller: Party) throws -> Bool {
    try !isElsewhere(caller) || isAcquainted(callee, with: caller)
  }

  private mutating func log(_ call: Call) throws {
    let (caller, callee) = (call.caller.party, call.callee.party)
    guard let content = CallLog.content(of: call, id: realms.entryID(call.id, in: caller.realm)) else { return }
    let (state, _) = try dialog(of: caller, and: callee)
    countBeside(Int(content.storedBytes))
    let entry = try insertMessage(
      from: caller, at: .peer(callee), in: state, content: content, envelope: Envelope(type: .chat),
      traits: CallLog.traits(of: call), key: nil)
    tell(.entry(entry, author: nil))
  }

  private mutating func insert(
    _ change: CallChange, at position: Position, by author: Party, to peer: Party, key: RepeatKey?, _ post: Post
  ) throws {
    let (state, _) = try dialog(of: author, and: peer)
    state.dialog.end(at: position)
    touch(state)
    let entry = Entry(
      position: position, time: time, dialog: state.dialog.id, author: author, place: .peer(peer), fact: .call(change),
      id: realms.entryID(position, in: author.realm))
    let archived =
      try change.message.flatMap {
        $0.traits.contains(.archived) ? try self.archived($0.envelope, by: author, at: .peer(peer)) : nil
      } ?? (author: false, peer: false)
    var feeds: [FeedRow] = []
    if !author.realm.isRemote { feeds.append(FeedRow(user: author.id, traits: archived.author ? [.archived] : [])) }
    if !peer.realm.isRemote {
      feeds.append(FeedRow(user: peer.id, traits: archived.peer ? [.inbound, .archived] : [.inbound]))
    }
    try writer.insert(entry, feeds: feeds, key: key)
    if change.message != nil { try owe(entry, to: peer) }
    try writer.put(change.call)
    if change.rings, try wakes(peer, author) { try owe(entry) }
    // The caller's session also receives what is recorded in the callee's name.
    tell(.entry(entry, author: author.id == post.author.id ? session(of: post) : nil))
    if change.call.due != nil { tell(.calls) }
  }
}
