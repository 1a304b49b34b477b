import NIOCore
import Testing

@testable import DNS

@Suite struct AnswerCacheTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private func question(_ number: Int) -> Question { Question(name: name("n\(number).test"), type: .a) }

  private func answer(_ number: Int, seconds: UInt32) -> Answer {
    Answer(.noSuchName, name: name("n\(number).test"), isSecure: false, seconds: seconds)
  }

  @Test(arguments: [(0, 30), (29, 30), (100, 100), (3_600, 3_600), (604_800, 3_600)] as [(UInt32, Int64)])
  func answersHoldWithinBounds(_ seconds: UInt32, _ kept: Int64) {
    var cache = AnswerCache()
    cache.keep(answer(1, seconds: seconds), to: question(1), at: start)
    #expect(cache.answer(to: question(1), at: start + .seconds(kept) - .nanoseconds(1)) == answer(1, seconds: seconds))
    #expect(cache.answer(to: question(1), at: start + .seconds(kept)) == nil)
    #expect(cache.answer(to: Question(name: name("n1.test"), type: .aaaa), at: start) == nil)
  }

  @Test func theOldestAreForgotten() {
    var cache = AnswerCache()
    for number in 0..<(3 * DNSLimits.answersMax) {
      cache.keep(answer(number, seconds: 60), to: question(number), at: start)
      #expect(cache.count <= DNSLimits.answersMax)
    }
    #expect(cache.count == DNSLimits.answersMax)
    #expect(cache.answer(to: question(2 * DNSLimits.answersMax - 1), at: start) == nil)
    #expect(cache.answer(to: question(2 * DNSLimits.answersMax), at: start) != nil)
  }

  @Test func aNewAnswerReplacesTheOld() {
    var cache = AnswerCache()
    cache.keep(answer(1, seconds: 30), to: question(1), at: start)
    cache.keep(answer(1, seconds: 60), to: question(1), at: start + .seconds(31))
    #expect(cache.count == 1)
    #expect(cache.answer(to: question(1), at: start + .seconds(90))?.seconds == 60)
  }
}
