import Addresses
import AppProtocol
import Basics
import Dialogs
import NIOCore
import NIOHTTP1
import Testing

@testable import AppDoor

@Suite struct ProblemTests {
  /// The table of the design: every kind has one status.
  @Test(arguments: [
    (Problem.Kind.malformed, 400), (.unauthenticated, 401), (.forbidden, 403), (.blocked, 403), (.missing, 404),
    (.unreachable, 404), (.conflict, 409), (.tooLarge, 413), (.foreign, 422), (.tooFast, 429), (.internal, 500),
    (.unsupported, 501), (.overloaded, 503),
  ])
  func statuses(kind: Problem.Kind, status: Int) {
    #expect(kind.status == status)
    let body = ProblemBody(Problem(kind, "some-code", "Some text.", field: "f", retryAfter: 2), requestID: "r")
    #expect(body.status == status && body.code == "some-code" && body.detail == "Some text.")
    #expect(body.type == "urn:parley:problem:some-code" && body.field == "f" && body.retryAfter == 2)
    // NIO has the phrases of RFC 7231 for these two.
    #expect(body.title == HTTPResponseStatus(statusCode: status).reasonPhrase || status == 413 || status == 422)
  }

  /// A blocked user must not be able to tell the blocker from an unknown user.
  @Test func theBlockedSeeAnAbsentUser() {
    #expect(Problem.unreachable.kind.status == 404)
  }
}

@Suite struct RateTests {
  private let rate = Rate(burst: 3, perSecond: 2)
  private func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

  @Test func burstThenRate() {
    var bucket = TokenBucket(rate, now: time(0))
    let first = (0..<4).map { _ in bucket.take(rate, now: time(0)) }
    #expect(first == [nil, nil, nil, 1])
    #expect(bucket.take(rate, now: time(499)) == 1)
    #expect(bucket.take(rate, now: time(500)) == nil)
    #expect(bucket.take(rate, now: time(500)) == 1)
  }

  @Test func aClockThatGoesBackGivesNothing() {
    var bucket = TokenBucket(rate, now: time(10_000))
    for _ in 0..<3 { _ = bucket.take(rate, now: time(10_000)) }
    #expect(bucket.take(rate, now: time(0)) == 1)
    #expect(bucket.take(rate, now: time(499)) == 1)
  }

  @Test func oneKeyDoesNotSpendAnothers() throws {
    let limiter = RateLimiter<String>(Rate(burst: 1, perSecond: 0.1), policy: "some", code: "too-fast", text: "Wait.")
    try limiter.take("a", now: time(0))
    #expect { try limiter.take("a", now: time(0)) } throws: {
      ($0 as? Problem)?.kind == .tooFast && ($0 as? Problem)?.retryAfter == 10
    }
    try limiter.take("b", now: time(0))
  }
}

@Suite struct AddressTests {
  @Test func userIDsBecomeAddresses() throws {
    #expect(try Checks.address("Romeo", domain: "localhost").description == "romeo@localhost")
    #expect(try Checks.address("romeo@example.net", domain: "localhost").description == "romeo@example.net")
    for bad in ["", "a b", "a/b", "@", "a@", "romeo@localhost/r", String(repeating: "x", count: 2_000)] {
      #expect(throws: Problem.self) { try Checks.address(bad, domain: "localhost") }
    }
  }
}

@Suite struct ContentTests {
  private func content(_ text: String, metadata: String? = nil) throws -> Content {
    try Checks.content(
      InputDecoder.decode(ContentBody.self, from: JSONValue(parsing: text)),
      metadata: metadata.map { RawObject(trusted: $0) })
  }

  @Test func whatIsSentIsKept() throws {
    let text = try content(#"{"type":"text","text":"hi","unknown":1}"#)
    #expect(text == Content(kind: .text, text: "hi"))
    let place = try content(#"{"type":"location","lat":51.50,"lng":-0.1}"#)
    #expect(place == Content(kind: .location, text: "geo:51.50,-0.1", fields: #"{"lat":51.50,"lng":-0.1}"#))
    let poll = try content(
      #"{"type":"custom","kind":"poll","payload":{"q":[1]},"text":"A poll"}"#, metadata: #"{"m":1}"#)
    let stored = try #require(poll.fields)
    #expect(stored == #"{"kind":"poll","payload":{"q":[1]},"metadata":{"m":1}}"#)
    let (fields, metadata) = StoredFields.split(RawObject(trusted: stored))
    #expect(fields.text == #"{"kind":"poll","payload":{"q":[1]}}"#)
    #expect(metadata?.text == #"{"m":1}"#)
  }

  @Test(arguments: [
    (#"{"type":"text"}"#, "text-missing"), (#"{"type":"text","text":""}"#, "text-missing"),
    (#"{"type":"telepathy","text":"x"}"#, "content-type-unknown"),
    (#"{"type":"image","text":"x"}"#, "attachments-missing"),
    (#"{"type":"system","text":"x"}"#, "content-type-reserved"),
    (#"{"type":"text","text":"a\u0000b"}"#, "character-not-allowed"),
    (#"{"type":"text","text":"a\uffffb"}"#, "character-not-allowed"),
    (#"{"type":"custom","text":"x"}"#, "content-kind-missing"),
    (#"{"type":"location","lat":91,"lng":0}"#, "coordinate-malformed"),
    (#"{"type":"location","lat":"1","lng":0}"#, "coordinate-malformed"),
    (#"{"type":"location","lat":1,"lng":1e999}"#, "coordinate-malformed"),
    (#"{"type":"text","text":"x","metadata":{}}"#, "metadata-misplaced"),
  ])
  func whatCannotBeSentIsRefused(text: String, code: String) {
    #expect { try content(text) } throws: { ($0 as? Problem)?.code == code }
  }

  @Test func textIsCountedInCharacters() throws {
    let most = String(repeating: "é", count: Limits.textCharactersMax)
    #expect(try content(#"{"type":"text","text":"\#(most)"}"#).text == most)
    #expect { try content(#"{"type":"text","text":"\#(most)x"}"#) } throws: {
      ($0 as? Problem)?.code == "text-too-long"
    }
  }
}

@Suite struct ContactStateTests {
  /// The nine states of RFC 6121 A.1, as `docs/app-protocol.md` has them.
  @Test(arguments: [
    (Subscription.none, ContactBody.State.none), (.nonePendingOut, .pendingOut), (.nonePendingIn, .pendingIn),
    (.nonePendingOutIn, .pendingIn), (.to, .following), (.toPendingIn, .pendingIn), (.from, .followedBy),
    (.fromPendingOut, .pendingOut), (.both, .mutual),
  ])
  func nineStates(subscription: Subscription, state: ContactBody.State) {
    #expect(subscription.wireState == state)
  }
}
