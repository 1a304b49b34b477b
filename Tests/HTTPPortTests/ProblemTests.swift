import Basics
import Dialogs
import NIOHTTP1
import ServerMetrics
import Testing

@testable import HTTPPort

@Suite struct ProblemTests {
  /// The table of the design: every kind has one status.
  @Test(arguments: [
    (Problem.Kind.malformed, 400), (.unauthenticated, 401), (.forbidden, 403), (.blocked, 403), (.missing, 404),
    (.unreachable, 404), (.conflict, 409), (.tooLarge, 413), (.foreign, 422), (.tooFast, 429), (.internal, 500),
    (.unsupported, 501), (.overloaded, 503),
  ])
  func statuses(kind: Problem.Kind, status: Int) {
    #expect(kind.status == status)
    let body = ProblemBody(Problem(kind, "some-code", "Some text.", field: "f", retryAfter: 2))
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

  @Test func timesInAnotherOrderGiveNothingTwice() {
    var bucket = TokenBucket(rate, now: time(10_000))
    for _ in 0..<3 { _ = bucket.take(rate, now: time(10_000)) }
    for _ in 0..<10 {
      #expect(bucket.take(rate, now: time(9_900)) == 1)
      #expect(bucket.take(rate, now: time(10_000)) == 1)
    }
    #expect(bucket.take(rate, now: time(10_500)) == nil)
  }

  @Test func oneKeyDoesNotSpendAnothers() throws {
    let limiter = RateLimiter<String>(
      Rate(burst: 1, perSecond: 0.1), policy: "some", code: "too-fast", text: "Wait.",
      metrics: Metrics())
    try limiter.take("a", now: time(0))
    #expect { try limiter.take("a", now: time(0)) } throws: {
      ($0 as? Problem)?.kind == .tooFast && ($0 as? Problem)?.retryAfter == 10
    }
    try limiter.take("b", now: time(0))
  }
}
