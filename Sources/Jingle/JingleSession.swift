import JSON

/// A call between an app and a Jingle client, from the first description to the end: the app says SDP and candidates,
/// the client Jingle, and each is told what the other said.
///
/// It is a value without IO. Each function returns what is to be sent, in order, or throws the reason why the input has
/// no place. A session has one offer and one answer: what would change its media later is refused, and leaves it as it
/// is.
///
///     var (session, steps) = try JingleSession.offered(sdp: offer, sid: "a73s")      // steps: session-initiate
///     steps = try session.heard(.accept(description))                                // steps: the answer's SDP
public struct JingleSession: Hashable, Sendable {
  /// A signal that an app sends in a call, or receives (`call.signal`).
  public enum Signal: Hashable, Sendable {
    case offer(String)
    case answer(String)
    /// An ICE candidate as a JSON object.
    case candidate(String)
    /// A JSON object.
    case info(String)
  }

  /// A message that is to be sent.
  public enum Step: Hashable, Sendable {
    case toApp(Signal)
    case toClient(JingleRequest)
  }

  /// The reason why a Jingle request is refused, for the client's IQ error (XEP-0166 10).
  public enum Refusal: Error, Hashable, Sendable {
    /// The request does not fit the state of the session.
    case outOfOrder(String)
    /// The request asks for what calls with apps do not have.
    case unsupported(String)
    /// The description has no equivalent: the session ends.
    case ends(MediaProblem)
  }

  public let sid: String
  /// The app's side.
  public let app: Side
  private let offer: SessionDescription
  private var answer: SessionDescription?
  /// Candidates of the answering side that came before its answer.
  private var early: [Candidate.OfMedia] = []
  private var appCandidates = 0
  private var clientCandidates = 0

  private init(sid: String, app: Side, offer: SessionDescription) {
    self.sid = sid
    self.app = app
    self.offer = offer
  }

  /// The number of the session in SDP (RFC 8866 5.2).
  private var origin: UInt64 {
    sid.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } & (1 << 62 - 1)
  }
  private var own: SessionDescription? { app == .initiator ? offer : answer }
  private var other: SessionDescription? { app == .initiator ? answer : offer }

  // MARK: Beginning

  /// Begins with the offer of an app.
  public static func offered(sdp: String, sid: String) throws(MediaProblem) -> (JingleSession, [Step]) {
    let offer = try SessionDescription(sdp: sdp)
    return (JingleSession(sid: sid, app: .initiator, offer: offer), [.toClient(.initiate(offer))])
  }

  /// Begins with the `session-initiate` of a client.
  public static func initiated(_ offer: SessionDescription, sid: String) -> (JingleSession, [Step]) {
    let session = JingleSession(sid: sid, app: .responder, offer: offer)
    return (session, [.toApp(.offer(offer.sdp(origin: session.origin, answers: nil)))])
  }

  // MARK: The app

  /// Takes a signal of the app.
  ///
  /// - Throws: an error of which the app is told. Only one of an answer ends the session.
  public mutating func said(_ signal: Signal) throws(MediaProblem) -> [Step] {
    switch signal {
    case .offer:
      throw MediaProblem(
        MediaProblem.renegotiationUnsupported,
        "A call with an XMPP client has one offer: call again to change its media.")
    case .answer(let sdp):
      guard app == .responder, answer == nil else {
        throw MediaProblem(MediaProblem.answerUnexpected, "Nothing is to be answered.")
      }
      let said = try SessionDescription(sdp: sdp, isAnswer: true).answering(offer)
      // A client that was not refused a medium would wait for it.
      if let declined = offer.media.first(where: { said[$0.name] == nil }) {
        throw MediaProblem(
          "media-declined", "The answer declines the medium \(declined.name): it can be inactive, but is not left out.",
          .application)
      }
      answer = said
      defer { early = [] }
      return [.toClient(.accept(said))] + early.map { .toClient(stated($0)) }
    case .candidate(let json):
      guard appCandidates < JingleLimits.candidatesMax else {
        throw MediaProblem(
          "too-many-candidates", "One side of a call has at most \(JingleLimits.candidatesMax) candidates.", .transport)
      }
      // Before the answer its names are those of the offer.
      guard let candidate = try Candidate.read(json: json, of: own ?? offer, isOwn: own != nil) else { return [] }
      appCandidates += 1
      if own == nil {
        early.append(candidate)
        return []
      }
      return [.toClient(stated(candidate))]
    case .info(let json):
      return Self.info(json).map { [.toClient(.info($0))] } ?? []
    }
  }

  private func stated(_ candidate: Candidate.OfMedia) -> JingleRequest {
    var credentials: [String: JingleRequest.Credentials] = [:]
    if let transport = own?[candidate.media]?.transport {
      credentials[candidate.media] = .init(ufrag: transport.ufrag, password: transport.password)
    }
    return .candidates([candidate], credentials: credentials)
  }

  // MARK: The client

  /// Takes a request of the client, other than one that begins or ends the session.
  public mutating func heard(_ request: JingleRequest) throws(Refusal) -> [Step] {
    switch request {
    case .initiate: throw .outOfOrder("the session has begun")
    case .terminate: return []
    case .accept(let description):
      guard app == .initiator, answer == nil else { throw .outOfOrder("there is no offer to accept") }
      let said: SessionDescription
      do throws(MediaProblem) { said = try description.answering(offer) } catch { throw .ends(error) }
      answer = said
      defer { early = [] }
      return [.toApp(.answer(said.sdp(origin: origin, answers: offer)))] + early.compactMap { told($0) }
    case .candidates(let candidates, let credentials):
      guard clientCandidates + candidates.count <= JingleLimits.candidatesMax else {
        throw .unsupported("one side of a call has at most \(JingleLimits.candidatesMax) candidates")
      }
      for (name, stated) in credentials {
        guard let known = other?[name]?.transport.ufrag, known != stated.ufrag else { continue }
        throw .unsupported("the transport of a call with an app is not restarted")
      }
      var steps: [Step] = []
      for each in candidates {
        guard offer[each.media] != nil else { throw .outOfOrder("there is no content \(each.media)") }
        if other == nil {
          early.append(each)
        } else if let step = told(each) {
          steps.append(step)
        }
      }
      clientCandidates += candidates.count
      return steps
    case .info(let info): return Self.json(info).map { [.toApp(.info($0))] } ?? []
    case .add(let names):
      let problem = MediaProblem(
        MediaProblem.renegotiationUnsupported,
        "The XMPP client wanted to add media, which was refused: call again to change its media.")
      return [.toClient(.reject(names)), .toApp(.info(Self.info(problem)))]
    case .reject, .other: throw .unsupported("the media of a call with an app are not changed")
    }
  }

  /// Returns a candidate of the client's as the app is told of it; `nil` for one of a medium that was declined, or for
  /// RTCP.
  private func told(_ each: Candidate.OfMedia) -> Step? {
    guard each.candidate.isForRTP, let index = offer.media.firstIndex(where: { $0.name == each.media }),
      let medium = other?[each.media]
    else {
      return nil
    }
    return .toApp(.candidate(each.candidate.json(of: medium, at: index)))
  }
}

// MARK: - Information

extension JingleSession {
  /// Returns the informational message for what an app says; `nil` if Jingle has none for it.
  private static func info(_ json: String) -> JingleRequest.Info? {
    guard let object = try? JSONValue(parsing: json) else { return nil }
    if case .bool(let isMuted) = object["muted"] { return .muted(isMuted, media: object["mid"]?.string) }
    if case .bool(let isHeld) = object["held"] { return isHeld ? .hold : .unhold }
    return nil
  }

  /// Returns what an app is told of an informational message; `nil` if it makes no difference to one.
  private static func json(_ info: JingleRequest.Info) -> String? {
    let members: [JSONValue.Member]
    switch info {
    case .muted(let isMuted, let media):
      members = [.init("muted", .bool(isMuted))] + (media.map { [.init("mid", .string($0))] } ?? [])
    case .hold: members = [.init("held", .bool(true))]
    case .unhold: members = [.init("held", .bool(false))]
    case .active: members = [.init("held", .bool(false)), .init("muted", .bool(false))]
    case .ringing, .none: return nil
    }
    return JSONValue.object(members).text
  }

  /// Returns what an app is told of a problem with what it said.
  public static func info(_ problem: MediaProblem) -> String {
    let error = JSONValue.object([.init("code", .string(problem.code)), .init("message", .string(problem.text))])
    return JSONValue.object([.init("error", error)]).text
  }
}
