import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// Reports that are forwarded to other servers (`Dialogs/Federation/ReportForwarding.swift`), and those of other servers.
@Suite struct ReportForwardingTests {
  private final class Elsewhere: FederationService {
    let forwardsReports: Bool
    let listed: String?
    init(forwardsReports: Bool = true, listed: String? = nil) {
      self.forwardsReports = forwardsReports
      self.listed = listed
    }
    func refusal(of domain: String, from local: String) -> Problem? {
      domain == "denied.example" ? Problem(.foreign, "domain-not-allowed", "No.") : nil
    }
    func link(_ pair: DomainPair) -> (any LiveSession)? { nil }
    func isListed(_ address: BareJID) -> Bool { address.description == listed }
  }

  private struct Cast {
    let stage: Stage
    let juliet: Party
    let pair = DomainPair(local: "localhost", remote: "spam.example")
    var parley: Parley { stage.parley }

    init(_ elsewhere: Elsewhere = Elsewhere()) async throws {
      stage = try Stage(remotes: ["gateway.example"])
      stage.parley.hub.setFederation(elsewhere)
      juliet = try await stage.user("juliet")
    }

    /// Blocks and reports an address.
    func report(
      _ address: String = "bot@spam.example", consent: Report.Consent = [.origin], by reporter: Party? = nil
    ) async throws -> Report {
      let draft = ReportDraft(
        reported: BlockPattern(try JID(address)), reason: "urn:xmpp:reporting:spam", text: "No!", consent: consent)
      let receipt = try await parley.post(.block([draft.reported], reports: [draft]), by: reporter ?? juliet)
      return try #require((receipt.value as? [Report])?.first)
    }
    func state(of report: Report) async throws -> Report.Forwarding? {
      try await parley.read { try $0.report(report.id) }?.forwarding
    }
    func rows() async throws -> [OutboxRow] {
      try await parley.read { [pair] in try $0.outbox(of: pair, after: .zero, limit: 100) }
    }
    /// Looks once for the ways of reports, and finds this one.
    func forward(_ way: ReportForwarding.Way) async -> Duration? {
      await ReportForwarding(parley) { _ in way }.forward()
    }
    var found: ReportForwarding.Way {
      get throws { .found(try JID("abuse@spam.example"), id: "r1", extras: Array("<report/>".utf8)) }
    }
    func wait(_ seconds: Int64) { stage.clock.set(stage.clock.now.milliseconds + seconds * 1_000) }
    func elsewhere(_ address: String) throws -> Party {
      Party(remote: try BareJID(address), realm: parley.federatedRealm(of: juliet.realm).id)
    }
  }

  @Test func aReportBecomesOneRowOfTheOutboxInTheDomainsName() async throws {
    let cast = try await Cast()
    let report = try await cast.report()
    #expect(report.forwarding == Report.Forwarding(.waiting, at: cast.stage.clock.now))
    #expect(await cast.forward(try cast.found) == .zero)
    #expect(await cast.forward(try cast.found) == nil)
    let rows = try await cast.rows()
    #expect(rows.count == 1)
    guard case .stanza(let stanza) = try #require(rows.first).item else { throw StageError.full }
    #expect(stanza.sender.description == "localhost" && stanza.to.description == "abuse@spam.example")
    #expect(stanza.id == "r1" && stanza.extras == Array("<report/>".utf8))
    #expect(try await cast.state(of: report)?.state == .forwarded)
    // The same way again, as after a crash of the timer.
    try await cast.parley.post(.outbox(.forward(report: report.id, try cast.found)), by: Parley.nobody)
    #expect(try await cast.rows().count == 1)
  }

  @Test(
    arguments: [
      ("bot@spam.example", []), ("bot@spam.example", [.thirdParty]), ("romeo@localhost", [.origin]),
      ("room@conference.localhost", [.origin]), ("icq@gateway.example", [.origin]), ("bot@denied.example", [.origin]),
    ] as [(String, Report.Consent)])
  func othersStayHere(address: String, consent: Report.Consent) async throws {
    let cast = try await Cast()
    #expect(try await cast.report(address, consent: consent).forwarding == nil)
    #expect(await cast.forward(try cast.found) == nil)
  }

  @Test func nothingIsForwardedUnlessTheOperatorSaysSo() async throws {
    let cast = try await Cast(Elsewhere(forwardsReports: false))
    #expect(try await cast.report().forwarding == nil)
  }

  @Test func aDomainThatTakesNoneIsToldNothing() async throws {
    let cast = try await Cast()
    let report = try await cast.report()
    #expect(await cast.forward(.unaccepted) == .zero)
    #expect(try await cast.state(of: report)?.state == .unaccepted)
    #expect(try await cast.rows().isEmpty)
  }

  @Test func aDomainThatIsAwayIsAskedAgainForADay() async throws {
    let cast = try await Cast()
    let report = try await cast.report()
    #expect(await cast.forward(.unreached) == .zero)
    #expect(
      try await cast.state(of: report)
        == Report.Forwarding(.waiting, at: cast.stage.clock.now + Limits.reportForwardingRetry))
    // Not before its time.
    #expect(await cast.forward(try cast.found) == Limits.reportForwardingRetry)
    #expect(try await cast.rows().isEmpty)
    cast.wait(86_401)
    #expect(await cast.forward(.unreached) == .zero)
    #expect(try await cast.state(of: report)?.state == .unreached)
    #expect(await cast.forward(try cast.found) == nil)
  }

  @Test func aDismissedReportIsNotForwarded() async throws {
    let cast = try await Cast()
    let report = try await cast.report()
    let found = try cast.found
    _ = await ReportForwarding(cast.parley) { [parley = cast.parley] _ in
      try? await Reports(parley).dismiss(report.id)
      return found
    }.forward()
    #expect(try await cast.rows().isEmpty)
  }

  // MARK: Bounds

  @Test func reportsOfOneUserAboveTheBoundStayHere() async throws {
    let cast = try await Cast()
    for _ in 0..<Limits.reportsForwardedPerUserPerHour {
      #expect(try await cast.report().forwarding?.state == .waiting)
    }
    #expect(try await cast.report().forwarding?.state == .limited)
    let nurse = try await cast.stage.user("nurse")
    #expect(try await cast.report(by: nurse).forwarding?.state == .waiting)
    cast.wait(3_600)
    #expect(try await cast.report().forwarding?.state == .waiting)
  }

  @Test func aReportThatIsRolledBackIsNotCounted() async throws {
    let cast = try await Cast()
    for _ in 0..<Limits.reportsForwardedPerUserPerHour - 1 { _ = try await cast.report() }
    for _ in 0..<3 {
      cast.stage.store.failNext(1)
      await #expect(throws: Problem.storage) { _ = try await cast.report() }
    }
    #expect(try await cast.report().forwarding?.state == .waiting)
    #expect(try await cast.report().forwarding?.state == .limited)
  }

  @Test func noDomainIsToldMoreThanItsBoundWhoeverReports() {
    var counts = ForwardedReportCounts()
    let time = Timestamp(milliseconds: 7_200_000)
    func count(_ user: Int64, _ domain: String, at time: Timestamp) -> Bool {
      counts.count(by: UserID(user), to: domain, at: time)
    }
    for user in 1...Int64(Limits.reportsForwardedPerDomainPerHour) {
      #expect(count(user, "spam.example", at: time))
    }
    #expect(!count(1_000, "spam.example", at: time))
    #expect(count(1_000, "other.example", at: time))
    #expect(count(1_000, "spam.example", at: time + .seconds(3_600)))
  }

  @Test func allUsersTogetherHaveABound() {
    var counts = ForwardedReportCounts()
    let time = Timestamp(milliseconds: 7_200_000)
    for user in 1...Int64(Limits.reportsForwardedPerHour) {
      let isTaken = counts.count(by: UserID(user), to: "\(user).example", at: time)
      #expect(isTaken)
    }
    let isOneMore = counts.count(by: UserID(0), to: "more.example", at: time)
    #expect(!isOneMore)
  }

  // MARK: Reports of other servers

  private func about(_ address: String) throws -> RemoteReport {
    RemoteReport(
      reported: try BareJID(address), reason: "urn:xmpp:reporting:abuse", text: "Rude",
      messages: [Report.Message(id: "m1", text: "I bite my thumb")])
  }

  @Test func aReportOfAnotherServerIsListedWithItsDomainAsTheReporter() async throws {
    let cast = try await Cast()
    let mantua = try cast.elsewhere("mantua.example")
    let receipt = try await cast.parley.post(.report(try about("juliet@localhost")), by: mantua)
    let stored = try #require((receipt.value as? [Report])?.first)
    #expect(try await Reports(cast.parley).all(in: cast.juliet.realm) == [stored])
    #expect(stored.reported == "juliet@localhost" && stored.consent == [] && stored.forwarding == nil)
    #expect(stored.messages == [Report.Message(id: "m1", text: "I bite my thumb")])
    #expect(try await cast.parley.read { try $0.party(stored.reporter) }?.address == mantua.address)
    // Whether there is such a user is not told.
    let nobody = try await cast.parley.post(.report(try about("nobody@localhost")), by: mantua)
    #expect(nobody.value == nil)
    #expect(try await Reports(cast.parley).all(in: cast.juliet.realm).count == 1)
  }

  @Test func onlyDomainsThatAreNotListedReport() async throws {
    let cast = try await Cast(Elsewhere(listed: "spam.example"))
    for address in ["benvolio@mantua.example", "spam.example"] {
      let author = try cast.elsewhere(address)
      await #expect(throws: Problem.self) {
        try await cast.parley.post(.report(try about("juliet@localhost")), by: author)
      }
    }
    await #expect(throws: Problem.self) {
      try await cast.parley.post(.report(try about("juliet@localhost")), by: cast.juliet)
    }
    #expect(try await Reports(cast.parley).all(in: cast.juliet.realm).isEmpty)
  }

  /// Whoever has a zone fills the list by many subdomains no more than by ten.
  @Test func reportsOfOneZoneHaveABound() async throws {
    let cast = try await Cast()
    func report(_ domain: String) async throws {
      try await cast.parley.post(.report(try about("juliet@localhost")), by: try cast.elsewhere(domain))
    }
    for number in 0..<Limits.reportsOfZonePerDayMax { try await report("s\(number).spam.example") }
    let refusal = await #expect(throws: Problem.self) { try await report("next.spam.example") }
    #expect(refusal?.code == "too-many-reports")
    try await report("mantua.example")
    cast.wait(86_401)
    try await report("next.spam.example")
  }

  @Test func reportsOfOneDomainHaveABound() async throws {
    let cast = try await Cast()
    let mantua = try cast.elsewhere("mantua.example")
    for _ in 0..<Limits.reportsOfDomainPerDayMax {
      try await cast.parley.post(.report(try about("juliet@localhost")), by: mantua)
    }
    let refusal = await #expect(throws: Problem.self) {
      try await cast.parley.post(.report(try about("juliet@localhost")), by: mantua)
    }
    #expect(refusal?.code == "too-many-reports")
    let padua = try cast.elsewhere("padua.example")
    try await cast.parley.post(.report(try about("juliet@localhost")), by: padua)
    cast.wait(86_401)
    try await cast.parley.post(.report(try about("juliet@localhost")), by: mantua)
  }
}
