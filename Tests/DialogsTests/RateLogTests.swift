import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

@Suite struct RateLogTests {
  private let rate = Rate(burst: 3, perSecond: 0.5)
  private func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

  @Test func aBucketTellsWhatIsLeftAndWhenThereIsMore() {
    var bucket = TokenBucket(rate, now: time(0))
    #expect(
      bucket.status("some", rate, now: time(0))
        == RateLimitStatus(policy: "some", quota: 3, window: 6, remaining: 3, reset: nil))
    let statuses = (0..<4).map { _ in
      _ = bucket.take(rate, now: time(0))
      return bucket.status("some", rate, now: time(0))
    }
    #expect(statuses.map(\.remaining) == [2, 1, 0, 0])
    #expect(statuses.map(\.reset) == [2, 2, 2, 2])
    // Half of the next one is there.
    #expect(bucket.status("some", rate, now: time(1_000)).reset == 1)
  }

  /// For an act that takes several tokens, the wait is until that many are there, and the rest is counted in acts.
  @Test func manyAtOnce() {
    let rate = Rate(burst: 100, perSecond: 1)
    var bucket = TokenBucket(rate, now: time(0))
    #expect(bucket.take(rate, count: 70, now: time(0)) == nil)
    #expect(bucket.take(rate, count: 70, now: time(0)) == 40)
    let status = bucket.status("some", rate, count: 70, now: time(0))
    #expect(status.remaining == 30 && status.reset == 40 && status.further == 0)
  }

  @Test func theTightestIsToldAndARefusalBeforeAll() {
    func status(_ policy: String, _ remaining: Int, _ reset: Int = 1) -> RateLimitStatus {
      RateLimitStatus(policy: policy, quota: 1_000, window: 5, remaining: remaining, reset: reset)
    }
    let log = RateLog()
    #expect(log.tightest == nil)
    log.note(status("requests", 999))
    log.note(status("searches", 19))
    #expect(log.tightest?.policy == "searches")
    log.note(status("codes", 19, 30))
    #expect(log.tightest?.policy == "codes")
    // The same rate again: how it stands now.
    log.note(status("requests", 3))
    #expect(log.tightest == status("requests", 3))
    log.giveBack("requests")
    #expect(log.tightest == status("requests", 4))
    log.note(status("exports", 0))
    log.note(Problem(.tooFast, "slow-mode", "Wait.", retryAfter: 7))
    #expect(log.tightest == RateLimitStatus(policy: "slow-mode", remaining: 0, reset: 7))
  }

  @Test func otherProblemsAreNoRates() {
    let log = RateLog()
    log.note(Problem(.overloaded, "overloaded", "Wait.", retryAfter: 7))
    log.note(Problem(.tooFast, "too-many-invitations", "Wait."))
    #expect(log.tightest == nil)
  }

  /// A shared budget is not reported before it refuses.
  @Test func theUseOfOthersIsNotTold() async throws {
    let stage = try Stage()
    let mail = Identity(.email, "juliet@example.org")
    let act = PacedAct.codeOfHour(.address(.code, RealmID(1), mail, network: "192.0.2.1"))
    let log = RateLog()
    RateLog.$current.withValue(log) {
      for _ in 0..<4 {
        #expect(throws: Never.self) { try stage.accounts.pace(act) }
        #expect(log.tightest == nil)
      }
      #expect(throws: Problem.self) { try stage.accounts.pace(act) }
    }
    #expect(log.tightest?.policy == "codes-to-address-hour" && log.tightest?.remaining == 0)
  }

  /// What is left would tell that somebody has logged in from here, and which names are one user's.
  @Test func loginsAreNotedByTheirRefusalAlone() async throws {
    let stage = try Stage()
    let attempt = LoginAttempt(of: try BareJID("juliet@localhost"), from: "192.0.2.1", device: nil)
    let log = RateLog()
    try RateLog.$current.withValue(log) {
      let stranger = LoginAttempt(of: try BareJID("romeo@localhost"), from: "192.0.2.1", device: nil)
      try stage.accounts.look(stranger) { .wrong }
      #expect(log.tightest == nil)
      try stage.accounts.look(attempt) { .right }
      for _ in 0..<20 {
        try stage.accounts.look(attempt) { .wrong }
        #expect(log.tightest == nil)
      }
      #expect(throws: Problem.self) {
        try stage.accounts.look(attempt) {
          Issue.record("nothing is looked at any more")
          return .right
        }
      }
    }
    #expect(log.tightest == RateLimitStatus(policy: "logins", remaining: 0, reset: 5))
  }
}
