import Testing

@testable import XMPPDoor

@Suite struct JudgementTurnsTests {
  /// The judgements that have begun and not ended.
  private final class Court: Sendable {
    let turns: JudgementTurns
    private let underWay = Locked<[(name: String, end: @Sendable () -> Void)]>([])

    init(perNetworkMax: Int = 2, perNetworkZoneMax: Int = 2) {
      turns = JudgementTurns(
        max: 4, perNetworkMax: perNetworkMax, perNetworkZoneMax: perNetworkZoneMax, perZoneMax: 3, heldMax: 8,
        heldPerNetworkMax: 4)
    }

    var names: [String] { underWay.withLock { $0.map(\.name) } }

    @discardableResult func judge(
      _ name: String, of network: String?, _ zone: String, isKnown: Bool = false
    ) -> Bool {
      turns.run(of: network, zone, isKnown: isKnown) { [self] end in underWay.withLock { $0.append((name, end)) } }
    }

    func end(_ name: String) {
      let end = underWay.withLock { underWay in
        underWay.firstIndex { $0.name == name }.map { underWay.remove(at: $0).end }
      }
      end?()
    }
  }

  @Test func networksAndZonesHaveFewAtOnceAndTakeTurns() {
    let court = Court()
    for number in 0..<3 { court.judge("a\(number)", of: "192.0.2.1", "evil.example") }
    #expect(court.names == ["a0", "a1"])
    // Another network has one more of the zone; then the zone has all that it may have.
    for number in 0..<2 { court.judge("b\(number)", of: "192.0.2.2", "evil.example") }
    #expect(court.names == ["a0", "a1", "b0"])
    court.judge("c0", of: "192.0.2.3", "mantua.example")
    #expect(court.names == ["a0", "a1", "b0", "c0"])
    court.judge("d0", of: "192.0.2.4", "padua.example")
    // The next place is the other zone's, although the first one came before it.
    court.end("c0")
    #expect(court.names == ["a0", "a1", "b0", "d0"])
    for name in ["a0", "d0"] { court.end(name) }
    #expect(court.names == ["a1", "b0", "b1"])
    court.end("b0")
    #expect(court.names == ["a1", "b1", "a2"])
  }

  /// Behind the address of a host, a server without name servers holds up neither those of other zones nor those that are known here.
  @Test func theZonesOfANetworkTakeTurns() {
    let court = Court(perNetworkMax: 2, perNetworkZoneMax: 1)
    for number in 0..<2 { court.judge("a\(number)", of: "192.0.2.1", "evil.example") }
    #expect(court.names == ["a0"])
    court.judge("b0", of: "192.0.2.1", "mantua.example")
    court.judge("c0", of: "192.0.2.1", "padua.example")
    #expect(court.names == ["a0", "b0"])
    // All that a network has for domains that nobody here knows is taken.
    court.judge("d0", of: "192.0.2.1", "verona.example", isKnown: true)
    #expect(court.names == ["a0", "b0", "d0"])
    court.end("a0")
    #expect(court.names == ["b0", "d0", "c0"])
    // Four of those that nobody here knows wait or are under way.
    let others = ["ferrara.example", "pisa.example"].map { court.judge("e0", of: "192.0.2.1", $0) }
    let known = court.judge("f0", of: "192.0.2.1", "verona.example", isKnown: true)
    #expect(others == [true, false] && known)
  }

  @Test func soManyJudgementsWait() {
    let court = Court()
    let first = (0..<5).map { court.judge("a\($0)", of: "192.0.2.1", "evil.example") }
    #expect(first == [true, true, true, true, false])
    for number in 0..<4 { court.judge("b\(number)", of: "192.0.2.2", "evil.example") }
    // All have as many as there may be: a network that has few still adds some.
    let others = (0..<3).map { court.judge("c\($0)", of: "192.0.2.3", "mantua.example") }
    #expect(others == [true, true, false])
    for name in ["a0", "a1"] { court.end(name) }
    let early = court.judge("a5", of: "192.0.2.1", "evil.example")
    court.end("b0")
    let late = court.judge("a6", of: "192.0.2.1", "evil.example")
    #expect(!early && late)
  }
}
