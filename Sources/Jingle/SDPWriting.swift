// Session descriptions as browsers read them (RFC 8829 5.3.1, RFC 8866 5).

extension SessionDescription {
  /// Returns the description as SDP.
  ///
  /// - Parameters:
  ///   - origin: the number of the session (RFC 8866 5.2), the same in both directions.
  ///   - offer: the offer that this answers, whose missing media it declines.
  public func sdp(origin: UInt64, answers offer: SessionDescription?) -> String {
    var lines = ["v=0", "o=- \(origin) 1 IN IP4 0.0.0.0", "s=-", "t=0 0"]
    for bundle in bundles { lines.append("a=group:" + (["BUNDLE"] + bundle).joined(separator: " ")) }
    if media.contains(where: \.mixesExtensions) { lines.append("a=extmap-allow-mixed") }
    lines.append("a=msid-semantic: WMS *")
    for medium in (offer ?? self).media {
      if let own = self[medium.name] {
        own.write(into: &lines, isOffer: offer == nil)
      } else {
        // RFC 8829 5.3.1: an answer has as many sections as its offer.
        lines += ["m=\(medium.kind.rawValue) 0 UDP/TLS/RTP/SAVPF \(medium.payloads[0].id)", "c=IN IP4 0.0.0.0"]
        lines += ["a=mid:\(medium.name)", "a=inactive"]
      }
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }
}

extension Media {
  fileprivate func write(into lines: inout [String], isOffer: Bool) {
    let ids = payloads.map { "\($0.id)" }.joined(separator: " ")
    lines += ["m=\(kind.rawValue) 9 UDP/TLS/RTP/SAVPF \(ids)", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0"]
    lines += transport.candidates.filter(\.isForRTP).map { "a=candidate:\($0.attribute)" }
    lines += ["a=ice-ufrag:\(transport.ufrag)", "a=ice-pwd:\(transport.password)", "a=ice-options:trickle"]
    lines.append("a=fingerprint:\(transport.fingerprint.hash) \(transport.fingerprint.value)")
    lines += ["a=setup:\(transport.fingerprint.setup.rawValue)", "a=mid:\(name)"]
    for each in extensions {
      lines.append("a=extmap:\(each.id)\(each.direction.map { "/" + $0.rawValue } ?? "") \(each.uri)")
    }
    lines.append("a=\(direction.rawValue)")
    for source in sources {
      guard let stream = source.parameters.first(where: { $0.name == "msid" }) else { continue }
      lines.append("a=msid:\(stream.value)")
      break
    }
    if isMultiplexed { lines.append("a=rtcp-mux") }
    for each in feedback { lines.append("a=rtcp-fb:* \(each.text)") }
    for payload in payloads { payload.write(into: &lines) }
    for group in sourceGroups {
      lines.append("a=ssrc-group:\(group.semantics) " + group.sources.map { "\($0)" }.joined(separator: " "))
    }
    for source in sources {
      for parameter in source.parameters {
        lines.append("a=ssrc:\(source.ssrc) \(parameter.name)\(parameter.value.isEmpty ? "" : ":" + parameter.value)")
      }
    }
  }
}

extension Media.Feedback {
  fileprivate var text: String { subtype.map { "\(type) \($0)" } ?? type }
}

extension Media.Payload {
  fileprivate func write(into lines: inout [String]) {
    if let name {
      lines.append("a=rtpmap:\(id) \(name)/\(clockRate ?? 8_000)\(channels.map { $0 > 1 ? "/\($0)" : "" } ?? "")")
    }
    for each in feedback { lines.append("a=rtcp-fb:\(id) \(each.text)") }
    guard !parameters.isEmpty else { return }
    let values = parameters.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }
    lines.append("a=fmtp:\(id) " + values.joined(separator: ";"))
  }
}
