import Addresses
import Dialogs
import Jingle
import NIOCore
import XMLStream
import XMPP

/// XEP-0166: calls between a client, which negotiates media by Jingle, and an app, which does by SDP. For the client
/// the app's device is a Jingle client; what either says is translated (`JingleSession`), in the session of the client,
/// or in the one that a client elsewhere has at its link (`RemoteCalls`). The core decides whether the two are in a
/// call, and relays.
struct JingleSessions: Feature {
  static let xep = XEP(
    166, "1.1.2", "Jingle",
    note: """
      Between XMPP clients the server forwards Jingle and does not read it. Between a client and an app it translates \
      Jingle to SDP and back, for calls begun by XEP-0353: media are not changed later \
      ([decision 0044](decisions/0044-jingle.md)).
      """)

  /// A session by its id and the other user.
  struct Key: Hashable, Sendable {
    let sid: String
    let with: BareJID
  }
  struct Open: Sendable {
    var session: JingleSession
    /// The resource of the app's device.
    let resource: String
    /// The id of the request that begins or accepts the session, whose refusal ends it.
    var vital: String?
  }
  static let open = Slot<[Key: Open]>([:])

  private static let errors: StaticString = "urn:xmpp:jingle:errors:1"

  func register(in table: inout FeatureTable) {
    table.advertise(
      "\(NS.jingle)", "\(NS.jingleMessage)", "urn:xmpp:jingle:apps:rtp:1", "urn:xmpp:jingle:apps:rtp:audio",
      "urn:xmpp:jingle:apps:rtp:video", "urn:xmpp:jingle:apps:rtp:rtcp-fb:0", "urn:xmpp:jingle:apps:rtp:rtp-hdrext:0",
      "urn:xmpp:jingle:apps:rtp:ssma:0", "urn:xmpp:jingle:apps:dtls:0", "urn:xmpp:jingle:apps:grouping:0",
      "urn:xmpp:jingle:transports:ice-udp:1", on: [.session])
    table.iq(.set, JingleRequest.name, to: [.session], Self.received)
  }

  // MARK: The client

  /// Takes a client's request to an app's device.
  static func received(_ turn: Turn, _ jingle: Element) throws(StanzaError) {
    guard let to = turn.to, let resource = to.resource else { throw StanzaError(.serviceUnavailable) }
    let session = turn.session
    let sid: String
    do throws(StanzaError) { sid = try JingleRequest.sid(of: jingle) } catch {
      try turn.checkPresenceAccess()
      throw error
    }
    let key = Key(sid: sid, with: to.bare)
    if JingleRequest.isTerminate(jingle) { return try terminate(turn, jingle, key, resource) }
    if JingleRequest.isInitiate(jingle) { return try initiate(turn, jingle, key, resource) }
    guard var open = session[open][key], open.resource == resource else { throw unknownSession(turn) }
    let request: JingleRequest
    do throws(MediaProblem) { request = try JingleRequest(jingle, by: open.session.app.other) } catch {
      if jingle.has("action", equalTo: "session-accept") { return end(turn, error, key, open) }
      if jingle.has("action", equalTo: "session-info") {
        throw Self.error(.featureNotImplemented, error.text, "unsupported-info")
      }
      throw StanzaError(.badRequest, error.text)
    }
    let steps: [JingleSession.Step]
    do throws(JingleSession.Refusal) { steps = try open.session.heard(request) } catch {
      switch error {
      case .outOfOrder(let text): throw Self.error(.unexpectedRequest, text, "out-of-order")
      case .unsupported(let text): throw Self.error(.featureNotImplemented, text, "unsupported-info")
      case .ends(let problem): return end(turn, problem, key, open)
      }
    }
    session[Self.open][key] = open
    turn.reply()
    take(steps, key, open, session)
  }

  private static func initiate(
    _ turn: Turn, _ jingle: Element, _ key: Key, _ resource: String
  ) throws(StanzaError) {
    let session = turn.session
    guard session[open][key] == nil else { throw error(.unexpectedRequest, "the session has begun", "out-of-order") }
    guard session[open].count < DoorLimits.jingleSessionsMax else {
      try turn.checkPresenceAccess()
      throw StanzaError(.resourceConstraint, "a client has at most \(DoorLimits.jingleSessionsMax) calls with apps")
    }
    let request: JingleRequest
    do throws(MediaProblem) { request = try JingleRequest(jingle, by: .initiator) } catch {
      // Only who is in the call learns more.
      let problem = error
      return tell(problem, key, resource, session) { result in
        if case .failure(let refusal) = result { return fail(turn, refusal) }
        turn.reply()
        end(for: problem, key, resource, app: .responder, session)
      }
    }
    guard case .initiate(let offer) = request else { throw StanzaError(.badRequest) }
    let (begun, steps) = JingleSession.initiated(offer, sid: key.sid)
    // Candidates may follow before the post is done.
    session[open][key] = Open(session: begun, resource: resource)
    for case .toApp(let signal) in steps {
      post(.signal(signal.body), key, resource, session) { result in
        switch result {
        case .success: turn.reply()
        case .failure(let problem):
          session[open][key] = nil
          fail(turn, problem)
        }
      }
    }
  }

  /// Ends the call, of which the session may have been lost: by a restart of this server.
  private static func terminate(
    _ turn: Turn, _ jingle: Element, _ key: Key, _ resource: String
  ) throws(StanzaError) {
    let wasOpen = turn.session[open].removeValue(forKey: key) != nil
    var reason: Call.Reason?
    if case .terminate(let condition, _) = try? JingleRequest(jingle, by: .initiator) {
      reason = JingleMessages.reason(condition)
    }
    post(.end(reason, byApp: false), key, resource, turn.session) { result in
      if case .failure = result, !wasOpen { return turn.fail(unknownSession(turn)) }
      turn.reply()
    }
  }

  /// Handles the client's answer to a request in the app's name. Returns `false` if it is to be relayed.
  static func answered(_ stanza: Stanza, by session: XMPPSession) -> Bool {
    guard let id = stanza.id, let (key, open) = session[open].first(where: { $0.value.vital == id }) else {
      return false
    }
    session[Self.open][key]?.vital = nil
    guard stanza.isError else { return true }
    session[Self.open][key] = nil
    let refused = open.session.app == .initiator ? "offer" : "answer"
    let problem = MediaProblem("client-refused", "The XMPP client has refused the \(refused).")
    tell(problem, key, open.resource, session)
    post(.end(.incompatible, byApp: false), key, open.resource, session)
    return true
  }

  /// Forgets a session whose end the client has announced by XEP-0353.
  static func forget(_ sid: String, with: BareJID, _ session: XMPPSession) {
    session[open][Key(sid: sid, with: with)] = nil
  }

  /// Ends the calls of a session that has ended: nobody could translate for it any more.
  static func lost(_ session: XMPPSession) {
    for (key, open) in session[open] {
      _ = session.parley.submit(
        Post(
          author: session.party, intent: intent(.end(.failed, byApp: false), key, open.resource, session),
          completion: .none, from: session.handle.peer))
    }
  }

  // MARK: The app

  /// Takes a signal of an app.
  static func told(_ signal: CallSignal, _ session: XMPPSession) {
    let key = Key(sid: signal.name, with: signal.sender.address)
    guard let said = JingleSession.Signal(signal.body) else { return }
    guard var open = session[open][key] else { return begin(said, signal, key, session) }
    let steps: [JingleSession.Step]
    do throws(MediaProblem) { steps = try open.session.said(said) } catch {
      guard case .answer = said, error.code != MediaProblem.answerUnexpected else {
        return tell(error, key, open.resource, session)
      }
      session[Self.open][key] = nil
      return refuse(error, key, open.resource, app: open.session.app, session)
    }
    session[Self.open][key] = open
    take(steps, key, open, session)
  }

  private static func begin(_ said: JingleSession.Signal, _ signal: CallSignal, _ key: Key, _ session: XMPPSession) {
    switch said {
    // An app's own greeting.
    case .info: return
    case .offer(let sdp) where signal.isCaller:
      do throws(MediaProblem) {
        guard session[open].count < DoorLimits.jingleSessionsMax else {
          throw MediaProblem("too-many-sessions", "The XMPP client has too many calls with apps.")
        }
        let (begun, steps) = try JingleSession.offered(sdp: sdp, sid: key.sid)
        let open = Open(session: begun, resource: signal.senderResource)
        session[Self.open][key] = open
        take(steps, key, open, session)
      } catch {
        refuse(error, key, signal.senderResource, app: .initiator, session)
      }
    case .offer, .answer, .candidate:
      let problem = MediaProblem(
        "offer-missing", "The side that has called makes the offer, and nothing is said before it.")
      tell(problem, key, signal.senderResource, session)
    }
  }

  /// Tells the client of the end of a call.
  static func ended(_ call: Call, with peer: BareJID, _ session: XMPPSession) {
    guard call.state == .ended else { return }
    let key = Key(sid: call.name, with: peer)
    guard let open = session[Self.open].removeValue(forKey: key) else { return }
    let reason = JingleMessages.condition(call.reason ?? .hungUp)
    send(.terminate(reason: "\(reason)", text: nil), key, open.resource, app: open.session.app, session)
  }

  // MARK: Sending

  private static func take(_ steps: [JingleSession.Step], _ key: Key, _ open: Open, _ session: XMPPSession) {
    for step in steps {
      switch step {
      case .toClient(let request):
        let id = send(request, key, open.resource, app: open.session.app, session)
        switch request {
        case .initiate, .accept: session[Self.open][key]?.vital = id
        case .candidates, .info, .terminate, .add, .reject, .other: break
        }
      case .toApp(let signal):
        guard case .answer = signal else {
          // Who is not there to be told of a candidate, may be connected by others.
          post(.signal(signal.body), key, open.resource, session)
          continue
        }
        post(.signal(signal.body), key, open.resource, session) { result in
          guard case .failure = result else { return }
          session[Self.open][key] = nil
          let request = JingleRequest.terminate(reason: "connectivity-error", text: "The app is not connected.")
          send(request, key, open.resource, app: open.session.app, session)
          post(.end(.failed, byApp: true), key, open.resource, session)
        }
      }
    }
  }

  /// Sends a request from the app's device. Returns its id.
  @discardableResult
  private static func send(
    _ request: JingleRequest, _ key: Key, _ resource: String, app: Side, _ session: XMPPSession
  ) -> String {
    let id = DoorContext.randomID()
    let (sender, client) = (Outbound.address(key.with, resource), session.jid.description)
    session.send { writer in
      writer.element(.iq) { writer in
        writer.attribute("type", IQType.set.text)
        writer.attribute("id", id)
        writer.attribute("from", sender)
        writer.attribute("to", client)
        request.write(
          sid: key.sid, by: app, initiator: app == .initiator ? sender : client, sender: sender, into: &writer)
      }
    }
    return id
  }

  private static func end(_ turn: Turn, _ problem: MediaProblem, _ key: Key, _ open: Open) {
    turn.reply()
    turn.session[Self.open][key] = nil
    refuse(problem, key, open.resource, app: open.session.app, turn.session)
  }

  /// Ends a call whose media cannot be translated, and tells both sides why.
  private static func refuse(
    _ problem: MediaProblem, _ key: Key, _ resource: String, app: Side, _ session: XMPPSession
  ) {
    tell(problem, key, resource, session)
    end(for: problem, key, resource, app: app, session)
  }

  private static func end(
    for problem: MediaProblem, _ key: Key, _ resource: String, app: Side, _ session: XMPPSession
  ) {
    let request = JingleRequest.terminate(reason: problem.condition.rawValue, text: problem.text)
    send(request, key, resource, app: app, session)
    post(.end(.incompatible, byApp: true), key, resource, session)
  }

  /// Tells the app of a problem.
  private static func tell(
    _ problem: MediaProblem, _ key: Key, _ resource: String, _ session: XMPPSession,
    then: ((Result<Receipt, Problem>) -> Void)? = nil
  ) {
    post(.signal(JingleSession.Signal.info(JingleSession.info(problem)).body), key, resource, session, then: then)
  }

  private static func intent(
    _ act: CallNegotiation.Act, _ key: Key, _ resource: String, _ session: XMPPSession
  ) -> Intent {
    .call(
      .negotiation(
        CallNegotiation(
          name: key.sid, with: key.with, toResource: resource, resource: session.jid.resource, act: act)))
  }

  private static func post(
    _ act: CallNegotiation.Act, _ key: Key, _ resource: String, _ session: XMPPSession,
    then: ((Result<Receipt, Problem>) -> Void)? = nil
  ) {
    session.post(intent(act, key, resource, session), then: then)
  }

  private static func fail(_ turn: Turn, _ problem: Problem) {
    if problem.code == Problem.callUnknown.code { return turn.fail(unknownSession(turn)) }
    turn.fail(problem)
  }

  /// Returns the error for a session that is not there: who may not see the app's presence learns nothing of it.
  private static func unknownSession(_ turn: Turn) -> StanzaError {
    do throws(StanzaError) { try turn.checkPresenceAccess() } catch { return error }
    return error(.itemNotFound, "there is no such session; a call begins by XEP-0353", "unknown-session")
  }

  private static func error(
    _ condition: StanzaError.Condition, _ text: String, _ application: StaticString
  ) -> StanzaError {
    StanzaError(condition, text, application: Element(Name(application, errors)))
  }
}

extension JingleSession.Signal {
  /// Creates a signal from an app's; `nil` for one without its content, which a door has refused.
  fileprivate init?(_ body: CallSignal.Body) {
    switch (body.action, body.sdp, body.candidate, body.info) {
    case (.offer, let sdp?, _, _): self = .offer(sdp)
    case (.answer, let sdp?, _, _): self = .answer(sdp)
    case (.candidate, _, let candidate?, _): self = .candidate(candidate)
    case (.info, _, _, let info?): self = .info(info)
    case (.offer, nil, _, _), (.answer, nil, _, _), (.candidate, _, nil, _), (.info, _, _, nil): return nil
    }
  }

  fileprivate var body: CallSignal.Body {
    switch self {
    case .offer(let sdp): CallSignal.Body(action: .offer, sdp: sdp)
    case .answer(let sdp): CallSignal.Body(action: .answer, sdp: sdp)
    case .candidate(let candidate): CallSignal.Body(action: .candidate, candidate: candidate)
    case .info(let info): CallSignal.Body(action: .info, info: info)
    }
  }
}
