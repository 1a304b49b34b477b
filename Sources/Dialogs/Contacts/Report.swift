public import Basics

/// A user's report of an address they block (XEP-0377), for the operators alone.
public struct Report: Hashable, Sendable {
  /// The reporter's consent to pass the report on (XEP-0377 3).
  public struct Consent: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// To the server that the messages came from.
    public static let origin = Consent(rawValue: 1)
    /// To third parties that keep lists.
    public static let thirdParty = Consent(rawValue: 2)
  }

  /// A message that the report names.
  public struct Message: Hashable, Sendable {
    /// The message's id as the reporter gave it.
    public let id: String
    /// The message's text; `nil` if the reporter could not read it, or it is encrypted.
    public let text: String?
    public init(id: String, text: String?) {
      self.id = id
      self.text = text
    }
  }

  /// The id; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let reporter: UserID
  /// The address that was blocked.
  public let reported: String
  /// A URN; `urn:xmpp:reporting:spam` and `urn:xmpp:reporting:abuse` are defined.
  public let reason: String
  /// The reporter's own text, which may be empty.
  public let text: String
  public let consent: Consent
  public fileprivate(set) var messages: [Message]
  public let createdAt: Timestamp

  public init(
    id: Int64 = 0, realm: RealmID, reporter: UserID, reported: String, reason: String, text: String, consent: Consent,
    messages: [Message], createdAt: Timestamp
  ) {
    self.id = id
    self.realm = realm
    self.reporter = reporter
    self.reported = reported
    self.reason = reason
    self.text = text
    self.consent = consent
    self.messages = messages
    self.createdAt = createdAt
  }
}

/// A report that is sent with a block.
public struct ReportDraft: Hashable, Sendable {
  public var reported: BlockPattern
  public var reason: String
  public var text: String
  public var consent: Report.Consent
  /// The ids of messages in the reporter's own archive.
  public var messages: [String]

  public init(
    reported: BlockPattern, reason: String, text: String = "", consent: Report.Consent = [], messages: [String] = []
  ) {
    self.reported = reported
    self.reason = reason
    self.text = text
    self.consent = consent
    self.messages = messages
  }
}

extension Report.Consent: FieldCodable {}

/// A report without its messages, which are records of their own.
struct ReportRow {
  let report: Report
}

extension ReportRow: Record {
  enum Field: String, CaseIterable, Sendable {
    case id, realm, reporter, reported, reason, text, consent, createdAt = "created"
  }
  static let kind = "reports"
  static let key: [Field] = [.id]
  static let isNumbered = true
  var fields: [FieldValue] {
    [
      report.id.field, report.realm.field, report.reporter.field, report.reported.field, report.reason.field,
      report.text.field, report.consent.field, report.createdAt.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    report = try Report(
      id: fields.next(), realm: fields.next(), reporter: fields.next(), reported: fields.next(),
      reason: fields.next(), text: fields.next(), consent: fields.next(), messages: [], createdAt: fields.next())
  }
}

/// A message that a report names, which is removed with it.
struct ReportedMessage {
  let report: Int64
  let ordinal: Int
  let message: Report.Message
}

extension ReportedMessage: Record {
  enum Field: String, CaseIterable, Sendable {
    case report, ordinal, message, text
  }
  static let kind = "report_messages"
  static let key: [Field] = [.report, .ordinal]
  var fields: [FieldValue] {
    [report.field, ordinal.field, message.id.field, message.text.field]
  }
  init(_ fields: inout FieldReader) throws {
    report = try fields.next()
    ordinal = try fields.next()
    message = try Report.Message(id: fields.next(), text: fields.next())
  }
}

extension RecordReader {
  public func report(_ id: Int64) throws -> Report? {
    try record(ReportRow.self, .equal(.id, id)).map { try whole($0.report) }
  }

  /// Returns reports, the newest first.
  public func reports(in realm: RealmID, limit: Int) throws -> [Report] {
    try records(ReportRow.self, .equal(.realm, realm), isDescending: true, limit: limit).map { try whole($0.report) }
  }

  private func whole(_ report: Report) throws -> Report {
    var report = report
    report.messages = try records(ReportedMessage.self, .equal(.report, report.id)).map(\.message)
    return report
  }

  /// Returns the number of reports made at `time` or later; `reporter` is `nil` for those of all users.
  public func reportCount(by reporter: UserID?, in realm: RealmID, since time: Timestamp) throws -> Int {
    var conditions: [RecordCondition<ReportRow>] = [.equal(.realm, realm), .atLeast(.createdAt, time)]
    if let reporter { conditions.append(.equal(.reporter, reporter)) }
    return try count(RecordQuery(conditions))
  }
}

extension RecordWriter {
  /// Stores a report, and returns it with its id.
  public func insert(_ report: Report) throws -> Report {
    var report = report
    report.id = try put(ReportRow(report: report)).report.id
    for (ordinal, message) in report.messages.enumerated() {
      try put(ReportedMessage(report: report.id, ordinal: ordinal, message: message))
    }
    return report
  }

  /// Removes a report. Returns `false` if there is none.
  public func removeReport(_ id: Int64) throws -> Bool {
    try remove(ReportedMessage.self, .equal(.report, id))
    return try remove(ReportRow.self, .equal(.id, id)) > 0
  }
}
