import JSON
import XMLStream
import XMPP

/// An ICE candidate: `a=candidate` (RFC 8839 5.1), `RTCIceCandidate.toJSON()`, or `<candidate/>` (XEP-0176 5.4).
public struct Candidate: Hashable, Sendable {
  public enum Kind: String, Sendable { case host, srflx, prflx, relay }

  public var foundation: String
  public var component: UInt8
  public var priority: UInt32
  public var address: String
  public var port: UInt16
  public var kind: Kind
  public var relatedAddress: String?
  public var relatedPort: UInt16?
  public var generation: UInt8 = 0

  /// Whether the candidate is for RTP. A browser has no use for one for RTCP, which it always sends with RTP, and
  /// takes it for an error.
  var isForRTP: Bool { component == 1 }

  /// The candidate of a medium.
  public struct OfMedia: Hashable, Sendable {
    public var media: String
    public var candidate: Candidate
  }
}

// MARK: - SDP

extension Candidate {
  /// Reads the value of `a=candidate`. Returns `nil` for one that Jingle cannot say: over TCP, or with a name in place
  /// of an address (RFC 8839 5.1), which only the browser's own network can resolve.
  init?(attribute: Substring) throws(MediaProblem) {
    let fields = attribute.split(separator: " ").map(String.init)
    guard fields.count >= 8, fields[6] == "typ" else {
      throw MediaProblem("candidate-invalid", "A candidate is not as RFC 8839 5.1 has it.", .transport)
    }
    foundation = try fields[0].word("The candidate's foundation")
    component = try Optional(fields[1]).number("The candidate's component")
    priority = try Optional(fields[3]).number("The candidate's priority")
    address = try fields[4].word("The candidate's address")
    port = try Optional(fields[5]).number("The candidate's port")
    guard let kind = Kind(rawValue: fields[7]) else {
      throw MediaProblem("candidate-invalid", "The candidate's type is host, srflx, prflx or relay.", .transport)
    }
    self.kind = kind
    var index = 8
    while index + 1 < fields.count {
      switch fields[index] {
      case "raddr": relatedAddress = try fields[index + 1].word("The candidate's raddr")
      case "rport": relatedPort = try Optional(fields[index + 1]).number("The candidate's rport")
      case "generation": generation = UInt8(fields[index + 1]) ?? 0
      default: break
      }
      index += 2
    }
    guard fields[2].lowercased() == "udp", Self.isAddress(address) else { return nil }
  }

  /// The value of `a=candidate`.
  var attribute: String {
    var text = "\(foundation) \(component) udp \(priority) \(address) \(port) typ \(kind.rawValue)"
    if let relatedAddress { text += " raddr \(relatedAddress) rport \(relatedPort ?? 0)" }
    return text + " generation \(generation)"
  }

  private static func isAddress(_ text: String) -> Bool {
    text.contains(":") || text.utf8.allSatisfy { $0 == 46 || $0 >= 48 && $0 <= 57 }
  }
}

// MARK: - JSON

extension Candidate {
  /// Reads what `RTCIceCandidate.toJSON()` returns. Returns `nil` for the end of the candidates, and for one that
  /// Jingle cannot say.
  ///
  /// - Parameters:
  ///   - description: the description that names the media.
  ///   - isOwn: whether it is that of the side whose candidate this is; one of other credentials is then outdated.
  static func read(
    json: String, of description: SessionDescription, isOwn: Bool
  ) throws(MediaProblem) -> OfMedia? {
    guard let object = try? JSONValue(parsing: json), let line = object["candidate"]?.string else {
      throw MediaProblem("candidate-invalid", "candidate.candidate is missing: what RTCIceCandidate.toJSON() returns.")
    }
    if line.isEmpty { return nil }
    var name = object["sdpMid"]?.string
    if name == nil, let index = object["sdpMLineIndex"]?.number.flatMap({ Int(exactly: $0) }),
      description.media.indices.contains(index)
    {
      name = description.media[index].name
    }
    guard let name, let medium = description[name] else {
      throw MediaProblem("candidate-invalid", "candidate.sdpMid is no medium of the description that was sent.")
    }
    let attribute = line.hasPrefix("candidate:") ? line.dropFirst(10) : Substring(line)
    guard let candidate = try Candidate(attribute: attribute) else { return nil }
    if isOwn, let ufrag = object["usernameFragment"]?.string, ufrag != medium.transport.ufrag { return nil }
    return OfMedia(media: name, candidate: candidate)
  }

  /// Returns the candidate as `RTCPeerConnection.addIceCandidate()` takes it.
  func json(of medium: Media, at index: Int) -> String {
    JSONValue.object([
      .init("candidate", .string("candidate:\(attribute) ufrag \(medium.transport.ufrag)")),
      .init("sdpMid", .string(medium.name)), .init("sdpMLineIndex", .number("\(index)")),
      .init("usernameFragment", .string(medium.transport.ufrag)),
    ]).text
  }
}

// MARK: - Jingle

extension Candidate {
  static let name = Name("candidate", Content.transportNamespace)

  /// Reads a `<candidate/>`. Returns `nil` for one over another protocol (XEP-0371).
  init?(_ element: Element) throws(MediaProblem) {
    foundation = try element["foundation"].word("The candidate's foundation")
    component = try element["component"].number("The candidate's component")
    priority = try element["priority"].number("The candidate's priority")
    address = try element["ip"].word("The candidate's ip")
    port = try element["port"].number("The candidate's port")
    guard let kind = element["type"].flatMap({ Kind(rawValue: $0) }) else {
      throw MediaProblem("candidate-invalid", "The candidate's type is host, srflx, prflx or relay.", .transport)
    }
    self.kind = kind
    if let address = element["rel-addr"] { relatedAddress = try address.word("The candidate's rel-addr") }
    if let port = element["rel-port"] { relatedPort = try Optional(port).number("The candidate's rel-port") }
    generation = element["generation"].flatMap { UInt8($0) } ?? 0
    guard element["protocol"]?.lowercased() == "udp", Self.isAddress(address) else { return nil }
  }

  func write(into writer: inout ElementWriter) {
    writer.element(Self.name) { writer in
      writer.attribute("component", component)
      writer.attribute("foundation", foundation)
      writer.attribute("generation", generation)
      // Unique in the session, and the same when it is sent again.
      var id: UInt64 = 0xcbf2_9ce4_8422_2325
      for byte in attribute.utf8 { id = (id ^ UInt64(byte)) &* 0x100_0000_01b3 }
      writer.attribute("id", "c" + String(id, radix: 16))
      writer.attribute("ip", address)
      writer.attribute("network", 0)
      writer.attribute("port", port)
      writer.attribute("priority", priority)
      writer.attribute("protocol", "udp" as StaticString)
      if let relatedAddress {
        writer.attribute("rel-addr", relatedAddress)
        writer.attribute("rel-port", relatedPort ?? 0)
      }
      writer.attribute("type", kind.rawValue)
    }
  }
}
