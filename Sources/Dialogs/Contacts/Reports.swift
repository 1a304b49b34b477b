import Addresses
import Basics

/// The users' reports of blocked addresses (XEP-0377), for operators.
public struct Reports: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// Returns the reports of a realm, the newest first.
  public func all(in realm: RealmID) async throws(Problem) -> [Report] {
    try await parley.read { try $0.reports(in: realm, limit: Limits.reportsMax) }
  }

  /// Returns a report.
  ///
  /// - Throws: `.missing`.
  public func find(_ id: Int64) async throws(Problem) -> Report {
    guard let found = try await parley.read({ try $0.report(id) }) else { throw Self.unknown(id) }
    return found
  }

  /// Removes a report, with the copies of messages in it.
  ///
  /// - Throws: `.missing`.
  public func dismiss(_ id: Int64) async throws(Problem) {
    guard try await parley.work(keepingCaches: true, { try $0.removeReport(id) }) else { throw Self.unknown(id) }
  }

  private static func unknown(_ id: Int64) -> Problem {
    Problem(.missing, "report-unknown", "There is no report \(id).")
  }
}

extension Judge {
  /// Blocks, and stores the reports, in one transaction. Reports beyond the limits are left out; the block is made all
  /// the same (XEP-0377 4).
  mutating func block(
    _ post: Post, _ patterns: [BlockPattern], _ reports: [ReportDraft]
  ) throws {
    let owner = post.author
    try block(patterns, of: owner)
    if reports.isEmpty { return settle(post) }
    var kept: [Report] = []
    let dayAgo = time + (.zero - Limits.reportDay)
    var (mine, all) = try (
      writer.reportCount(by: owner.id, in: owner.realm, since: dayAgo),
      writer.reportCount(by: nil, in: owner.realm, since: Timestamp(milliseconds: 0))
    )
    for draft in reports where mine < Limits.reportsPerDayMax && all < Limits.reportsMax {
      let report = Report(
        realm: owner.realm, reporter: owner.id, reported: draft.reported.jid.description, reason: draft.reason,
        text: Self.cutReport(draft.text), consent: draft.consent,
        messages: try draft.messages.prefix(Limits.reportMessagesMax).map {
          try reported($0, by: draft.reported, to: owner)
        }, createdAt: time, forwarding: forwarding(of: draft.reported.jid.domain, draft.consent, by: owner))
      let stored = try add(report)
      try hooks.note(.reportCreated, of: owner.id, detail: stored.id, in: owner.realm, at: time, writer)
      kept.append(stored)
      (mine, all) = (mine + 1, all + 1)
    }
    var receipt = Receipt(position: head)
    receipt.value = kept
    settle(post, receipt)
  }

  /// Returns a message that a report names, with its text if it is a private message to the reporter, which is in the
  /// reporter's own archive.
  private mutating func reported(
    _ id: String, by reported: BlockPattern, to owner: Party
  ) throws -> Report.Message {
    guard let position = PublicID(id).flatMap({ realms.position(of: $0, in: owner.realm) }),
      let author = try user(reported.jid.bare, seenFrom: owner.realm)?.party,
      let dialog = try writer.dialog(between: owner.id, and: author.id),
      let entry = try writer.entry(position, in: .server(dialog.id, .rules)), entry.author.id == author.id,
      case .message(let message) = entry.fact
    else { return Report.Message(id: id, text: nil) }
    let said = message.content.kind == .text ? Self.cutReport(message.content.text) : nil
    return Report.Message(id: id, text: said, dialog: dialog.id)
  }

  /// Stores a report of another server about a user here. The author is that server's domain; of any other user nothing is
  /// known. Nobody is told whether there is such a user.
  mutating func report(_ post: Post, _ report: RemoteReport) throws {
    let (home, author) = (realms.home(of: post.author.realm), post.author)
    guard isElsewhere(author), author.address.local == nil else { throw Problem.unreachable }
    if hub.federation?.isListed(author.address) == true { throw Problem.addressListed }
    guard let user = try user(report.reported, seenFrom: home), user.party.realm == home, user.state == .active else {
      return settle(post)
    }
    let dayAgo = time + (.zero - Limits.reportDay)
    if !author.isProvisional,
      try writer.reportCount(by: author.id, in: home, since: dayAgo) >= Limits.reportsOfDomainPerDayMax
    {
      throw Problem(
        .tooFast, "too-many-reports",
        "At most \(Limits.reportsOfDomainPerDayMax) reports of one domain are taken a day.",
        retryAfter: Int(Limits.reportDay.components.seconds))
    }
    if try writer.reportCount(by: nil, in: home, since: Timestamp(milliseconds: 0)) >= Limits.reportsElsewhereMax {
      throw Problem(.overloaded, "reports-full", "There are too many reports that nobody has looked at yet.")
    }
    try strangers.checkReport(by: author.address, home: home, at: time)
    let reporter = try known(author)
    strangers.countReport(by: author.address, home: home)
    let stored = try add(
      Report(
        realm: home, reporter: reporter.id, reported: report.reported.description, reason: report.reason,
        text: Self.cutReport(report.text), consent: [],
        messages: report.messages.prefix(Limits.reportMessagesMax).map {
          Report.Message(id: $0.id, text: $0.text.map(Self.cutReport))
        }, createdAt: time))
    try hooks.note(.reportCreated, of: stored.reporter, detail: stored.id, in: home, at: time, writer)
    var receipt = Receipt(position: head)
    receipt.value = [stored]
    settle(post, receipt)
  }

  /// Stores a report. Its bytes count for the reporter: the ids and the reason are as long as the stanza that they came in.
  mutating func add(_ report: Report) throws -> Report {
    let texts = [report.reported, report.reason, report.text] + report.messages.flatMap { [$0.id, $0.text ?? ""] }
    countBeside(texts.reduce(Int(Limits.storedMessageBytes)) { $0 + $1.utf8.count })
    return try writer.insert(report)
  }

  /// Checks that one more report may be made.
  func checkReports(by reporter: Party) throws {
    if try writer.reportCount(by: reporter.id, in: reporter.realm, since: time + (.zero - Limits.reportDay))
      >= Limits.reportsPerDayMax
    {
      throw Problem(
        .tooFast, "too-many-reports", "At most \(Limits.reportsPerDayMax) reports of one user are taken a day.",
        retryAfter: Int(Limits.reportDay.components.seconds))
    }
    if try writer.reportCount(by: nil, in: reporter.realm, since: Timestamp(milliseconds: 0)) >= Limits.reportsMax {
      throw Problem(.overloaded, "reports-full", "There are too many reports that nobody has looked at yet.")
    }
  }

  /// Shortens a text by code points, as a grapheme may be of any length.
  static func cutReport(_ text: String) -> String {
    String(text.unicodeScalars.prefix(Limits.reportCharactersMax))
  }
}
