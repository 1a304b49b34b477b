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

  /// RFC 9773 4.1, 4.2.
  @Test func anAuthoritySaysWhenToRenew() throws {
    let name = RenewalInfo.certificate(
      authority: [
        0x69, 0x88, 0x5B, 0x6B, 0x87, 0x46, 0x40, 0x41, 0xE1, 0xB3, 0x7B, 0x84, 0x7B, 0xA0, 0xAE, 0x2C, 0xDE, 0x01,
        0xC8, 0xD4,
      ], serial: [0x87, 0x65, 0x43, 0x21])
    #expect(name == "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE")
    func answer(_ body: String, status: Int = 200, retryAfter: Int? = nil) -> Answer {
      Answer(status: status, retryAfter: retryAfter, body: Array(body.utf8))
    }
    let directory =
      #"{"newNonce":"n","newAccount":"a","newOrder":"o","renewalInfo":"https://example.com/acme/renewal-info"}"#
    #expect(
      try RenewalInfo.url(of: name, in: answer(directory))
        == "https://example.com/acme/renewal-info/aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE")
    #expect(try RenewalInfo.url(of: name, in: answer(#"{"newNonce":"n","newAccount":"a","newOrder":"o"}"#)) == nil)
    let window =
      #"{"suggestedWindow":{"start":"2021-01-03T00:00:00Z","end":"2021-01-07T00:00:00Z"},"explanationURL":"u"}"#
    let info = try RenewalInfo(answer(window, retryAfter: 21_600))
    #expect(info.time(fraction: 0) == Timestamp("2021-01-03T00:00:00Z"))
    #expect(info.time(fraction: 0.5) == Timestamp("2021-01-05T00:00:00Z"))
    #expect(info.explanation == "u" && info.checkSeconds == 21_600)
    #expect(try RenewalInfo(answer(window, retryAfter: 1)).checkSeconds == 60)
    #expect(try RenewalInfo(answer(window, retryAfter: .max)).checkSeconds == 86_400)
    #expect(try RenewalInfo(answer(window)).checkSeconds == 21_600)
    let backwards = #"{"suggestedWindow":{"start":"2021-01-07T00:00:00Z","end":"2021-01-03T00:00:00Z"}}"#
    for wrong in [answer(backwards), answer("{}"), answer("no"), answer(window, status: 404)] {
      let failure = #expect(throws: ACMEFailure.self) { _ = try RenewalInfo(wrong) }
      #expect(failure?.isUnreachable == false)
    }
    #expect(#expect(throws: ACMEFailure.self) { _ = try RenewalInfo(answer("", status: 503)) }?.isUnreachable == true)
    // Soon, later, and then as seldom as without an answer.
    #expect((1...6).map { RenewalInfo.check(after: $0, isTemporary: true) } == [60, 120, 240, 480, 960, 21_600])
    #expect(RenewalInfo.check(after: 1, isTemporary: false) == 21_600)
  }

  @Test func aThirdOfTheValidityRemains() {
    let end = noon + .seconds(90 * 86_400)
    #expect(RenewalTime.of(from: noon, until: end, fraction: 0) == noon + .seconds(60 * 86_400))
    #expect(RenewalTime.of(from: noon, until: end, fraction: 0.5) == noon + .milliseconds(58_500 * 86_400))
    #expect(RenewalTime.of(from: end, until: noon, fraction: 0.9) == noon)
  }
}
