import XMLStream
import XMPP

// Session descriptions as the contents of a Jingle session: XEP-0166 7.3, XEP-0167 5, XEP-0176 5, XEP-0293, XEP-0294,
// XEP-0320, XEP-0338, XEP-0339.

/// The names of a Jingle session's elements.
enum Content {
  static let transportNamespace: StaticString = "urn:xmpp:jingle:transports:ice-udp:1"
  static let rtp: StaticString = "urn:xmpp:jingle:apps:rtp:1"
  static let extensions: StaticString = "urn:xmpp:jingle:apps:rtp:rtp-hdrext:0"
  static let feedback: StaticString = "urn:xmpp:jingle:apps:rtp:rtcp-fb:0"
  static let sources: StaticString = "urn:xmpp:jingle:apps:rtp:ssma:0"
  static let grouping: StaticString = "urn:xmpp:jingle:apps:grouping:0"

  static let content = Name("content", NS.jingle)
  static let description = Name("description", rtp)
  static let payload = Name("payload-type", rtp)
  static let parameter = Name("parameter", rtp)
  static let multiplexed = Name("rtcp-mux", rtp)
  static let feedbackName = Name("rtcp-fb", feedback)
  static let feedbackParameter = Name("parameter", feedback)
  static let ownExtension = Name("rtp-hdrext", extensions)
  static let mixed = Name("extmap-allow-mixed", extensions)
  static let source = Name("source", sources)
  static let sourceParameter = Name("parameter", sources)
  static let sourceGroup = Name("ssrc-group", sources)
  static let transport = Name("transport", transportNamespace)
  static let fingerprint = Name("fingerprint", "urn:xmpp:jingle:apps:dtls:0")
  static let group = Name("group", grouping)
  static let groupContent = Name("content", grouping)
}

/// The side of a session that describes.
public enum Side: String, Hashable, Sendable {
  case initiator, responder

  public var other: Side { self == .initiator ? .responder : .initiator }

  /// Returns the value of `senders` (XEP-0166 7.3).
  func senders(_ direction: Media.Direction) -> String {
    switch direction {
    case .both: "both"
    case .sends: rawValue
    case .receives: other.rawValue
    case .none: "none"
    }
  }

  func direction(_ senders: String?) -> Media.Direction? {
    switch senders {
    case nil, "both": .both
    case "none": Media.Direction.none
    case rawValue: .sends
    case other.rawValue: .receives
    default: nil
    }
  }
}

extension SessionDescription {
  /// Reads the contents of a `<jingle/>` of one side.
  init(_ jingle: Element, by side: Side) throws(MediaProblem) {
    for child in jingle.children {
      if child.is(Content.content) {
        media.append(try Media(child, by: side))
        guard media.count <= JingleLimits.mediaMax else {
          throw MediaProblem("too-many-media", "The description has more than \(JingleLimits.mediaMax) media.")
        }
      } else if child.is(Content.group), child.has("semantics", equalTo: "BUNDLE") {
        var bundle: [String] = []
        for content in child.children where content.is(Content.groupContent) {
          bundle.append(try content["name"].word("The name of a content of the group"))
        }
        bundles.append(try bundle.bounded("contents of a group"))
      }
    }
    self = try checked()
  }

  func write(into writer: inout ElementWriter, by side: Side) {
    for medium in media { medium.write(into: &writer, by: side) }
    for bundle in bundles {
      writer.element(Content.group) { writer in
        writer.attribute("semantics", "BUNDLE" as StaticString)
        for name in bundle { writer.element(Content.groupContent) { $0.attribute("name", name) } }
      }
    }
  }
}

extension Media {
  fileprivate init(_ content: Element, by side: Side) throws(MediaProblem) {
    name = try content["name"].word("The name of a content")
    guard let description = content.first(Content.description) else {
      throw MediaProblem("media-unsupported", "The content \(name) is not described by XEP-0167.", .application)
    }
    guard let kind = description["media"].flatMap({ Kind(rawValue: $0) }) else {
      throw MediaProblem("media-unsupported", "The content \(name) is neither audio nor video.", .application)
    }
    self.kind = kind
    guard let transport = content.first(Content.transport) else {
      throw MediaProblem("transport-unsupported", "The content \(name) has no transport of XEP-0176.", .transport)
    }
    self.transport = try Transport(transport, of: name, by: side)
    guard let direction = side.direction(content["senders"]) else {
      throw MediaProblem("value-invalid", "senders of the content \(name) is both, initiator, responder or none.")
    }
    self.direction = direction
    for child in description.children {
      if child.is(Content.payload) {
        payloads.append(try Payload(child))
      } else if child.is(Content.multiplexed) {
        isMultiplexed = true
      } else if child.is(Content.feedbackName) {
        feedback.append(try Feedback(child))
      } else if child.is(Content.ownExtension) {
        extensions.append(
          Extension(
            id: try child["id"].number("The id of a header extension"),
            uri: try child["uri"].word("The URI of a header extension"),
            direction: child["senders"] == nil ? nil : side.direction(child["senders"])))
      } else if child.is(Content.mixed) {
        mixesExtensions = true
      } else if child.is(Content.source) {
        sources.append(try Source(child))
      } else if child.is(Content.sourceGroup) {
        var members: [UInt32] = []
        for source in child.children where source.is(Content.source) {
          members.append(try source["ssrc"].number("ssrc of a group of sources"))
        }
        sourceGroups.append(
          SourceGroup(semantics: try child["semantics"].word("semantics of a group of sources"), sources: members))
      }
    }
  }

  fileprivate func write(into writer: inout ElementWriter, by side: Side) {
    writer.element(Content.content) { writer in
      writer.attribute("creator", "initiator" as StaticString)
      writer.attribute("name", name)
      writer.attribute("senders", side.senders(direction))
      writer.element(Content.description) { writer in
        writer.attribute("media", kind.rawValue)
        for payload in payloads { payload.write(into: &writer) }
        if isMultiplexed { writer.element(Content.multiplexed) }
        for each in feedback { each.write(into: &writer) }
        for each in extensions {
          writer.element(Content.ownExtension) { writer in
            writer.attribute("id", each.id)
            writer.attribute("uri", each.uri)
            if let direction = each.direction { writer.attribute("senders", side.senders(direction)) }
          }
        }
        if mixesExtensions { writer.element(Content.mixed) }
        for group in sourceGroups {
          writer.element(Content.sourceGroup) { writer in
            writer.attribute("semantics", group.semantics)
            for ssrc in group.sources { writer.element(Content.source) { $0.attribute("ssrc", ssrc) } }
          }
        }
        for source in sources {
          writer.element(Content.source) { writer in
            writer.attribute("ssrc", source.ssrc)
            for parameter in source.parameters { parameter.write(as: Content.sourceParameter, into: &writer) }
          }
        }
      }
      transport.write(into: &writer)
    }
  }
}

extension Media.Parameter {
  fileprivate init(_ element: Element, _ what: String) throws(MediaProblem) {
    name = try (element["name"] ?? "").line(what)
    value = try (element["value"] ?? "").line(what)
    guard !name.utf8.contains(where: { $0 <= 32 || $0 >= 127 || $0 == 59 || $0 == 61 }) else {
      throw MediaProblem("value-invalid", "\(what) has a name that is no word.")
    }
  }

  fileprivate func write(as element: Name, into writer: inout ElementWriter) {
    writer.element(element) { writer in
      writer.attribute("name", name)
      writer.attribute("value", value)
    }
  }
}

extension Media.Feedback {
  fileprivate init(_ element: Element) throws(MediaProblem) {
    type = try element["type"].word("The type of rtcp-fb")
    subtype = try element["subtype"]?.line("The subtype of rtcp-fb")
  }

  fileprivate func write(into writer: inout ElementWriter) {
    writer.element(Content.feedbackName) { writer in
      writer.attribute("type", type)
      writer.attribute("subtype", subtype)
    }
  }
}

extension Media.Payload {
  fileprivate init(_ element: Element) throws(MediaProblem) {
    id = try element["id"].number("The id of a payload type")
    if let text = element["name"], !text.isEmpty { name = try text.word("The name of a payload type") }
    if let rate = element["clockrate"] { clockRate = try Optional(rate).number("clockrate of a payload type") }
    if let count = element["channels"] { channels = try Optional(count).number("channels of a payload type") }
    if channels == 1 { channels = nil }
    for child in element.children {
      if child.is(Content.parameter) {
        parameters.append(try Media.Parameter(child, "A parameter of a payload type"))
      } else if child.is(Content.feedbackName) {
        feedback.append(try Media.Feedback(child))
      }
    }
    _ = try feedback.bounded("kinds of feedback")
  }

  fileprivate func write(into writer: inout ElementWriter) {
    writer.element(Content.payload) { writer in
      writer.attribute("id", id)
      writer.attribute("name", name)
      if let clockRate { writer.attribute("clockrate", clockRate) }
      if let channels { writer.attribute("channels", channels) }
      for parameter in parameters { parameter.write(as: Content.parameter, into: &writer) }
      for each in feedback { each.write(into: &writer) }
    }
  }
}

extension Media.Source {
  fileprivate init(_ element: Element) throws(MediaProblem) {
    ssrc = try element["ssrc"].number("ssrc of a source")
    for child in element.children where child.is(Content.sourceParameter) {
      parameters.append(try Media.Parameter(child, "A parameter of a source"))
    }
    _ = try parameters.bounded("parameters of a source")
  }
}

extension Transport {
  fileprivate init(_ element: Element, of name: String, by side: Side) throws(MediaProblem) {
    guard let ufrag = element["ufrag"], let password = element["pwd"] else {
      throw MediaProblem("ice-missing", "The content \(name) has no ICE credentials.", .transport)
    }
    self.ufrag = try ufrag.word("ufrag")
    self.password = try password.word("pwd")
    guard let print = element.first(Content.fingerprint) else {
      throw MediaProblem("fingerprint-missing", "The content \(name) has no DTLS fingerprint.", .security)
    }
    guard
      let setup = Fingerprint.Setup(rawValue: print["setup"] ?? (side == .initiator ? "actpass" : "active"))
    else {
      throw MediaProblem("setup-invalid", "setup of the content \(name) is active, passive or actpass.", .security)
    }
    fingerprint = Fingerprint(
      hash: try print["hash"].word("hash of a fingerprint"),
      value: try String(print.text.filter { !$0.isWhitespace }).word("A fingerprint"), setup: setup)
    for child in element.children where child.is(Candidate.name) {
      if let candidate = try Candidate(child) { candidates.append(candidate) }
    }
  }

  fileprivate func write(into writer: inout ElementWriter) {
    writer.element(Content.transport) { writer in
      writer.attribute("pwd", password)
      writer.attribute("ufrag", ufrag)
      writer.element(Content.fingerprint) { writer in
        writer.attribute("hash", fingerprint.hash)
        writer.attribute("setup", fingerprint.setup.rawValue)
        writer.text(fingerprint.value)
      }
      for candidate in candidates { candidate.write(into: &writer) }
    }
  }
}
