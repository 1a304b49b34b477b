public import NIOCore
public import XMLStream

/// Why a BOSH session ends (XEP-0124 17.2).
public enum BOSHCondition: String, Error, Sendable, Equatable {
  case badRequest = "bad-request"
  case internalServerError = "internal-server-error"
  case itemNotFound = "item-not-found"
  case policyViolation = "policy-violation"
  case remoteConnectionFailed = "remote-connection-failed"
  /// The response ends with the `<stream:error/>` (XEP-0206 6).
  case remoteStreamError = "remote-stream-error"
  case systemShutdown = "system-shutdown"
}

/// A `<body/>` of a client: what it asks of the session, and the elements in it (XEP-0124 6, XEP-0206 2).
public struct BOSHRequest: Sendable, Equatable {
  /// The number of the request, one more than the one before (14).
  public var rid: Int64
  /// nil: it asks for a new session (7.1).
  public var sid: String?
  /// The elements in it. Stanzas are in `jabber:client`.
  public var payloads: [Element] = []
  /// It ends the session, behind its payloads (13).
  public var isTermination = false
  /// It restarts the stream (XEP-0206 5).
  public var isRestart = false
  /// Seconds for which the client will send nothing (10).
  public var pause: Int?
  /// Up to which request the client has every response (9.2).
  public var ack: Int64?
  /// The next key of the client's sequence, and the first of a new one (15).
  public var key: String?
  public var newKey: String?

  // Of a request for a session.
  /// Seconds that a response may wait.
  public var wait: Int?
  /// Requests that may be kept waiting.
  public var hold: Int?
  /// `<major>.<minor>` of BOSH.
  public var version: String?
  /// The header of the stream that is opened or restarted.
  public var header: StreamHeader

  /// The largest number that a request may have (14.1).
  public static let ridMax: Int64 = 9_007_199_254_740_991

  /// Reads a `<body/>`. Throws `badRequest` where it is none.
  public init(_ body: Element) throws(BOSHCondition) {
    guard body.is(.httpBody), let rid = body["rid"].flatMap({ Self.number($0) }), rid > 0 else { throw .badRequest }
    self.rid = rid
    sid = body["sid"]
    // Character data is for the elements in it (6).
    payloads = Array(body.children)
    isTermination = body["type"] == "terminate"
    isRestart = ["true", "1"].contains(body.attribute("restart", namespace: NS.xbosh))
    pause = try Self.count(body["pause"])
    ack = try Self.count(body["ack"]).map { Int64($0) }
    key = body["key"]
    newKey = body["newkey"]
    wait = try Self.count(body["wait"])
    hold = try Self.count(body["hold"])
    version = body["ver"]
    header = StreamHeader(
      framed: Element(
        Name("open", NS.framing),
        [
          "to": body["to"], "from": body["from"], "xml:lang": body.language,
          "version": body.attribute("version", namespace: NS.xbosh) ?? "1.0",
        ]))
  }

  /// Nothing but a chance to respond.
  var isEmpty: Bool { payloads.isEmpty && !isTermination && !isRestart && pause == nil }

  private static func count(_ text: String?) throws(BOSHCondition) -> Int? {
    guard let text else { return nil }
    guard let number = number(text) else { throw .badRequest }
    return Int(number)
  }

  private static func number(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.count <= 16, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text).flatMap { $0 <= ridMax ? $0 : nil }
  }
}

/// A `<body/>` of the server.
public struct BOSHResponse: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    case plain
    /// Send it again, and what came after it (XEP-0124 17.3).
    case repeated
    /// The session is over: as the client asked (nil), or for this reason.
    case terminated(BOSHCondition?)
  }

  public var kind: Kind
  /// The highest request that has come with all before it, where it is not the one responded to (9.1).
  public var ack: Int64?
  /// What the first response tells.
  public var session: BOSHSession?
  /// Elements that stand alone (`StreamFraming.writeStandAlone`).
  public var payloads: [ByteBuffer]

  public init(
    _ kind: Kind = .plain, ack: Int64? = nil, session: BOSHSession? = nil, payloads: [ByteBuffer] = []
  ) {
    self.kind = kind
    self.ack = ack
    self.session = session
    self.payloads = payloads
  }

  /// The whole `<body/>`.
  public func written() -> ByteBuffer {
    var writer = ElementWriter(defaultNamespace: "")
    writer.open(.httpBody)
    switch kind {
    case .plain: break
    case .repeated: writer.attribute("type", "error" as StaticString)
    case .terminated(let condition):
      writer.attribute("type", "terminate" as StaticString)
      writer.attribute("condition", condition?.rawValue)
    }
    if let ack { writer.attribute("ack", ack) }
    session?.write(into: &writer)
    // XEP-0206 2: where features or an error of the stream are in it.
    if payloads.contains(where: { $0.readableBytesView.starts(with: "<stream:".utf8) }) {
      writer.attribute("xmlns:stream", NS.streams)
    }
    for payload in payloads { writer.raw(payload) }
    writer.close()
    return writer.buffer
  }
}

/// What was agreed on for a session (XEP-0124 7.2).
public struct BOSHSession: Sendable, Equatable {
  public var sid: String
  /// The number of the request that made it.
  public var rid: Int64
  /// Seconds a response may wait, at most as asked for.
  public var wait: Int
  /// Requests kept waiting, at most as asked for.
  public var hold: Int
  /// Requests a client may have open.
  public var requests: Int
  /// Seconds a client may have none open.
  public var inactivity: Int
  /// Seconds between two empty requests, at least.
  public var polling: Int
  /// Seconds a client may ask to be away.
  public var pauseMax: Int
  public var version: String
  /// The domain asked for.
  public var from: String?

  func write(into writer: inout ElementWriter) {
    writer.attribute("sid", sid)
    writer.attribute("wait", wait)
    writer.attribute("hold", hold)
    writer.attribute("requests", requests)
    writer.attribute("inactivity", inactivity)
    writer.attribute("polling", polling)
    writer.attribute("maxpause", pauseMax)
    writer.attribute("ack", rid)
    writer.attribute("ver", version)
    writer.attribute("from", from)
    writer.attribute("xmlns:xmpp", NS.xbosh)
    writer.attribute("xmpp:version", "1.0" as StaticString)
    writer.attribute("xmpp:restartlogic", "true" as StaticString)
  }
}

/// What a server allows in a BOSH session. Numbers in seconds, bytes and requests.
public struct BOSHPolicy: Sendable {
  /// Proxies give up after a minute or two.
  public var waitMax = 60
  /// More than one gains nothing: what comes goes out with the oldest.
  public var holdMax = 1
  /// A bad network's round trip and a browser that sleeps a little; then the session is lost (10).
  public var inactivity = 60
  public var polling = 2
  /// From one page to the next, or a phone that was put away.
  public var pauseMax = 120
  /// Of one response; the next one has the rest.
  public var responseBytesMax = 256 * 1024

  public init() {}
}
