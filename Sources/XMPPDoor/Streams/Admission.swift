import Accounts
import Addresses
import Basics
import Crypto
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The way of an authenticated stream to its session: it binds a resource (RFC 6120 7), resumes a former session
/// (XEP-0198 5), or asks for both in its request to authenticate (XEP-0388), which is answered before `<success/>`.
extension XMPPConnection {
  // MARK: Binding

  func bind(_ request: BindRequest) {
    establish(request.resource) { connection, result in
      switch result {
      case .success(let session):
        session.attach(connection)
        connection.write { request.writeResult(session.jid, into: &$0) }
        for hook in connection.door.table.bound { hook(session) }
      case .failure(let error): connection.write { error.writeReply(to: request.stanza, into: &$0) }
      }
    }
  }

  /// Creates the session, under the requested resource if it is free. The caller attaches it.
  private func establish(
    _ resource: String?, holding: Bool = false,
    then: @escaping (XMPPConnection, Result<XMPPSession, StanzaError>) -> Void
  ) {
    guard let user = machine.user else { return closeConnection() }
    let id = door.parley.hub.user(at: user)
    let connected = (id.map { door.parley.hub.onlineSessions(of: $0) } ?? []).filter { $0.door == .xmpp }.map(
      \.resource)
    switch binder.requested(resource, user: user, connected: connected, generated: DoorContext.randomID()) {
    case .bind(let jid, replacing: _):
      if let known, known.address == user { return goOnline(known, jid, holding: holding, then) }
      answerLater({ try $0.user(user) }) { connection, result in
        guard case .success(let found?) = result else {
          return connection.fail(StreamError(.internalServerError))
        }
        let party = Party(id: found.id, realm: found.realm, address: found.address)
        connection.goOnline(party, jid, holding: holding, then)
      }
    case .refuse(let error): then(self, .failure(error))
    case .close(let error): fail(error)
    }
  }

  private func goOnline(
    _ party: Party, _ jid: FullJID, holding: Bool,
    _ then: @escaping (XMPPConnection, Result<XMPPSession, StanzaError>) -> Void
  ) {
    pause(.machine)
    startSession(of: party) { [self] in
      let session = XMPPSession(door: door, loopContext: loopContext, party: party, jid: jid, peer: peer)
      session.goOnline(holding: holding, by: access, over: transportKind) { [self] problem in
        guard !isOver else { return session.end() }
        if let problem {
          then(self, .failure(StanzaError(problem)))
        } else {
          machine.bound(jid)
          self.session = session
          then(self, .success(session))
        }
        unpause(.machine)
        flush()
      }
    }
  }

  /// Calls `body` as soon as the user may begin one more session, or resume one; never if the client has gone meanwhile.
  private func startSession(of party: Party, _ body: @escaping () -> Void) {
    if isOver { return }
    let now = door.parley.clock.now
    guard let time = door.parley.sending.budget(of: party, from: peer, now: now).startSession(now: now) else {
      return body()
    }
    let waiting = NIOLoopBound((connection: self, body: body), eventLoop: loop)
    loop.scheduleTask(in: TimeAmount(time)) {
      let (connection, body) = waiting.value
      connection.startSession(of: party, body)
    }
  }

  // MARK: Resuming

  func manage(_ element: ManagementElement) {
    if let session {
      if let error = session.manage(element) { fail(error) }
      return
    }
    guard case .resume(let previous, let handled) = element else {
      return write { StreamManagement.writeFailed(.unexpectedRequest, into: &$0) }
    }
    resume(previous, handled: handled) { connection, outcome in
      switch outcome {
      case .resumed(let state):
        connection.write {
          StreamManagement.writeResumed(previous: previous, handled: state.management.handled, into: &$0)
        }
      case .failed(let condition, let handled):
        connection.write { StreamManagement.writeFailed(condition, handled: handled, into: &$0) }
      }
    }
  }

  private enum Resumption {
    case resumed(SessionState)
    /// The answer is `<failed/>` with this condition and count; a resource may be bound instead.
    case failed(StanzaError.Condition, handled: UInt32?)
  }

  /// Resumes a former session of the user. `answer` tells the client; the missed stanzas follow.
  private func resume(
    _ previous: String, handled: UInt32, _ answer: @escaping (XMPPConnection, Resumption) -> Void
  ) {
    guard let user = machine.user else { return closeConnection() }
    let nonce = PublicID(previous).map { StreamNonce(high: $0.high, low: $0.low) }
    answerLater({ reader -> (User?, UInt32?) in
      try (reader.user(user), nonce.flatMap { try reader.handled($0) })
    }) { connection, result in
      guard case .success((let found?, let durable)) = result else {
        return answer(connection, .failed(.itemNotFound, handled: nil))
      }
      let party = Party(id: found.id, realm: found.realm, address: found.address)
      connection.pause(.machine)
      connection.startSession(of: party) {
        if let nonce, let former = connection.door.suspended.take(nonce, of: party) {
          connection.takeOver(former, handled: handled, answer)
        } else {
          connection.refuse(ResumptionMachine<Sent>.refuse(durable.map { .expired(handled: $0) } ?? .unknown), answer)
        }
        connection.unpause(.machine)
        connection.flush()
      }
    }
  }

  private func refuse(_ decision: ResumeDecision, _ answer: (XMPPConnection, Resumption) -> Void) {
    switch decision {
    case .resumed: break
    case .failed(let condition, let handled): answer(self, .failed(condition, handled: handled))
    case .close(let error): fail(error)
    }
  }

  /// Has the former session give up its state on its own loop; a new session continues with it here. The hub knows the
  /// new handle a moment earlier: deliveries to it wait.
  private func takeOver(
    _ former: SessionHandle, handled: UInt32, _ answer: @escaping (XMPPConnection, Resumption) -> Void
  ) {
    pause(.machine)
    let me = NIOLoopBound((connection: self, answer: answer), eventLoop: loop)
    let handle = SessionHandle(party: former.party, loopContext: loopContext, peer: peer)
    let loop = loop
    former.reach { session in
      let take: @Sendable (Result<SessionState, XMPPSession.Refusal>?) -> Void = { surrendered in
        loop.execute {
          let (connection, answer) = me.value
          connection.goOn(as: handle, with: surrendered, answer)
          connection.unpause(.machine)
          connection.flush()
        }
      }
      if let session { session.handOver(handled: handled, to: handle, take) } else { take(nil) }
    }
  }

  /// Continues with the state that the former session gave up; `nil` if that session has ended.
  private func goOn(
    as handle: SessionHandle, with surrendered: Result<SessionState, XMPPSession.Refusal>?,
    _ answer: (XMPPConnection, Resumption) -> Void
  ) {
    switch surrendered {
    case .success(let state)?:
      let session = XMPPSession(door: door, loopContext: loopContext, handle: handle, resuming: state)
      if isOver {
        // The client is gone again: the state waits for its next attempt.
        session.suspend()
        handle.stands(session)
      } else {
        machine.bound(state.jid)
        self.session = session
        comeBack(as: handle)
        answer(self, .resumed(state))
        session.attach(self)
        session.replay(state.items)
        handle.stands(session)
        session.resumeReading()
      }
    case .failure(let refusal)?:
      handle.ended()
      // A client that is gone must not take a place by the rest of its request.
      if !isOver { refuse(refusal.decision, answer) }
    case nil:
      // The session may have ended when the hub already knew the handle.
      handle.ended()
      let now = door.parley.clock.now
      door.parley.unregister(handle, at: now)
      door.parley.leave(handle.party, session: handle.id, at: now)
      // The loop of the former session may have stored it for the next start, in which the client resumes it: a client that
      // is told that there is none would not. This stream ends with the stop, without an answer.
      if !isOver, !loopContext.isStopping { refuse(ResumptionMachine<Sent>.refuse(.unknown), answer) }
    }
  }

  /// Records the login by which the session is here now. A revocation before the hub knew this login did not find the
  /// session: it is closed then.
  private func comeBack(as handle: SessionHandle) {
    let parley = door.parley
    parley.hub.update(handle) { [transportKind] in $0.transport = transportKind }
    guard let access else { return }
    parley.hub.update(handle) { $0.access = access }
    let user = handle.party.id
    parley.fetch(for: .user(user), on: loopContext.lane) {
      try access.stands(for: user, $0)
    } then: { result in
      if case .success(false) = result { parley.hub.close(user, .revoked) { $0.session === handle } }
    }
  }

  // MARK: Both in the request to authenticate

  /// Carries out the rest of the request (XEP-0388 2.6.1, XEP-0386 3.2): resumption first; binding where there is no
  /// session to resume.
  func admit(_ user: BareJID, _ data: [UInt8]?, _ request: AuthenticateRequest) {
    access?.agent = request.agent.map { ClientAgent(id: $0.id, software: $0.software, device: $0.device) }
    issueToken(request) { $0.admit(request, Success(user: user, data: data, token: $0.issued)) }
  }

  private func admit(_ request: AuthenticateRequest, _ success: Success) {
    guard case .resume(let previous, let handled)? = request.resume else { return begin(request, success) }
    resume(previous, handled: handled) { connection, outcome in
      switch outcome {
      case .resumed(let state):
        connection.machine.managed()
        connection.write(success, jid: state.jid) {
          StreamManagement.writeResumed(previous: previous, handled: state.management.handled, into: &$0)
        }
      case .failed(let condition, let handled):
        var success = success
        success.failed = (condition, handled)
        connection.begin(request, success)
      }
    }
  }

  /// The parts of `<success/>` that are sent in any case.
  private struct Success {
    let user: BareJID
    /// The mechanism's final data.
    let data: [UInt8]?
    /// The token to log in with next time (XEP-0484 3.3, 3.5).
    let token: Accounts.IssuedToken?
    /// The reason why the former session was not resumed.
    var failed: (StanzaError.Condition, handled: UInt32?)?
  }

  private func begin(_ request: AuthenticateRequest, _ success: Success) {
    guard let bind = request.bind else { return write(success, jid: nil) { _ in } }
    let stable = request.agent?.id.map { Self.stableResource(of: success.user, agent: $0) }
    let generated = stable ?? DoorContext.randomID()
    establish(bind.resource(generated), holding: true) { connection, result in
      // Without a resource the client may still bind one in the old way, and then learns the reason.
      guard case .success(let session) = result else { return connection.write(success, jid: nil) { _ in } }
      if let stable { session.replaceOthers(named: stable) }
      for feature in bind.features { connection.door.table.begin(session, with: feature) }
      // XEP-0386 3.2: the archive as it was at the moment of binding, since later messages are sent live.
      let (user, position) = (session.party, session.cursor.log.position)
      connection.answerLater({ try Archive.ends(of: user, at: position, $0) }) { connection, ends in
        // It was replaced or revoked meanwhile, while it had no connection to be told on.
        guard !session.isEnded else { return connection.fail(StreamError(.conflict, "the session has ended")) }
        if case .success(let ends) = ends { Archive.charge(session, longReads: ends.longReads) }
        connection.write(success, jid: session.jid) { writer in
          writer.element(.bound) { writer in
            if let wish = bind.features.first(where: { $0.is(.smEnable) }) {
              Self.enable(wish, in: session, into: &writer)
              if session.management.isEnabled { connection.machine.managed() }
            }
            if case .success(let ends) = ends { Archive.writeMetadata(ends, into: &writer) }
          }
        }
        session.attach(connection)
        for hook in connection.door.table.bound { hook(session) }
        session.resumeReading()
      }
    }
  }

  /// Enables stream management; the outcome is written in any case (XEP-0386 3.2).
  private static func enable(_ wish: Element, in session: XMPPSession, into writer: inout ElementWriter) {
    do throws(StanzaError) {
      guard case .enable(let resume, let max)? = try ManagementElement(wish) else { return }
      session.enable(resume: resume, max: max).write(into: &writer)
    } catch {
      StreamManagement.writeFailed(error.condition, into: &writer)
    }
  }

  private func write(_ success: Success, jid: FullJID?, _ parts: (inout ElementWriter) -> Void) {
    write { writer in
      writer.element(Name("success", NS.sasl2)) { writer in
        if let data = success.data {
          writer.element("additional-data") { $0.text(Base64.encode(data)) }
        }
        writer.element("authorization-identifier") { $0.text(jid?.description ?? success.user.description) }
        if let (condition, handled) = success.failed {
          StreamManagement.writeFailed(condition, handled: handled, into: &writer)
        }
        parts(&writer)
        if let token = success.token {
          writer.element(Name("token", NS.fast)) { writer in
            writer.attribute("expiry", token.expires.description)
            writer.attribute("token", token.text)
          }
        }
      }
    }
    write { StreamFraming.document.writeFeatures(machine.offered, into: &$0) }
  }

  /// Returns the resource of an installation, always the same one (XEP-0386 3.3), so that a session it has lost is
  /// replaced rather than doubled. The agent's id cannot be recovered from it.
  private static func stableResource(of user: BareJID, agent: String) -> String {
    Hex.string(SHA256.hash(data: Array("\(user)\n\(agent)".utf8)).prefix(9))
  }
}
