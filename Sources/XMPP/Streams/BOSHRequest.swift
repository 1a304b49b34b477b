public import NIOCore
public import XMLStream

/// The reason why a BOSH session ends (XEP-0124 17.2).
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

/// A client's `<body/>`: its request to the session, and its elements (XEP-0124 6, XEP-0206 2).
public struct BOSHRequest: Sendable, Equatable {
  /// The number of the request, one more than the one before (14).
  public var rid: Int64
  /// The session's id; `nil` requests a new session (7.1).
  public var sid: String?
  /// The elements. Stanzas are in `jabber:client`.
  public var payloads: [Element] = []
  /// Whether it ends the session, behind its payloads (13).
  public var isTermination = false
  /// Whether it restarts the stream (XEP-0206 5).
  public var isRestart = false
  /// The seconds for which the client will send nothing (10).
  public var pause: Int?
  /// The number up to which the client has every response (9.2).
  public var ack: Int64?
  /// The next key of the client's sequence, and the first of a new one (15).
  public var key: String?
  public var newKey: String?

  // For a request that opens a session:
  /// The seconds that a response may wait.
  public var wait: Int?
  /// The requests that may be kept waiting.
  public var hold: Int?
  /// The `<major>.<minor>` version of BOSH.
  public var version: String?
  /// The header of the stream that is opened or restarted.
  public var header: StreamHeader

  /// The largest number that a request may have (14.1).
  public static let ridMax: Int64 = 9_007_199_254_740_991

  /// Reads a `<body/>`. Throws `badRequest` if it is none.
  public init(_ body: Element) throws(BOSHCondition) {
    guard body.is(.httpBody), let rid = body["rid"].flatMap({ Self.number($0) }), rid > 0 else { throw .badRequest }
    self.rid = rid
    sid = body["sid"]
    // Character data is only for the elements in it (6).
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

  /// Whether it contains nothing and is only an opportunity to respond.
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

/// A server's `<body/>`.
public struct BOSHResponse: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    case plain
    /// Send it again, with all that followed it (XEP-0124 17.3).
    case repeated
    /// The session is over: as the client asked (`nil`), or for this reason.
    case terminated(BOSHCondition?)
  }

  public var kind: Kind
  /// The highest request that has arrived with all before it, if it is not the one responded to (9.1).
  public var ack: Int64?
  /// The parameters of the session, in the first response.
  public var session: BOSHSession?
  /// The stand-alone elements (`StreamFraming.writeStandAlone`).
  public var payloads: [ByteBuffer]

  public init(
    _ kind: Kind = .plain, ack: Int64? = nil, session: BOSHSession? = nil, payloads: [ByteBuffer] = []
  ) {
    self.kind = kind
    self.ack = ack
    self.session = session
    self.payloads = payloads
  }

  /// Returns the whole `<body/>`.
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
    // XEP-0206 2: if it contains features or an error of the stream.
    if payloads.contains(where: { $0.readableBytesView.starts(with: "<stream:".utf8) }) {
      writer.attribute("xmlns:stream", NS.streams)
    }
    for payload in payloads { writer.raw(payload) }
    writer.close()
    return writer.buffer
  }
}

/// The parameters of a session (XEP-0124 7.2).
public struct BOSHSession: Sendable, Equatable {
  public var sid: String
  /// The number of the request that opened it.
  public var rid: Int64
  /// The seconds that a response may wait, at most as requested.
  public var wait: Int
  /// The requests kept waiting, at most as requested.
  public var hold: Int
  /// The requests that a client may have open.
  public var requests: Int
  /// The seconds for which a client may have none open.
  public var inactivity: Int
  /// The least seconds between two empty requests.
  public var polling: Int
  /// The most seconds for which a client may pause.
  public var pauseMax: Int
  public var version: String
  /// The requested domain.
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

/// The bounds of BOSH sessions, in seconds, bytes and requests.
public struct BOSHPolicy: Sendable {
  /// The seconds that a response may wait: proxies give up after a minute or two.
  public var waitMax = 60
  /// The requests held: more than one gains nothing, since output is sent with the oldest.
  public var holdMax = 1
  /// The seconds without a request after which the session is lost (10): a bad network's round trip and a browser that
  /// sleeps a little.
  public var inactivity = 60
  public var polling = 2
  /// The maximum pause in seconds: enough to load the next page, or for a phone that is unused for a moment.
  public var pauseMax = 120
  /// The requests that bring nothing, as they are repeated or begin a pause, while the client has sent as much as it may: they do not wait
  /// as others do. A client on a bad line repeats one every few seconds. One more ends the session with `policy-violation` (14.3).
  public var nothingInDebtMax = 64
  /// The bytes of one response; the next one has the rest.
  public var responseBytesMax = 256 * 1024

  public init() {}
}
