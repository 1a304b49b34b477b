import Testing

@testable import Basics

@Suite struct NetworkSharesTests {
  /// One network may use all that nobody else asks for, and gives its oldest up, one by one, until others hold as much.
  @Test func theFullestGivesItsOldestUp() {
    var shares = NetworkShares(max: 4, replacesOwn: false)
    #expect((0..<4).map { _ in shares.admit("a") } == (1...4).map { NetworkShares.Admission(id: $0, ended: nil) })
    #expect(shares.admit("a") == nil)
    #expect(shares.admit("b") == .init(id: 5, ended: 1))
    #expect(shares.admit("b") == .init(id: 6, ended: 2))
    #expect(shares.admit("b") == nil)
    #expect([shares.count("a"), shares.count("b"), shares.count] == [2, 2, 4])
    #expect(shares.admit("c") != nil)
    #expect(shares.count == 4)
  }

  /// Where a newcomer replaces one of its own network, a network that holds everything still lets its own people in.
  @Test func replacesItsOwn() {
    var shares = NetworkShares(max: 3, perNetworkMax: 2, replacesOwn: true)
    #expect(
      (0..<3).map { _ in shares.admit("a") } == [
        .init(id: 1, ended: nil), .init(id: 2, ended: nil), .init(id: 3, ended: 1),
      ])
    #expect(shares.admit("b") == .init(id: 4, ended: nil))
    #expect(shares.admit("b") == .init(id: 5, ended: 2))
    #expect(shares.count == 3)
  }

  /// Where a newcomer replaces only what is old, a network that holds all its places for long lets its neighbours in, and one that comes
  /// again and again does not end what has just begun.
  @Test func replacesItsOwnFromAnAgeOn() {
    var shares = NetworkShares(max: 10, perNetworkMax: 2, replacesOwn: true, ownAge: .seconds(10))
    let start = ContinuousClock.now
    let admitted = [0, 1, 9, 10, 10, 11].map { shares.admit("a", now: start + .seconds($0)) }
    #expect(
      admitted == [
        .init(id: 1, ended: nil), .init(id: 2, ended: nil), nil, .init(id: 3, ended: 1), nil, .init(id: 4, ended: 2),
      ])
  }

  /// What is released makes room, once, and is not the one that gives way.
  @Test func releases() {
    var shares = NetworkShares(max: 2, replacesOwn: false)
    let first = shares.admit("a")
    #expect(shares.admit("a") != nil)
    for _ in 0..<2 { shares.release(first?.id ?? 0) }
    #expect(shares.count == 1)
    #expect(shares.admit("b") == .init(id: 3, ended: nil))
    #expect(shares.admit("b") == nil)
    #expect(shares.admit("c") != nil)
    for id in 1...4 { shares.release(id) }
    #expect([shares.count, shares.count("a"), shares.count("b"), shares.count("c")] == [0, 0, 0, 0])
  }

  /// Where each network holds one, as those of an attacker with many do, every holding lasts as long as the others.
  @Test func amongEqualsTheFirstGivesUp() {
    var shares = NetworkShares(max: 20, replacesOwn: true)
    for number in 1...20 { #expect(shares.admit("\(number)") == .init(id: number, ended: nil)) }
    let ended = (21...60).map { shares.admit("\($0)")?.ended }
    #expect(ended == (1...40).map { Optional($0) })
    // The same after very many changes, of which the first ends one more.
    for number in 61...1_000 {
      let passing = shares.admit("\(number)")
      shares.release(passing?.id ?? 0)
    }
    let later = (0..<20).map { shares.admit("later \($0)")?.ended }
    let expected: [Int?] = [nil] + (42...60).map { Optional($0) }
    #expect(later == expected)
  }

  /// Where those who have logged in need nearly all, a fast network does not end the logins of others by coming again and again.
  @Test func ofFewPlacesALoginHasOneForSomeSeconds() {
    var shares = NetworkShares(max: 100, replacesOwn: true)
    let start = ContinuousClock.now
    func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
    #expect(shares.admit("attacker", now: at(0)) == .init(id: 1, ended: nil))
    #expect(shares.admit("witness", isFull: true, now: at(0)) == nil)
    // It does not make its own place younger.
    #expect(shares.admit("attacker", isFull: true, now: at(9)) == nil)
    #expect(shares.admit("witness", isFull: true, now: at(9)) == nil)
    #expect(shares.admit("witness", isFull: true, now: at(10)) == .init(id: 2, ended: 1))
    #expect(shares.admit("attacker", isFull: true, now: at(10)) == nil)
    #expect(shares.admit("attacker", isFull: true, now: at(19)) == nil)
    #expect(shares.admit("other", isFull: true, now: at(20)) == .init(id: 3, ended: 2))
    // There is none for anybody when the last one has logged in.
    shares.release(3)
    #expect(shares.admit("attacker", isFull: true, now: at(60)) == nil)
  }

  /// Where all come from one address, silent connections do not keep everybody out until they have to log in.
  @Test func ofFewPlacesANetworkReplacesItsOwnLater() {
    var shares = NetworkShares(max: 100, replacesOwn: true)
    let start = ContinuousClock.now
    func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
    #expect(shares.admit("school", now: at(0)) == .init(id: 1, ended: nil))
    #expect(shares.admit("school", isFull: true, now: at(19)) == nil)
    #expect(shares.admit("school", isFull: true, now: at(20)) == .init(id: 2, ended: 1))
    #expect(shares.admit("school", isFull: true, now: at(29)) == nil)
    #expect(shares.admit("witness", isFull: true, now: at(30)) == .init(id: 3, ended: 2))
    #expect(shares.count == 1)
  }

  /// A network that has more than the newcomer will have gives up one at once.
  @Test func ofFewPlacesTheFullestGivesUpAtOnce() {
    var shares = NetworkShares(max: 100, replacesOwn: true)
    let now = ContinuousClock.now
    #expect((0..<3).map { _ in shares.admit("attacker", now: now)?.id } == [1, 2, 3])
    #expect(shares.admit("witness", isFull: true, now: now) == .init(id: 4, ended: 1))
    #expect(shares.admit("witness", isFull: true, now: now) == nil)
    #expect(shares.admit("attacker", isFull: true, now: now) == nil)
    #expect([shares.count("attacker"), shares.count("witness")] == [2, 1])
  }

  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 33
    }
  }

  /// A history of random admissions and releases agrees with a plain count, and never exceeds a bound.
  @Test(arguments: 1...4) func agreesWithAPlainCount(seed: UInt64) {
    var shares = NetworkShares(max: 20, perNetworkMax: 12, replacesOwn: true)
    var held: [(id: Int, network: String)] = []
    var random = Dice(state: seed)
    for _ in 0..<5_000 {
      let network = ["a", "b", "c", "d"].randomElement(using: &random) ?? "a"
      if held.isEmpty || Int.random(in: 0..<3, using: &random) > 0 {
        let counts = Dictionary(grouping: held) { $0.network }.mapValues { $0.count }
        guard let admission = shares.admit(network) else {
          // A newcomer is refused only where no network holds more than its own, which holds nothing.
          #expect(counts[network] == nil && counts.isEmpty)
          continue
        }
        if let ended = admission.ended {
          let given = held.first { $0.id == ended }?.network ?? ""
          #expect(given == network || counts[given] == counts.values.max())
          #expect(ended == held.filter { $0.network == given }.map { $0.id }.min())
          held.removeAll { $0.id == ended }
        } else {
          #expect(held.count < 20)
        }
        held.append((admission.id, network))
      } else if let index = held.indices.randomElement(using: &random) {
        shares.release(held.remove(at: index).id)
      }
      #expect(shares.count == held.count && held.count <= 20)
      for network in ["a", "b", "c", "d"] {
        let count = held.count { $0.network == network }
        #expect(shares.count(network) == count && count <= 12)
      }
    }
  }
}
