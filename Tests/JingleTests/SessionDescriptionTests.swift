import NIOCore
import Testing
import XMLStream

@testable import Jingle

private func written(_ request: JingleRequest, by side: Side) throws -> Element {
  var writer = ElementWriter()
  request.write(sid: "a73s", by: side, initiator: "a@localhost/x", sender: "b@localhost/y", into: &writer)
  return try Element(xml: String(decoding: writer.buffer.readableBytesView, as: UTF8.self))
}

/// XEP-0167, XEP-0176, XEP-0293, XEP-0294, XEP-0320, XEP-0338 and XEP-0339 beside RFC 8829, RFC 8839 and RFC 8866.
@Suite("Session descriptions between SDP and Jingle")
struct SessionDescriptionTests {
  @Test("an offer of Chromium's survives the way to Jingle and back", arguments: [Offers.chromium, Offers.video])
  func roundTrip(sdp: String) throws {
    let offer = try SessionDescription(sdp: sdp)
    let element = try written(.initiate(offer), by: .initiator)
    #expect(try JingleRequest(element, by: .initiator) == .initiate(offer))
    #expect(try SessionDescription(sdp: offer.sdp(origin: 7, answers: nil)) == offer)
    // Nothing that a browser needs is lost.
    let again = Set(offer.sdp(origin: 7, answers: nil).split(separator: "\r\n"))
    let left = sdp.split(separator: "\r\n").filter { !again.contains($0) }
    #expect(
      left.allSatisfy {
        $0.hasPrefix("o=") || $0.hasPrefix("a=msid-semantic") || $0.hasPrefix("a=rtcp-") && $0 != "a=rtcp-mux"
      }, "\(left)")
  }

  @Test("a session-initiate becomes an SDP that says the same; what is over TCP is left out")
  func fromJingle() throws {
    let offer = try SessionDescription(try Element(xml: Offers.jingle), by: .initiator)
    #expect(
      offer.sdp(origin: 7, answers: nil).split(separator: "\r\n") == [
        "v=0", "o=- 7 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=msid-semantic: WMS *",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111 0", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
        "a=candidate:1 1 udp 2130706431 192.0.2.3 8998 typ host generation 0",
        "a=ice-ufrag:8hhy", "a=ice-pwd:asd88fgpdd777uzjYhagZg", "a=ice-options:trickle",
        "a=fingerprint:sha-256 02:1A:CC", "a=setup:actpass", "a=mid:0",
        "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level", "a=sendrecv",
        "a=msid:my-media-stream my-audio-track", "a=rtcp-mux",
        "a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc", "a=fmtp:111 minptime=10;useinbandfec=1",
        "a=rtpmap:0 PCMU/8000", "a=ssrc:77 cname:x", "a=ssrc:77 msid:my-media-stream my-audio-track",
      ])
  }

  @Test("Dino's session-initiate becomes an SDP of two media that share no transport")
  func fromDino() throws {
    let offer = try SessionDescription(try Element(xml: Offers.dino), by: .initiator)
    #expect(
      offer.sdp(origin: 7, answers: nil).split(separator: "\r\n") == [
        "v=0", "o=- 7 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=msid-semantic: WMS *",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111 112", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
        "a=candidate:2 1 udp 2015363583 fd00::2 47760 typ host generation 0",
        "a=ice-ufrag:aaaa", "a=ice-pwd:WMaqlHddzwqDilaRrDiyHE", "a=ice-options:trickle",
        "a=fingerprint:sha-256 B5:15:DC", "a=setup:actpass", "a=mid:audio", "a=sendrecv", "a=rtcp-mux",
        "a=rtpmap:111 opus/48000/2", "a=fmtp:111 useinbandfec=1", "a=rtpmap:112 speex/32000",
        "m=video 9 UDP/TLS/RTP/SAVPF 98", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
        "a=ice-ufrag:bbbb", "a=ice-pwd:x6pWw4jDSaRfkesRnG5vVl", "a=ice-options:trickle",
        "a=fingerprint:sha-256 B5:15:DC", "a=setup:actpass", "a=mid:video",
        "a=extmap:1 urn:3gpp:video-orientation", "a=sendrecv", "a=rtcp-mux",
        "a=rtpmap:98 VP8/90000", "a=rtcp-fb:98 goog-remb", "a=rtcp-fb:98 ccm fir",
      ])
  }

  @Test(
    "directions are those of the side that describes", arguments: Media.Direction.allCases,
    [Side.initiator, .responder])
  func directions(direction: Media.Direction, side: Side) throws {
    #expect(side.direction(side.senders(direction)) == direction)
    var description = try SessionDescription(sdp: Offers.chromium)
    description.media[0].direction = direction
    #expect(try JingleRequest(written(.accept(description), by: side), by: side) == .accept(description))
    #expect(try SessionDescription(sdp: description.sdp(origin: 1, answers: nil)) == description)
  }

  @Test(
    "what Jingle or a call cannot say has a clear reason",
    arguments: [
      ("a=fingerprint", "a=x", "fingerprint-missing"), ("m=audio", "m=application", "media-unsupported"),
      ("a=ice-pwd", "a=x", "ice-missing"), ("UDP/TLS/RTP/SAVPF", "RTP/AVP", "profile-unsupported"),
      ("UDP/TLS/RTP/SAVPF", "UDP/DTLS/SCTP", "profile-unsupported"), ("m=audio 9", "m=audio 0", "media-declined"),
      ("a=setup:actpass", "a=setup:holdconn", "setup-invalid"), ("v=0", "w=0", "sdp-invalid"),
      ("t=0 0", "nonsense", "sdp-invalid"), ("a=mid:0", "a=mid:a b", "value-invalid"),
      ("SAVPF 111 63 9 0 8 13 110 126", "SAVPF 911", "value-invalid"), ("m=audio", "a=audio", "media-missing"),
      ("opus/48000/2", "opus/much", "value-invalid"), ("a=rtcp-mux", "a=x", "mux-missing"),
    ])
  func unmappable(part: String, other: String, code: String) throws {
    let error = #expect(throws: MediaProblem.self) {
      try SessionDescription(sdp: Offers.chromium.replacing(part, with: other))
    }
    #expect(error?.code == code)
  }

  @Test(
    "what SDP or a call cannot say has a clear reason",
    arguments: [
      ("urn:xmpp:jingle:apps:dtls:0", "x:y", "fingerprint-missing"), ("'audio'", "'text'", "media-unsupported"),
      ("urn:xmpp:jingle:apps:rtp:1", "urn:xmpp:jingle:apps:file-transfer:5", "media-unsupported"),
      ("urn:xmpp:jingle:transports:ice-udp:1", "urn:xmpp:jingle:transports:ibb:1", "transport-unsupported"),
      ("ufrag='8hhy'", "", "ice-missing"), ("senders='both'", "senders='all'", "value-invalid"),
      ("'opus'", "'opus&#10;a=x'", "value-invalid"), ("value='10'", "value='10&#13;&#10;a=x'", "value-invalid"),
      ("'8hhy'", "'8h hy'", "value-invalid"), ("id='111'", "id='411'", "value-invalid"),
      ("port='8998'", "port='-1'", "value-invalid"), ("ip='192.0.2.3'", "", "value-missing"),
      ("'minptime'", "'min ptime'", "value-invalid"), ("<rtcp-mux/>", "", "mux-missing"),
    ])
  func unmappableJingle(part: String, other: String, code: String) throws {
    let element = try Element(xml: Offers.jingle.replacing(part, with: other))
    let error = #expect(throws: MediaProblem.self) { try SessionDescription(element, by: .initiator) }
    #expect(error?.code == code)
  }

  @Test("the number of everything is bounded")
  func bounds() throws {
    let medium = Offers.chromium.split(separator: "m=audio")[1]
    let many = Offers.chromium + (1...8).map { "m=audio" + medium.replacing("a=mid:0", with: "a=mid:\($0)") }.joined()
    #expect(throws: MediaProblem.self) { try SessionDescription(sdp: many) }
    let lines = (0..<100).map { "a=ssrc:\($0) cname:x\r\n" }.joined()
    #expect(throws: MediaProblem.self) { try SessionDescription(sdp: Offers.chromium + lines) }
    let types = "SAVPF " + (0..<100).map { "\($0)" }.joined(separator: " ")
    #expect(throws: MediaProblem.self) {
      try SessionDescription(sdp: Offers.chromium.replacing("SAVPF 111", with: types))
    }
    #expect(throws: MediaProblem.self) {
      try SessionDescription(sdp: Offers.chromium.replacing("EsAw", with: String(repeating: "E", count: 600)))
    }
  }
}
