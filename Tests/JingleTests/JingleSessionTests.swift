import NIOCore
import Testing
import XMLStream

@testable import Jingle

private let offer = (try? SessionDescription(sdp: Offers.chromium)) ?? SessionDescription()
private let answer: SessionDescription = {
  var answer = offer
  answer.media[0].transport.ufrag = "answ"
  answer.media[0].transport.fingerprint.setup = .active
  return answer
}()
private let candidate = Candidate(
  foundation: "1", component: 1, priority: 9, address: "192.0.2.7", port: 4000, kind: .srflx,
  relatedAddress: "10.0.0.1",
  relatedPort: 5000)
private let ofMedia = Candidate.OfMedia(media: "0", candidate: candidate)

private func json(_ ufrag: String) -> String { candidate.json(of: medium(ufrag), at: 0) }
private func medium(_ ufrag: String) -> Media {
  var medium = offer.media[0]
  medium.transport.ufrag = ufrag
  return medium
}

/// XEP-0166 with the informational messages of XEP-0167 8.
@Suite("The session of a call between an app and a Jingle client")
struct JingleSessionTests {
  @Test("an app calls: candidates of the client wait for its answer")
  func appCalls() throws {
    var (session, steps) = try JingleSession.offered(sdp: Offers.chromium, sid: "a73s")
    #expect(steps == [.toClient(.initiate(offer))])
    steps = try session.said(.candidate(json("EsAw")))
    #expect(
      steps == [
        .toClient(
          .candidates([ofMedia], credentials: ["0": .init(ufrag: "EsAw", password: "P2uYro0UCOQ4zxjKXaWCBui1")]))
      ])
    #expect(try session.heard(.info(.ringing)) == [])
    #expect(try session.heard(.candidates([ofMedia], credentials: [:])) == [])
    steps = try session.heard(.accept(answer))
    guard case .toApp(.answer(let sdp)) = steps.first else { throw Missing() }
    #expect(try SessionDescription(sdp: sdp, isAnswer: true) == answer)
    #expect(steps.dropFirst() == [.toApp(.candidate(json("answ")))])
    #expect(try session.heard(.candidates([ofMedia], credentials: [:])) == [.toApp(.candidate(json("answ")))])
  }

  @Test("a client calls: candidates of the app wait for its answer")
  func clientCalls() throws {
    var (session, steps) = JingleSession.initiated(offer, sid: "a73s")
    guard case .toApp(.offer(let sdp)) = steps[0] else { throw Missing() }
    #expect(try SessionDescription(sdp: sdp) == offer)
    #expect(try session.heard(.candidates([ofMedia], credentials: [:])) == [.toApp(.candidate(json("EsAw")))])
    #expect(try session.said(.candidate(json("answ"))) == [])
    let credentials = ["0": JingleRequest.Credentials(ufrag: "answ", password: offer.media[0].transport.password)]
    steps = try session.said(.answer(answer.sdp(origin: 1, answers: offer)))
    #expect(steps == [.toClient(.accept(answer)), .toClient(.candidates([ofMedia], credentials: credentials))])
  }

  @Test("what an app says in the wrong order is refused, and changes nothing")
  func wrongOrderOfApp() throws {
    let (before, _) = try JingleSession.offered(sdp: Offers.chromium, sid: "a73s")
    var session = before
    #expect(throws: MediaProblem.self) { try session.said(.offer(Offers.chromium)) }
    #expect(throws: MediaProblem.self) { try session.said(.answer(Offers.chromium)) }
    #expect(throws: MediaProblem.self) { try session.said(.candidate("{}")) }
    #expect(throws: MediaProblem.self) { try session.said(.candidate(#"{"candidate":"candidate:x","sdpMid":"0"}"#)) }
    #expect(throws: MediaProblem.self) { try session.said(.candidate(json("EsAw").replacing(#""0""#, with: #""9""#))) }
    #expect(session == before)
    var called = JingleSession.initiated(offer, sid: "a73s").0
    // An answer says who begins DTLS, declines nothing, and adds nothing.
    #expect(throws: MediaProblem.self) { try called.said(.answer(Offers.chromium)) }
    #expect(throws: MediaProblem.self) {
      try called.said(.answer(answer.sdp(origin: 1, answers: nil).replacing("a=mid:0", with: "a=mid:1")))
    }
    #expect(throws: MediaProblem.self) {
      try called.said(.answer(answer.sdp(origin: 1, answers: nil).replacing("m=audio 9", with: "m=audio 0")))
    }
    _ = try called.said(.answer(answer.sdp(origin: 1, answers: offer)))
    #expect(throws: MediaProblem.self) { try called.said(.answer(answer.sdp(origin: 1, answers: offer))) }
  }

  @Test("what a client says in the wrong order is refused, and changes nothing")
  func wrongOrderOfClient() throws {
    let before = JingleSession.initiated(offer, sid: "a73s").0
    var session = before
    let elsewhere = Candidate.OfMedia(media: "9", candidate: candidate)
    for request in [
      JingleRequest.initiate(offer), .accept(answer), .other("content-modify"), .other("nonsense"),
      .candidates([elsewhere], credentials: [:]),
      .candidates([ofMedia], credentials: ["0": .init(ufrag: "restarted", password: "p")]),
    ] {
      #expect(throws: JingleSession.Refusal.self) { try session.heard(request) }
    }
    #expect(session == before)
    let refused = try session.heard(.add(["screen"]))
    #expect(refused.first == .toClient(.reject(["screen"])))
    guard case .toApp(.info(let text)) = refused.last else { throw Missing() }
    #expect(text.contains("renegotiation-unsupported"))
    #expect(session == before)
    var caller = try JingleSession.offered(sdp: Offers.chromium, sid: "a73s").0
    #expect(throws: JingleSession.Refusal.self) { try caller.heard(.accept(offer)) }
    _ = try caller.heard(.accept(answer))
    #expect(throws: JingleSession.Refusal.self) { try caller.heard(.accept(answer)) }
  }

  @Test("a medium that the client leaves out is declined in the answer, and has no candidates")
  func declined() throws {
    var session = try JingleSession.offered(sdp: Offers.video, sid: "a73s").0
    let steps = try session.heard(.accept(answer))
    guard case .toApp(.answer(let sdp)) = steps.first else { throw Missing() }
    #expect(sdp.contains("m=video 0 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=inactive\r\n"))
    #expect(try session.heard(.candidates([.init(media: "1", candidate: candidate)], credentials: [:])) == [])
  }

  @Test("a candidate for RTCP is not for a browser, which sends that with RTP")
  func ofRTCP() throws {
    var session = JingleSession.initiated(offer, sid: "a73s").0
    var other = ofMedia
    other.candidate.component = 2
    #expect(try session.heard(.candidates([other, ofMedia], credentials: [:])) == [.toApp(.candidate(json("EsAw")))])
    var both = offer
    both.media[0].transport.candidates = [other.candidate, candidate]
    #expect(
      both.sdp(origin: 1, answers: nil).split(separator: "\r\n").filter { $0.hasPrefix("a=candidate") } == [
        "a=candidate:\(candidate.attribute)"
      ])
  }

  @Test("candidates that Jingle cannot say are left out, and their number is bounded")
  func candidates() throws {
    var session = try JingleSession.offered(sdp: Offers.chromium, sid: "a73s").0
    for line in [
      "", "candidate:1 1 tcp 1 192.0.2.1 9 typ host tcptype active",
      "candidate:1 1 udp 1 6f1b.local 5000 typ host generation 0",
    ] {
      #expect(try session.said(.candidate(#"{"candidate":"\#(line)","sdpMid":"0"}"#)) == [])
    }
    #expect(try session.said(.candidate(json("outdated"))) == [])
    for _ in 0..<JingleLimits.candidatesMax { _ = try session.said(.candidate(json("EsAw"))) }
    #expect(throws: MediaProblem.self) { try session.said(.candidate(json("EsAw"))) }
    for _ in 0..<JingleLimits.candidatesMax { _ = try session.heard(.candidates([ofMedia], credentials: [:])) }
    #expect(throws: JingleSession.Refusal.self) { try session.heard(.candidates([ofMedia], credentials: [:])) }
  }

  @Test("mute and hold are told in both directions; what only one side knows is not")
  func information() throws {
    var session = JingleSession.initiated(offer, sid: "a73s").0
    for (info, json) in [
      (JingleRequest.Info.muted(true, media: "0"), #"{"muted":true,"mid":"0"}"#),
      (.muted(false, media: nil), #"{"muted":false}"#), (.hold, #"{"held":true}"#), (.unhold, #"{"held":false}"#),
    ] {
      #expect(try session.heard(.info(info)) == [.toApp(.info(json))])
      #expect(try session.said(.info(json)) == [.toClient(.info(info))])
      var writer = ElementWriter()
      JingleRequest.info(info).write(sid: "a", by: .responder, initiator: "a@b/c", sender: "d@e/f", into: &writer)
      let element = try Element(xml: String(decoding: writer.buffer.readableBytesView, as: UTF8.self))
      #expect(try JingleRequest(element, by: .responder) == .info(info))
    }
    // XEP-0167 8.1: it ends either.
    #expect(try session.heard(.info(.active)) == [.toApp(.info(#"{"held":false,"muted":false}"#))])
    #expect(try session.said(.info(#"{"mood":"sad"}"#)) == [])
    #expect(try session.heard(.info(.none)) == [])
  }
}

private struct Missing: Error {}
