public import XMLStream
public import XMPP

/// A request of a Jingle session (XEP-0166 7.2), as far as a call has it.
public enum JingleRequest: Hashable, Sendable {
  /// `session-initiate`.
  case initiate(SessionDescription)
  /// `session-accept`.
  case accept(SessionDescription)
  /// `transport-info`: candidates of media, with the credentials of each medium, as far as the sender states them.
  case candidates([Candidate.OfMedia], credentials: [String: Credentials])
  /// `session-info` (XEP-0167 8).
  case info(Info)
  /// `session-terminate`, with the condition of its reason and a text.
  case terminate(reason: String, text: String?)
  /// `content-add`, with the names of its contents, which a call refuses.
  case add([String])
  /// `content-reject`, as the answer to that.
  case reject([String])
  /// Another action of XEP-0166 7.2.
  case other(String)

  /// The ICE credentials of a medium.
  public struct Credentials: Hashable, Sendable {
    public var ufrag: String
    public var password: String
  }

  /// The informational messages of XEP-0167 8.
  public enum Info: Hashable, Sendable {
    case active, hold, unhold, ringing
    /// Whether a medium is muted; `nil` for all of them.
    case muted(Bool, media: String?)
    /// An empty `session-info`, which asks whether the session is there (XEP-0166 6.8).
    case none
  }

  public static let name = Name("jingle", NS.jingle)
  static let reason = Name("reason", NS.jingle)
  private static let text = Name("text", NS.jingle)
  private static let informing: StaticString = "urn:xmpp:jingle:apps:rtp:info:1"
  private static let mute = Name("mute", informing)
  private static let unmute = Name("unmute", informing)

  /// Reads the session's id; throws the error for a request that has none.
  public static func sid(of jingle: Element) throws(StanzaError) -> String {
    _ = try jingle.requiredNonEmpty("action")
    return try jingle.requiredNonEmpty("sid")
  }

  public static func isInitiate(_ jingle: Element) -> Bool { jingle.has("action", equalTo: "session-initiate") }
  public static func isTerminate(_ jingle: Element) -> Bool { jingle.has("action", equalTo: "session-terminate") }

  /// Reads a `<jingle/>`.
  ///
  /// - Parameter side: the side that sends it.
  public init(_ jingle: Element, by side: Side) throws(MediaProblem) {
    switch jingle["action"] ?? "" {
    case "session-initiate": self = .initiate(try SessionDescription(jingle, by: side))
    case "session-accept": self = .accept(try SessionDescription(jingle, by: side))
    case "transport-info": self = try Self.candidates(in: jingle)
    case "session-info": self = .info(try Self.info(in: jingle))
    case "session-terminate":
      let reason = jingle.first(Self.reason)
      let condition = reason?.children.first { $0.namespace == "\(NS.jingle)" && $0.local != "text" }
      self = .terminate(reason: condition?.local ?? "success", text: reason?.first(Self.text)?.text)
    case "content-add":
      var names: [String] = []
      for content in jingle.children where content.is(Content.content) {
        names.append(try content["name"].word("The name of a content"))
      }
      self = .add(try names.bounded("contents"))
    case let other: self = .other(other)
    }
  }

  private static func candidates(in jingle: Element) throws(MediaProblem) -> JingleRequest {
    var candidates: [Candidate.OfMedia] = []
    var credentials: [String: Credentials] = [:]
    for content in jingle.children where content.is(Content.content) {
      let name = try content["name"].word("The name of a content")
      guard let transport = content.first(Content.transport) else {
        throw MediaProblem("transport-unsupported", "The content \(name) has no transport of XEP-0176.", .transport)
      }
      if let ufrag = transport["ufrag"], let password = transport["pwd"] {
        credentials[name] = Credentials(ufrag: ufrag, password: password)
      }
      for child in transport.children where child.is(Candidate.name) {
        guard let candidate = try Candidate(child) else { continue }
        candidates.append(Candidate.OfMedia(media: name, candidate: candidate))
      }
    }
    return .candidates(try candidates.bounded("candidates"), credentials: credentials)
  }

  private static func info(in jingle: Element) throws(MediaProblem) -> Info {
    for child in jingle.children {
      guard child.namespace == "\(informing)" else {
        throw MediaProblem("info-unsupported", "Only the informational messages of XEP-0167 are understood.")
      }
      switch child.local {
      case "active": return .active
      case "hold": return .hold
      case "unhold": return .unhold
      case "ringing": return .ringing
      case "mute": return .muted(true, media: child["name"])
      case "unmute": return .muted(false, media: child["name"])
      default: throw MediaProblem("info-unsupported", "Only the informational messages of XEP-0167 are understood.")
      }
    }
    return .none
  }

  // MARK: Writing

  private var action: StaticString {
    switch self {
    case .initiate: "session-initiate"
    case .accept: "session-accept"
    case .candidates: "transport-info"
    case .info: "session-info"
    case .terminate: "session-terminate"
    case .add: "content-add"
    case .reject: "content-reject"
    case .other: "session-info"
    }
  }

  /// Writes the request of one side.
  ///
  /// - Parameters:
  ///   - initiator: the full address of the initiator.
  ///   - sender: the full address of the sender.
  public func write(sid: String, by side: Side, initiator: String, sender: String, into writer: inout ElementWriter) {
    writer.element(Self.name) { writer in
      writer.attribute("action", action)
      writer.attribute("initiator", initiator)
      if case .accept = self { writer.attribute("responder", sender) }
      writer.attribute("sid", sid)
      switch self {
      case .initiate(let description), .accept(let description): description.write(into: &writer, by: side)
      case .candidates(let candidates, let credentials): Self.write(candidates, credentials, into: &writer)
      case .info(let info): Self.write(info, by: side, into: &writer)
      case .terminate(let reason, let text):
        writer.element(Self.reason) { writer in
          writer.element(Self.condition(reason))
          if let text { writer.element(Self.text) { $0.text(text) } }
        }
      case .reject(let names), .add(let names):
        for name in names {
          writer.element(Content.content) { writer in
            writer.attribute("creator", side.other.rawValue)
            writer.attribute("name", name)
          }
        }
        writer.element(Self.reason) { $0.element(Self.condition("unsupported-applications")) }
      case .other: break
      }
    }
  }

  private static func write(
    _ candidates: [Candidate.OfMedia], _ credentials: [String: Credentials], into writer: inout ElementWriter
  ) {
    var names: [String] = []
    for each in candidates where !names.contains(each.media) { names.append(each.media) }
    for name in names {
      writer.element(Content.content) { writer in
        writer.attribute("creator", "initiator" as StaticString)
        writer.attribute("name", name)
        writer.element(Content.transport) { writer in
          writer.attribute("pwd", credentials[name]?.password)
          writer.attribute("ufrag", credentials[name]?.ufrag)
          for each in candidates where each.media == name { each.candidate.write(into: &writer) }
        }
      }
    }
  }

  private static func write(_ info: Info, by side: Side, into writer: inout ElementWriter) {
    switch info {
    case .active: writer.element(Name("active", informing))
    case .hold: writer.element(Name("hold", informing))
    case .unhold: writer.element(Name("unhold", informing))
    case .ringing: writer.element(Name("ringing", informing))
    case .muted(let isMuted, let media):
      writer.element(isMuted ? mute : unmute) { writer in
        writer.attribute("creator", side.rawValue)
        writer.attribute("name", media)
      }
    case .none: break
    }
  }

  /// Returns the element of a reason's condition (XEP-0166 7.4) that this server gives.
  private static func condition(_ reason: String) -> Name {
    let known: [StaticString] = [
      "success", "busy", "cancel", "decline", "expired", "timeout", "connectivity-error", "failed-application",
      "incompatible-parameters", "unsupported-applications", "unsupported-transports", "security-error",
    ]
    return Name(known.first { "\($0)" == reason } ?? "general-error", NS.jingle)
  }
}
