import Dialogs
import HTTPPort
import NIOCore
import Testing
import XMPP

@testable import XMPPDoor

/// The bounds of federation that no single stream shows, with small numbers.
@Suite(.timeLimit(.minutes(1))) struct FederationLimitsTests {
  private func address(_ text: String) throws -> String {
    ClientAddress.network(try SocketAddress(ipAddress: text, port: 5269))
  }

  /// RFC 6120 13.12.
  @Test func unverifiedStreamsAreBoundedForAllAndForEachAddress() throws {
    var streams = UnverifiedStreams(max: 4, perAddressMax: 2)
    let (one, other, third) = (try address("192.0.2.1"), try address("192.0.2.2"), try address("192.0.2.3"))
    let admitted = [one, one, one, other, third, third].map { streams.admit($0) }
    #expect(admitted == [true, true, false, true, true, false])
    #expect(streams.count == 4)
    // What was refused counts nothing, and each end makes room.
    streams.release(one)
    let next = [other, one].map { streams.admit($0) }
    #expect(next == [true, false])
    streams.release(third)
    let last = streams.admit(one)
    #expect(last)
  }

  /// One customer of a provider has a network of 64 bits at least (RFC 6177 2).
  @Test func aNetworkOfIPv6IsOneAddress() throws {
    var streams = UnverifiedStreams(max: 10, perAddressMax: 2)
    let admitted = try ["2001:db8::1", "2001:db8::2:1", "2001:db8::ffff:3", "2001:db8:0:1::1"].map {
      streams.admit(try address($0))
    }
    #expect(admitted == [true, true, false, true])
  }

  private final class Opener {}

  @Test func soManyLinksOpenAtOnceAndTheOthersWaitInOrder() {
    let links = (0..<5).map { _ in Opener() }
    var turns = OpeningTurns<Opener>(max: 2)
    let granted = links.map { turns.request($0) }
    #expect(granted == [true, true, false, false, false])
    // One that gives up while it waits is passed over; its turn is nobody's.
    let next = [2, 0, 0, 3, 1, 4].map { ended in
      turns.end(links[ended]).flatMap { next in links.firstIndex { $0 === next } }
    }
    #expect(next == [nil, 3, nil, 4, nil, nil])
    let later = links.prefix(3).map { turns.request($0) }
    #expect(later == [true, true, false])
  }

  @Test func aLinkThatWasIdleLongestMakesRoom() async throws {
    let network = try ServerNetwork()
    let listener = try await XMPPListener(door: network.door, group: network.group, tls: { _ in nil })
    let side = ServerSide("localhost", network, place: try #require(listener.mounted.first))
    var limits = LinkLimits()
    (limits.links, limits.retiredAtOnce) = (3, 1)
    let federation = Federation(
      listener, options: FederationOptions(),
      policy: DomainPolicy(FederationOptions(), clock: network.door.parley.clock), servers: side.streams,
      limits: limits)
    func link(_ remote: String) -> FederationLink? {
      federation.link(of: DomainPair(local: "localhost", remote: remote))
    }
    let links = try ["a.example", "b.example", "c.example"].map { try #require(link($0)) }
    // All are in use: the next domain gets none, and those that exist are found.
    #expect(link("d.example") == nil)
    #expect(link("a.example") === links[0])
    links[1].setIdle(true)
    links[0].setIdle(true)
    #expect(link("d.example") != nil)
    #expect(links.map(\.isRetired) == [false, true, false])
    // The one that was forgotten is made anew when somebody uses it again.
    #expect(link("b.example").map { $0 !== links[1] } == true)
    #expect(links.map(\.isRetired) == [true, true, false])
    await listener.stopAccepting()
    try await network.end()
  }

  @Test func residentsAreBoundedForTheDomainAndForEachRoom() {
    var limits = ResidentLimits()
    (limits.all, limits.inRoom) = (5, 2)
    #expect(limits.admit(residents: 4, inRoom: 1, isResident: false))
    #expect(!limits.admit(residents: 4, inRoom: 2, isResident: false))
    #expect(!limits.admit(residents: 5, inRoom: 1, isResident: false))
    // Who is in one room enters another.
    #expect(limits.admit(residents: 5, inRoom: 1, isResident: true))
    #expect(!limits.admit(residents: 5, inRoom: 2, isResident: true))
    #expect(ResidentLimits().admit(residents: 4_999, inRoom: 499, isResident: false))
    #expect(!ResidentLimits().admit(residents: 4_999, inRoom: 500, isResident: false))
    #expect(!ResidentLimits().admit(residents: 5_000, inRoom: 0, isResident: false))
  }
}
