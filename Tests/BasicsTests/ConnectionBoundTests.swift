import Synchronization
import Testing

@testable import Basics

@Suite struct ConnectionBoundTests {
  private final class Record: Sendable {
    private let closed = Mutex<[String]>([])
    private let lost = Mutex<[String]>([])
    var closings: [String] { closed.withLock { $0 } }
    var losses: [String] { lost.withLock { $0 } }
    func close(_ name: String) { closed.withLock { $0.append(name) } }
    func lose(_ network: String) { lost.withLock { $0.append(network) } }
  }

  /// One network has all places, another takes one by one, and the oldest ones are closed for it.
  @Test func theNetworkWithTheMostGivesWay() {
    let record = Record()
    let bound = ConnectionBound(max: 3) { record.lose($0) }
    func admit(_ network: String, _ name: String) -> ConnectionBound.ID? {
      bound.admit(network) { record.close(name) }
    }
    let ids = (1...3).map { admit("attacker", "\($0)") }
    #expect(ids == [1, 2, 3] && record.closings == [])
    #expect(admit("witness", "witness") == 4)
    #expect(record.closings == ["1"])
    #expect(record.losses == ["attacker"])
    // A newcomer of the network with the most replaces its own, and never the other's.
    #expect(admit("attacker", "5") == 5)
    #expect(record.closings == ["1", "2"])
    // Who has logged in is closed for nobody.
    bound.release(4)
    bound.release(4)
    #expect(bound.count == 2)
    #expect((6...8).map { admit("attacker", "\($0)") } == [6, 7, 8])
    #expect(record.closings == ["1", "2", "3", "5"])
    #expect(bound.count == 3)
  }

  @Test func aNewcomerReplacesOneOfItsOwnFromAnAgeOn() {
    let record = Record()
    let bound = ConnectionBound(max: 10, perNetworkMax: 1, ownAge: .seconds(10)) { record.lose($0) }
    let start = ContinuousClock.now
    func admit(_ network: String, after seconds: Int) -> ConnectionBound.ID? {
      bound.admit(network, now: start + .seconds(seconds)) { record.close(network) }
    }
    #expect(admit("a", after: 0) == 1)
    #expect(admit("a", after: 9) == nil)
    #expect(record.losses == ["a"] && record.closings == [])
    #expect(admit("b", after: 9) == 2)
    #expect(admit("a", after: 10) == 3)
    #expect(record.losses == ["a", "a"] && record.closings == ["a"])
  }

  /// Where all connections together are at their bound, a newcomer needs the place of one without a login, whosever it is.
  @Test func aNewcomerOfAFullServerTakesAPlace() {
    let record = Record()
    let bound = ConnectionBound(max: 10) { record.lose($0) }
    let all = OpenConnections(max: 2)
    let start = ContinuousClock.now
    func admit(_ network: String, after seconds: Int = 0) -> ConnectionBound.ID? {
      bound.admit(network, isFull: all.isFull, now: start + .seconds(seconds)) { record.close(network) }
    }
    #expect(admit("a") == 1)
    all.opened()
    #expect(!all.isFull && admit("b") == 2)
    all.opened()
    // A login has some seconds.
    #expect(all.isFull && admit("c") == nil && record.losses == ["c"])
    #expect(admit("c", after: 10) == 3)
    #expect(record.closings.count == 1 && bound.count == 2)
    // When everybody has logged in, the newcomer is refused.
    for id in 1...3 { bound.release(id) }
    #expect(admit("d") == nil && record.losses.last == "d")
    all.closed()
    #expect(all.count == 1 && admit("d") == 4)
  }

  /// All clients of a balancer have one address: neither the bound of one network nor the order by networks applies.
  @Test func networksAreNotToldApartWhereBoundsByNetworkAreOff() {
    let record = Record()
    let bound = ConnectionBound(max: 2, perNetworkMax: 1, isByNetwork: false) { record.lose($0) }
    #expect(bound.admit("a") { record.close("1") } == 1)
    #expect(bound.admit("a") { record.close("2") } == 2)
    #expect(bound.admit("b") { record.close("3") } == 3)
    #expect(record.closings == ["1"])
    #expect(record.losses == ["a"])
  }
}
