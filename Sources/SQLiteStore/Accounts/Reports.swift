import Basics
import Dialogs

/// The reports of users.
extension Reader {
  func report(_ id: Int64) throws -> Report? { try connection(.report).bind(1, id).first(whole) }

  func reports(in realm: RealmID, limit: Int) throws -> [Report] {
    try connection(.reports).bind(1, realm.number).bind(2, bound(limit)).all(whole)
  }

  func reportCount(by reporter: UserID?, in realm: RealmID, since time: Timestamp) throws -> Int {
    try connection(.reportCount).bind(1, realm.number).bind(2, reporter?.number).bind(3, time.milliseconds)
      .first { Int($0.int(0)) } ?? 0
  }

  private func whole(_ row: Prepared) throws -> Report {
    let id = row.int(0)
    return Report(
      id: id, realm: RealmID(row.int(1)), reporter: UserID(row.int(2)), reported: row.text(3), reason: row.text(4),
      text: row.text(5), consent: Report.Consent(rawValue: UInt8(clamping: row.int(6))),
      messages: try connection(.reportMessages).bind(1, id).all {
        Report.Message(id: $0.text(0), text: $0.textOrNil(1))
      }, createdAt: Timestamp(milliseconds: row.int(7)))
  }
}

extension Writer {
  func insert(_ report: Report) throws -> Report {
    let id = try connection(.insertReport).bind(1, report.realm.number).bind(2, report.reporter.number)
      .bind(3, report.reported).bind(4, report.reason).bind(5, report.text).bind(6, Int64(report.consent.rawValue))
      .bind(7, report.createdAt.milliseconds).first { $0.int(0) }
    guard let id else { throw StoreFailure.corrupt("a new report got no number") }
    for (ordinal, message) in report.messages.enumerated() {
      try connection(.insertReportMessage).bind(1, id).bind(2, Int64(ordinal)).bind(3, message.id).bind(4, message.text)
        .run()
    }
    var report = report
    report.id = id
    return report
  }

  func removeReport(_ id: Int64) throws -> Bool {
    try connection(.deleteReportMessages).bind(1, id).run()
    return try connection(.deleteReport).bind(1, id).first { _ in true } ?? false
  }
}

extension Query {
  private static let columns = "id, realm, reporter, reported, reason, text, consent, created"
  fileprivate static let report = Query("SELECT \(columns) FROM reports WHERE id = ?1")
  fileprivate static let reports = Query("SELECT \(columns) FROM reports WHERE realm = ?1 ORDER BY id DESC LIMIT ?2")
  fileprivate static let reportCount = Query(
    "SELECT count(*) FROM reports WHERE realm = ?1 AND (?2 IS NULL OR reporter = ?2) AND created >= ?3")
  fileprivate static let reportMessages = Query(
    "SELECT message, text FROM report_messages WHERE report = ?1 ORDER BY ordinal")
  fileprivate static let insertReport = Query(
    """
    INSERT INTO reports (realm, reporter, reported, reason, text, consent, created)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id
    """)
  fileprivate static let insertReportMessage = Query(
    "INSERT INTO report_messages (report, ordinal, message, text) VALUES (?1, ?2, ?3, ?4)")
  fileprivate static let deleteReport = Query("DELETE FROM reports WHERE id = ?1 RETURNING id")
  fileprivate static let deleteReportMessages = Query("DELETE FROM report_messages WHERE report = ?1")
}
