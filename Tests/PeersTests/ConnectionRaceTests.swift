import Basics
import DNS
import NIOCore
import Testing

@testable import Peers

/// RFC 8305, RFC 2782 and RFC 7673 3.
@Suite struct ConnectionRaceTests {
  private typealias Race = ConnectionRace

  private func at(_ milliseconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(1_000_000_000_000) + .milliseconds(milliseconds)
  }

  private func six(_ host: Int) throws -> IPAddress { try #require(IPAddress("2001:db8::\(host)")) }
  private func four(_ host: Int) throws -> IPAddress { try #require(IPAddress("192.0.2.\(host)")) }

  private func race(_ priorities: [UInt16] = [10], isSecure: Bool = false) -> Race {
    var race = Race(priorities.map { .init(priority: $0, isSecure: isSecure) })
    // Where another server follows, the DNS has three seconds to tell about this one.
    let more: [Race.Action] = priorities.count > 1 ? [.wait(until: at(3_000))] : []
    #expect(race.handle(.began, at: at(0)) == [.lookUp(server: 0)] + more)
    return race
  }

  private func found(_ server: Int, six: [IPAddress], isSecure: Bool = false) -> Race.Event {
    .found(server: server, isIPv6: true, six, isSecure: isSecure)
  }

  private func found(_ server: Int, four: [IPAddress], isSecure: Bool = false) -> Race.Event {
    .found(server: server, isIPv6: false, four, isSecure: isSecure)
  }

  // MARK: Families

  @Test func familiesTakeTurnsAQuarterOfASecondApart() throws {
    var race = race()
    #expect(
      race.handle(found(0, six: [try six(1), try six(2)]), at: at(5)) == [
        .connect(attempt: 0, server: 0, try six(1)), .wait(until: at(255)),
      ])
    #expect(race.handle(found(0, four: [try four(1), try four(2)]), at: at(6)) == [.wait(until: at(255))])
    let rest = [try four(1), try six(2), try four(2)]
    for (index, address) in rest.enumerated() {
      let now = at(255 + 250 * Int64(index))
      let more: [Race.Action] = index < 2 ? [.wait(until: now + .milliseconds(250))] : []
      #expect(race.handle(.due, at: now) == [.connect(attempt: index + 1, server: 0, address)] + more)
    }
    // Everything is under way.
    #expect(race.handle(.due, at: at(2_000)) == [])
    for attempt in 0..<3 { #expect(race.handle(.failed(attempt: attempt), at: at(3_000)) == []) }
    #expect(race.handle(.failed(attempt: 3), at: at(3_000)) == [.giveUp])
  }

  @Test func aFailureLetsTheNextBegin() throws {
    var race = race()
    _ = race.handle(found(0, six: [try six(1)]), at: at(0))
    _ = race.handle(found(0, four: [try four(1), try four(2)]), at: at(0))
    #expect(race.handle(.failed(attempt: 0), at: at(3)) == [.wait(until: at(10))])
    #expect(
      race.handle(.due, at: at(10)) == [.connect(attempt: 1, server: 0, try four(1)), .wait(until: at(260))])
    #expect(race.handle(.failed(attempt: 1), at: at(90)) == [.connect(attempt: 2, server: 0, try four(2))])
    #expect(race.handle(.failed(attempt: 2), at: at(100)) == [.giveUp])
  }

  /// The failure of an older attempt says nothing about the newer one.
  @Test func onlyTheLastFailureCounts() throws {
    var race = race()
    _ = race.handle(found(0, four: []), at: at(0))
    #expect(
      race.handle(found(0, six: [try six(1), try six(2), try six(3)]), at: at(0)) == [
        .connect(attempt: 0, server: 0, try six(1)), .wait(until: at(250)),
      ])
    _ = race.handle(.due, at: at(250))
    #expect(race.handle(.failed(attempt: 0), at: at(300)) == [.wait(until: at(500))])
    #expect(race.handle(.failed(attempt: 1), at: at(310)) == [.connect(attempt: 2, server: 0, try six(3))])
  }

  /// RFC 8305 3: the resolution delay.
  @Test func fourWaitsForSixAMoment() throws {
    var race = race()
    #expect(race.handle(found(0, four: [try four(1)]), at: at(10)) == [.wait(until: at(60))])
    #expect(race.handle(.due, at: at(60)) == [.connect(attempt: 0, server: 0, try four(1))])
    #expect(race.handle(found(0, six: [try six(1)]), at: at(70)) == [.wait(until: at(310))])
    #expect(race.handle(.due, at: at(310)) == [.connect(attempt: 1, server: 0, try six(1))])

    var other = self.race()
    _ = other.handle(found(0, four: [try four(1)]), at: at(10))
    #expect(other.handle(found(0, six: []), at: at(20)) == [.connect(attempt: 0, server: 0, try four(1))])

    var third = self.race()
    _ = third.handle(found(0, four: [try four(1)]), at: at(10))
    #expect(
      third.handle(found(0, six: [try six(1)]), at: at(20)) == [
        .connect(attempt: 0, server: 0, try six(1)), .wait(until: at(270)),
      ])
  }

  @Test func aNameServerThatHangsHoldsNothingUp() throws {
    var race = race([10, 20])
    #expect(race.handle(found(0, four: [try four(1)]), at: at(0)) == [.wait(until: at(50))])
    #expect(
      race.handle(.due, at: at(50)) == [.connect(attempt: 0, server: 0, try four(1)), .wait(until: at(3_000))])
    #expect(race.handle(.failed(attempt: 0), at: at(60)) == [.wait(until: at(3_000))])
    #expect(race.handle(.due, at: at(3_000)) == [.lookUp(server: 1)])
    // What comes now is too late for the first, and the last is waited for.
    #expect(race.handle(found(0, six: [try six(1)]), at: at(3_500)) == [])
    #expect(race.handle(found(1, six: [try six(2)]), at: at(20_000)) == [.connect(attempt: 1, server: 1, try six(2))])

    var silent = self.race([10, 20])
    #expect(silent.handle(.due, at: at(3_000)) == [.lookUp(server: 1)])
    var uncertain = self.race([10, 20], isSecure: true)
    _ = uncertain.handle(found(0, six: [try six(1)], isSecure: true), at: at(10))
    #expect(uncertain.handle(.due, at: at(3_000)) == [.lookUp(server: 1)])
  }

  @Test func fourAddressesOfAServerAreTried() throws {
    var race = race()
    _ = race.handle(found(0, six: try (1...9).map { try six($0) }), at: at(0))
    _ = race.handle(found(0, four: try (1...9).map { try four($0) }), at: at(0))
    var tried: [IPAddress] = [try six(1)]
    for attempt in 0..<4 {
      for action in race.handle(.failed(attempt: attempt), at: at(100 * Int64(attempt + 1))) {
        if case .connect(_, _, let address) = action { tried.append(address) }
        #expect(action != .giveUp || attempt == 3)
      }
    }
    #expect(tried == [try six(1), try four(1), try six(2), try four(2)])
  }

  // MARK: Servers

  @Test func serversWithoutAddressesArePassedOver() {
    var race = race([10, 20])
    #expect(race.handle(found(0, six: []), at: at(1)) == [.wait(until: at(3_000))])
    #expect(race.handle(found(0, four: []), at: at(2)) == [.lookUp(server: 1)])
    #expect(race.handle(found(1, four: []), at: at(3)) == [])
    #expect(race.handle(found(1, six: []), at: at(4)) == [.giveUp])
  }

  @Test func withoutServersThereIsNothingToDo() {
    var race = Race([])
    #expect(race.handle(.began, at: at(0)) == [.giveUp])
  }

  @Test func equalServersAreTriedAQuarterOfASecondApart() throws {
    var race = race([10, 10])
    _ = race.handle(found(0, six: []), at: at(0))
    #expect(
      race.handle(found(0, four: [try four(1)]), at: at(0)) == [
        .connect(attempt: 0, server: 0, try four(1)), .lookUp(server: 1),
      ])
    _ = race.handle(found(1, six: []), at: at(20))
    #expect(race.handle(found(1, four: [try four(2)]), at: at(30)) == [.wait(until: at(250))])
    #expect(race.handle(.due, at: at(250)) == [.connect(attempt: 1, server: 1, try four(2))])
  }

  /// RFC 2782: the best server that can be reached.
  @Test func aSpareServerWaits() throws {
    var race = race([10, 20])
    _ = race.handle(found(0, six: []), at: at(0))
    _ = race.handle(found(0, four: [try four(1)]), at: at(0))
    _ = race.handle(found(1, six: []), at: at(20))
    #expect(race.handle(found(1, four: [try four(2)]), at: at(30)) == [.wait(until: at(2_000))])
    var slow = race
    #expect(slow.handle(.due, at: at(2_000)) == [.connect(attempt: 1, server: 1, try four(2))])
    #expect(race.handle(.failed(attempt: 0), at: at(100)) == [.connect(attempt: 1, server: 1, try four(2))])
  }

  // MARK: DANE

  private let record = TLSARecord(usage: 3, selector: 1, matching: 1, data: [1])

  @Test func certificatesAreKnownBeforeTheConnection() throws {
    var race = race(isSecure: true)
    _ = race.handle(found(0, six: [], isSecure: true), at: at(1))
    #expect(race.handle(found(0, four: [try four(1)], isSecure: true), at: at(2)) == [])
    #expect(
      race.handle(.certified(server: 0, [record]), at: at(3)) == [.connect(attempt: 0, server: 0, try four(1))])
    #expect(race.tlsa(of: 0) == [record])
  }

  /// RFC 7673 3.4: a forged answer looks like this.
  @Test func aServerWithoutAnAnswerForItsCertificatesIsLeftOut() throws {
    var race = race([10, 20], isSecure: true)
    _ = race.handle(found(0, six: [], isSecure: true), at: at(1))
    _ = race.handle(found(0, four: [try four(1)], isSecure: true), at: at(2))
    #expect(race.handle(.uncertified(server: 0), at: at(3)) == [.lookUp(server: 1)])
    _ = race.handle(.uncertified(server: 1), at: at(4))
    _ = race.handle(found(1, six: [], isSecure: true), at: at(5))
    #expect(race.handle(found(1, four: [try four(2)], isSecure: true), at: at(6)) == [.giveUp])
  }

  /// RFC 7673 3.2: a host in a zone that is not signed has none.
  @Test func anUnsignedHostNeedsNoAnswer() throws {
    var race = race(isSecure: true)
    _ = race.handle(.uncertified(server: 0), at: at(1))
    _ = race.handle(found(0, six: []), at: at(2))
    #expect(race.handle(found(0, four: [try four(1)]), at: at(3)) == [.connect(attempt: 0, server: 0, try four(1))])
    #expect(race.tlsa(of: 0) == [])
  }
}
