// Session descriptions as browsers write them (RFC 8829 5.2.1, RFC 8866 5).

extension SessionDescription {
  /// Reads SDP. An `m=` section with port 0 is one that an answer declines; in an offer it is an error, since a call's
  /// first offer declines nothing.
  public init(sdp: String, isAnswer: Bool = false) throws(MediaProblem) {
    guard sdp.hasPrefix("v=0") else { throw MediaProblem("sdp-invalid", "An SDP begins with v=0.") }
    var session: [Substring] = []
    var sections: [[Substring]] = []
    for line in sdp.split(whereSeparator: \.isNewline) {
      guard line.dropFirst().first == "=" else {
        throw MediaProblem("sdp-invalid", "The line \"\(line.prefix(40))\" is none of SDP.")
      }
      if line.hasPrefix("m=") {
        sections.append([line])
      } else if sections.isEmpty {
        session.append(line)
      } else {
        sections[sections.count - 1].append(line)
      }
      guard sections.count <= JingleLimits.mediaMax else {
        throw MediaProblem("too-many-media", "The description has more than \(JingleLimits.mediaMax) media.")
      }
    }
    let common = Attributes(session)
    for value in common.all("group") {
      let words = value.split(separator: " ").map(String.init)
      if words.first == "BUNDLE" { bundles.append(Array(words.dropFirst())) }
    }
    for (index, section) in sections.enumerated() {
      guard let medium = try Media(section, at: index, common, isAnswer: isAnswer) else { continue }
      media.append(medium)
    }
    self = try checked()
  }
}

/// The attributes of one section.
private struct Attributes {
  private let lines: [(name: Substring, value: Substring)]

  init(_ section: [Substring]) {
    lines = section.compactMap { line in
      guard line.hasPrefix("a=") else { return nil }
      let attribute = line.dropFirst(2)
      guard let colon = attribute.firstIndex(of: ":") else { return (attribute, "") }
      return (attribute[..<colon], attribute[attribute.index(after: colon)...])
    }
  }

  func all(_ name: String) -> [Substring] { lines.compactMap { $0.name == name ? $0.value : nil } }
  func first(_ name: String) -> String? { lines.first { $0.name == name }.map { String($0.value) } }
  func has(_ name: String) -> Bool { lines.contains { $0.name == name } }
}

extension Substring {
  /// Splits the value at the first space: `111 opus/48000/2`.
  fileprivate func halves() -> (String, String) {
    let parts = split(separator: " ", maxSplits: 1)
    return (parts.first.map(String.init) ?? "", parts.count > 1 ? String(parts[1]) : "")
  }
}

extension Media {
  /// Reads an `m=` section; `nil` if it is declined.
  fileprivate init?(
    _ section: [Substring], at index: Int, _ common: Attributes, isAnswer: Bool
  ) throws(MediaProblem) {
    let fields = section[0].dropFirst(2).split(separator: " ").map(String.init)
    guard fields.count >= 4 else {
      throw MediaProblem("sdp-invalid", "The line \"\(section[0].prefix(40))\" is incomplete.")
    }
    let own = Attributes(section)
    name = try (own.first("mid") ?? "\(index)").word("a=mid")
    if fields[1] == "0" {
      if isAnswer { return nil }
      throw MediaProblem("media-declined", "The offer declines its own medium \(name): a port is 0.")
    }
    guard let kind = Kind(rawValue: fields[0]) else {
      throw MediaProblem(
        "media-unsupported",
        "The medium \(name) is \(fields[0].prefix(20)): a call with an XMPP client has audio and video.",
        .application)
    }
    self.kind = kind
    guard fields[2].hasSuffix("RTP/SAVPF") || fields[2].hasSuffix("RTP/SAVP") else {
      throw MediaProblem(
        "profile-unsupported", "The medium \(name) is not sent by secured RTP: \(fields[2].prefix(40)).", .security)
    }
    for each in Direction.allCases where own.has(each.rawValue) || common.has(each.rawValue) { direction = each }
    for each in Direction.allCases where own.has(each.rawValue) { direction = each }
    isMultiplexed = own.has("rtcp-mux")
    mixesExtensions = own.has("extmap-allow-mixed") || common.has("extmap-allow-mixed")
    transport = try Self.transport(of: name, isAnswer: isAnswer) { own.first($0) ?? common.first($0) }
    for value in own.all("candidate") {
      if let candidate = try Candidate(attribute: value) { transport.candidates.append(candidate) }
    }
    for field in fields[3...] {
      payloads.append(Payload(id: try Optional(field).number("A payload type of the medium \(name)")))
    }
    payloads = try payloads.bounded("payload types")
    try readPayloads(own)
    for value in own.all("extmap") {
      let (id, uri) = value.halves()
      let parts = id.split(separator: "/").map(String.init)
      extensions.append(
        Extension(
          id: try parts.first.number("The id of a=extmap"),
          uri: try uri.split(separator: " ").first.map(String.init).word("The URI of a=extmap"),
          direction: parts.count > 1 ? Direction(rawValue: parts[1]) : nil))
    }
    try readSources(own)
  }

  /// Reads the credentials and the fingerprint of a medium, which may be those of the whole session.
  private static func transport(
    of name: String, isAnswer: Bool, _ either: (String) -> String?
  ) throws(MediaProblem) -> Transport {
    guard let fingerprint = either("fingerprint") else {
      throw MediaProblem("fingerprint-missing", "The medium \(name) has no DTLS fingerprint.", .security)
    }
    let (hash, value) = Substring(fingerprint).halves()
    guard let setup = Transport.Fingerprint.Setup(rawValue: either("setup") ?? (isAnswer ? "active" : "actpass")) else {
      throw MediaProblem("setup-invalid", "The medium \(name) has no a=setup of active, passive or actpass.", .security)
    }
    guard let ufrag = either("ice-ufrag"), let password = either("ice-pwd") else {
      throw MediaProblem("ice-missing", "The medium \(name) has no ICE credentials.", .transport)
    }
    return Transport(
      ufrag: try ufrag.word("a=ice-ufrag"), password: try password.word("a=ice-pwd"),
      fingerprint: .init(
        hash: try hash.word("a=fingerprint"), value: try value.word("a=fingerprint"), setup: setup))
  }

  private mutating func readPayloads(_ own: Attributes) throws(MediaProblem) {
    func index(_ id: String) -> Int? { payloads.firstIndex { "\($0.id)" == id } }
    for value in own.all("rtpmap") {
      let (id, codec) = value.halves()
      guard let index = index(id) else { continue }
      let parts = codec.split(separator: "/").map(String.init)
      payloads[index].name = try parts.first.word("The codec of a=rtpmap")
      if parts.count > 1 { payloads[index].clockRate = try Optional(parts[1]).number("The clock rate of a=rtpmap") }
      if parts.count > 2 { payloads[index].channels = try Optional(parts[2]).number("The channels of a=rtpmap") }
    }
    for value in own.all("fmtp") {
      let (id, text) = value.halves()
      guard let index = index(id) else { continue }
      for part in text.split(separator: ";") {
        let trimmed = part.drop { $0 == " " }
        guard let sign = trimmed.firstIndex(of: "=") else {
          // RFC 2198 and RFC 4733 have values without a name.
          payloads[index].parameters.append(Parameter("", try String(trimmed).line("a=fmtp")))
          continue
        }
        payloads[index].parameters.append(
          Parameter(
            try String(trimmed[..<sign]).word("The name in a=fmtp"),
            try String(trimmed[trimmed.index(after: sign)...]).line("The value in a=fmtp")))
      }
    }
    for value in own.all("rtcp-fb") {
      let (id, text) = value.halves()
      let words = Substring(text).halves()
      let said = Feedback(
        type: try words.0.word("a=rtcp-fb"), subtype: words.1.isEmpty ? nil : try words.1.line("a=rtcp-fb"))
      if id == "*" {
        feedback.append(said)
      } else if let index = index(id) {
        payloads[index].feedback.append(said)
      }
    }
  }

  private mutating func readSources(_ own: Attributes) throws(MediaProblem) {
    for value in own.all("ssrc") {
      let (id, text) = value.halves()
      let ssrc: UInt32 = try Optional(id).number("a=ssrc")
      if sources.last?.ssrc != ssrc, !sources.contains(where: { $0.ssrc == ssrc }) {
        sources.append(Source(ssrc: ssrc))
      }
      sources = try sources.bounded("sources")
      guard let index = sources.firstIndex(where: { $0.ssrc == ssrc }), !text.isEmpty else { continue }
      let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
      sources[index].parameters.append(
        Parameter(try parts[0].word("a=ssrc"), parts.count > 1 ? try parts[1].line("a=ssrc") : ""))
    }
    for value in own.all("ssrc-group") {
      var (semantics, ids) = value.halves()
      semantics = try semantics.word("a=ssrc-group")
      var members: [UInt32] = []
      for id in ids.split(separator: " ") { members.append(try Optional(String(id)).number("a=ssrc-group")) }
      sourceGroups.append(SourceGroup(semantics: semantics, sources: members))
    }
    // Jingle names the stream with the source (XEP-0339 2).
    if let stream = own.first("msid") {
      for index in sources.indices where !sources[index].parameters.contains(where: { $0.name == "msid" }) {
        sources[index].parameters.append(Parameter("msid", try stream.line("a=msid")))
      }
    }
  }
}
