import DialogsFixtures
import Testing
import XMPP

@testable import Dialogs
@testable import XMPPDoor

@Suite struct KnownDomainStreamTests {
  /// Whoever opens all streams of a zone keeps no domain out whose users are known here; it has the bound of a domain.
  @Test func aFullZoneAdmitsKnownDomains() async throws {
    let network = try ServerNetwork()
    let side = ServerSide("localhost", network, place: try await network.place())
    let parley = network.stage.parley
    func isDenied(_ domain: String) async -> Bool {
      if case .denied = await side.streams.judge([], of: domain, at: nil).judgement { return true }
      return false
    }
    for number in 0..<FederationLimits.streamsPerZoneMax { side.streams.cameIn(from: "s\(number).co.example") }
    #expect(await isDenied("home.co.example"))
    #expect(parley.registries.knownDomains.insert("home.co.example", home: parley.realms[0].id))
    for _ in 0..<FederationLimits.streamsPerDomainMax {
      #expect(await !isDenied("home.co.example"))
      side.streams.cameIn(from: "home.co.example")
    }
    #expect(await isDenied("home.co.example"))
    try await network.end()
  }

  /// Many subdomains do not fill the inbox: each is read until it has a post under way. Known domains are read on.
  @Test func postsOfOneZoneAreBounded() async throws {
    let scripted = try await ScriptedFederation()
    let posts = scripted.federation.zonePosts
    let (link, other) = (try scripted.link("home.co.example"), try scripted.link("capulet.example"))
    /// Whether the link is not read: before it has a post under way, while it has one, and after it.
    func isFull(_ link: FederationLink) async -> [Bool] {
      await link.ask { driver in
        guard let work = driver.work else { return [] }
        var seen = [work.isFull]
        let held = work.hold()
        seen.append(work.isFull)
        work.release(held)
        return seen + [work.isFull]
      }
    }
    posts.count(FederationLimits.postsPerZoneMax - 2, of: "co.example")
    #expect(await isFull(link) == [false, false, false])
    posts.count(1, of: "co.example")
    #expect(await isFull(link) == [false, true, false])
    #expect(await isFull(other) == [false, false, false])
    #expect(scripted.parley.registries.knownDomains.insert("home.co.example", home: scripted.parley.realms[0].id))
    #expect(await isFull(link) == [false, false, false])
    posts.count(FederationLimits.postsPerKnownZoneMax - FederationLimits.postsPerZoneMax, of: "co.example")
    #expect(await isFull(link) == [false, true, false])
    try await scripted.end()
  }

  /// An account here makes subdomains known by writing to them: they do not take all streams.
  @Test func theKnownDomainsOfAZoneAreBoundedTogether() async throws {
    let network = try ServerNetwork()
    let side = ServerSide("localhost", network, place: try await network.place())
    let parley = network.stage.parley
    func isDenied(_ domain: String) async -> Bool {
      if case .denied = await side.streams.judge([], of: domain, at: nil).judgement { return true }
      return false
    }
    for domain in ["home.co.example", "capulet.example"] {
      #expect(parley.registries.knownDomains.insert(domain, home: parley.realms[0].id))
    }
    for number in 0..<FederationLimits.streamsPerKnownZoneMax - 1 { side.streams.cameIn(from: "s\(number).co.example") }
    #expect(await !isDenied("home.co.example"))
    side.streams.cameIn(from: "last.co.example")
    #expect(await isDenied("home.co.example"))
    #expect(await !isDenied("capulet.example"))
    try await network.end()
  }
}
