import Basics
import Testing

@testable import ACME

@Suite struct RenewalTests {
  private let noon = Timestamp(milliseconds: 1_000_000_000_000)

  @Test func delaysDoubleAndEndAtADay() {
    var record = RenewalRecord(directory: "d")
    var delays: [Int64] = []
    for _ in 0..<10 {
      record.failed(ACMEFailure("no"), at: noon, random: 0)
      delays.append(((record.notBefore ?? noon).milliseconds - noon.milliseconds) / 1_000)
    }
    #expect(delays == [600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800, 86_400, 86_400])
    #expect(record.failingSince == noon && record.failure == "no")
    record.succeeded()
    #expect(record.failure == nil && record.failingSince == nil && record.notBefore == nil && record.hasIssued)
  }

  @Test func anAuthorityThatIsDownIsTriedSooner() {
    var record = RenewalRecord(directory: "d")
    record.failed(ACMEFailure("down", isUnreachable: true), at: noon, random: 0)
    #expect(record.notBefore == noon + .seconds(5))
    record.failed(ACMEFailure("down", isUnreachable: true), at: noon, random: 0.5)
    #expect(record.notBefore == noon + .milliseconds(11_250))
  }

  @Test func theAuthoritysWaitIsKept() {
    var record = RenewalRecord(directory: "d")
    record.failed(ACMEFailure("slow down", retryAfter: 3_600), at: noon, random: 0)
    #expect(record.notBefore == noon + .seconds(3_600) && record.bidUntil == noon + .seconds(3_600))
    // A short one does not shorten the delay, and one of years is no wait.
    record.failed(ACMEFailure("slow down", retryAfter: 1), at: noon, random: 0)
    #expect(record.notBefore == noon + .seconds(1_200) && record.bidUntil == noon + .seconds(1))
    record.failed(ACMEFailure("slow down", retryAfter: .max), at: noon, random: 0)
    #expect(record.bidUntil == noon + .seconds(7 * 86_400))
  }

  @Test func tenOrdersADay() {
    var record = RenewalRecord(directory: "d")
    for minute in 0..<10 { record.ordered(at: noon + .seconds(60 * minute)) }
    let later = noon + .seconds(3_600)
    #expect(record.ordersLeft(at: later) == 0 && record.orderPermitted(at: later) == noon + .seconds(86_400))
    let next = noon + .seconds(86_400)
    #expect(record.ordersLeft(at: next) == 1 && record.orderPermitted(at: next) == next)
    // A clock that was set back does not stop the server for days.
    #expect(record.ordersLeft(at: noon + .seconds(-60)) == 10)
  }

  @Test func aThirdOfTheValidityRemains() {
    let end = noon + .seconds(90 * 86_400)
    #expect(RenewalTime.of(from: noon, until: end, fraction: 0) == noon + .seconds(60 * 86_400))
    #expect(RenewalTime.of(from: noon, until: end, fraction: 0.5) == noon + .milliseconds(58_500 * 86_400))
    #expect(RenewalTime.of(from: end, until: noon, fraction: 0.9) == noon)
  }
}
