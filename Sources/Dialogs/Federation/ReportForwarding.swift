public import Addresses
import Basics

/// Forwards users' reports to the domains that the reported addresses are of, if the operator and the reporter have agreed
/// to it (XEP-0377 3, `report-origin`). Theory:
///
/// A report that is to be forwarded says so in its own row, which is written in the transaction of the block: a crash
/// loses neither. Where it goes, only the other domain can tell, so it is asked outside of any transaction. One further
/// transaction then adds the stanza to the outbox and notes that in the report, so that a report becomes one row of the
/// outbox however often the server is restarted; from there on the outbox's promise is its own. A domain that does not
/// answer is asked again, for a day.
///
/// The other server learns the reported address, the reason, the reporter's text and the quoted messages, in the name of
/// our domain: never who has reported. A report that an operator deletes before it is on its way is not forwarded.
public struct ReportForwarding: Sendable {
  /// The way to the place where a domain takes reports.
  public enum Way: Sendable {
    /// The address, with the id and the children of the message to it, as a door has rendered them.
    case found(JID, id: String, extras: [UInt8])
    /// The domain takes none.
    case unaccepted
    /// The domain does not answer.
    case unreached
  }

  private let parley: Parley
  private let find: @Sendable (Report) async -> Way

  /// - Parameter find: asks the domain of a reported address where it takes reports.
  public init(_ parley: Parley, find: @escaping @Sendable (Report) async -> Way) {
    self.parley = parley
    self.find = find
  }

  /// The timer that does it.
  public var timer: DueTimer { DueTimer(parley.registries.reports) { await forward() } }

  /// Looks for the ways of the reports that are due, a bounded number at once. Returns how long to wait; `nil` if none
  /// waits.
  func forward() async -> Duration? {
    do throws(Problem) {
      let waiting = try await parley.read { try $0.reportsToForward(limit: Limits.reportsForwardedAtOnce) }
      guard let first = waiting.first?.forwarding?.time else { return nil }
      let now = parley.clock.now
      if first > now {
        return min(.milliseconds(first.milliseconds - now.milliseconds), Limits.reportForwardingRetry)
      }
      let due = waiting.filter { $0.forwarding.map { $0.time <= now } ?? false }
      let ways = await withTaskGroup(of: (Int64, Way).self) { group in
        for report in due { group.addTask { [find] in (report.id, await find(report)) } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      // What was found after the server began to stop is looked up again.
      if Task.isCancelled { return nil }
      for (id, way) in ways { try await parley.post(.outbox(.forward(report: id, way)), by: Parley.nobody) }
      return .zero
    } catch {
      return Limits.scheduleRetry
    }
  }
}

extension Judge {
  /// Returns how a new report begins its way to the domain of the reported address; `nil` if it is not to be forwarded.
  ///
  /// Components' users are known to their gateway alone, and those of our own domains to the operators who read the report.
  mutating func forwarding(
    of domain: String, _ consent: Report.Consent, by reporter: Party
  ) -> Report.Forwarding? {
    guard consent.contains(.origin), hub.federation?.forwardsReports == true,
      let realm = realms.realm(domain: domain, reachedFrom: reporter.realm), realms.isFederated(realm.id),
      hub.refusal(of: domain, from: reporter.realm) == nil
    else { return nil }
    guard forwardedReports.count(by: reporter.id, to: domain, at: time) else {
      return Report.Forwarding(.limited, at: time)
    }
    tell(.reports)
    return Report.Forwarding(.waiting, at: time)
  }

  /// Takes the way of a report that waits to be forwarded: it begins it, waits on, or has none. One that was deleted, or is
  /// on its way already, stays as it is.
  mutating func forward(_ id: Int64, _ way: ReportForwarding.Way) throws {
    guard let report = try writer.report(id), report.forwarding?.state == .waiting else { return }
    func note(_ state: Report.Forwarding.State) throws { try writer.set(Report.Forwarding(state, at: time), of: id) }
    func wait() throws {
      if report.createdAt + Limits.reportForwardingMax < time { return try note(.unreached) }
      try writer.set(Report.Forwarding(.waiting, at: time + Limits.reportForwardingRetry), of: id)
    }
    switch way {
    case .unaccepted: try note(.unaccepted)
    case .unreached: try wait()
    case .found(let to, let stanzaID, let extras):
      guard let realm = realms.realm(report.realm), let server = BareJID(parsing: realm.domain),
        let elsewhere = realms.federated(of: realm.id), let reporter = try writer.party(report.reporter)
      else { return try note(.unaccepted) }
      let peer = Party(remote: to.bare, realm: elsewhere.id)
      do {
        try checkOutbox(from: reporter, to: peer)
      } catch is Problem {
        return try wait()
      }
      try send(
        RelayedStanza(
          name: .message(.normal), from: reporter, fromResource: nil, server: server, to: to.bare,
          toResource: to.resource, id: stanzaID, extras: extras), to: peer, by: nil)
      try note(.forwarded)
    }
  }
}

/// Counts the reports that are forwarded, of an hour that ends for all at once; in memory alone, as `StrangerCounts`. Only
/// the committer's thread uses it.
struct ForwardedReportCounts {
  private var hour: Int64 = 0
  private var all = 0
  private var byReporter: [UserID: Int] = [:]
  private var byDomain: [String: Int] = [:]
  /// The reports that the batch has counted so far.
  private var batch: [(reporter: UserID, domain: String)] = []

  /// Counts one more report. Returns `false`, and counts nothing, if it is one too many.
  mutating func count(by reporter: UserID, to domain: String, at time: Timestamp) -> Bool {
    let hour = time.milliseconds / 3_600_000
    if hour != self.hour { (self.hour, all, byReporter, byDomain) = (hour, 0, [:], [:]) }
    guard all < Limits.reportsForwardedPerHour,
      byReporter[reporter, default: 0] < Limits.reportsForwardedPerUserPerHour,
      byDomain[domain, default: 0] < Limits.reportsForwardedPerDomainPerHour
    else { return false }
    all += 1
    byReporter[reporter, default: 0] += 1
    byDomain[domain, default: 0] += 1
    batch.append((reporter, domain))
    return true
  }

  /// Keeps the counted reports, as the batch is durable.
  mutating func settled() { batch.removeAll(keepingCapacity: true) }

  /// Takes back the reports that the batch has counted.
  mutating func rollBack() {
    for (reporter, domain) in batch {
      all = max(0, all - 1)
      StrangerCounts.takeBack(reporter, from: &byReporter)
      StrangerCounts.takeBack(domain, from: &byDomain)
    }
    batch = []
  }
}
