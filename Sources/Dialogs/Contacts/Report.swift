public import Addresses
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

  /// What has become of a report that is to be forwarded to the domain that the reported address is of
  /// (`ReportForwarding`).
  public struct Forwarding: Hashable, Sendable {
    public enum State: UInt8, Sendable {
      /// It is not known yet where the domain takes reports.
      case waiting = 1
      /// It is on its way, or there: what is left is the outbox's.
      case forwarded = 2
      /// The domain takes no reports.
      case unaccepted = 3
      /// The domain was not reached in time.
      case unreached = 4
      /// There were too many in the hour (`Limits.reportsForwardedPerUserPerHour`).
      case limited = 5
    }
    public let state: State
    /// The time of the next attempt while it waits, else that of the outcome.
    public let time: Timestamp

    public init(_ state: State, at time: Timestamp) {
      self.state = state
      self.time = time
    }
  }

  /// A message that the report names.
  public struct Message: Hashable, Sendable {
    /// The message's id as the reporter gave it.
    public let id: String
    /// The message's text; `nil` if the reporter could not read it, or it is encrypted.
    public let text: String?
    /// The dialog that it is in; `nil` if there is no such message here, as in reports of other servers.
    public let dialog: DialogID?
    public init(id: String, text: String?, dialog: DialogID? = nil) {
      self.id = id
      self.text = text
      self.dialog = dialog
    }
  }

  /// The id; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  /// The user, or the domain elsewhere, that made it.
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
  /// `nil` if it is not to be forwarded.
  public let forwarding: Forwarding?

  public init(
    id: Int64 = 0, realm: RealmID, reporter: UserID, reported: String, reason: String, text: String, consent: Consent,
    messages: [Message], createdAt: Timestamp, forwarding: Forwarding? = nil
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
    self.forwarding = forwarding
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

/// A report by the server of a domain elsewhere about a user here, which a user there has made.
public struct RemoteReport: Hashable, Sendable {
  public var reported: BareJID
  public var reason: String
  public var text: String
  /// The messages that it quotes, which nobody here can verify.
  public var messages: [Report.Message]

  public init(reported: BareJID, reason: String, text: String, messages: [Report.Message]) {
    self.reported = reported
    self.reason = reason
    self.text = text
    self.messages = messages
  }
}

extension Report.Consent: FieldCodable {}
extension Report.Forwarding.State: FieldCodable {}

/// A report without its messages, which are records of their own.
struct ReportRow {
  let report: Report
}

extension ReportRow: Record {
  enum Field: String, CaseIterable, Sendable {
    case id, realm, reporter, reported, reason, text, consent, createdAt = "created"
    case forwarding
    case forwardingAt = "forwarding_at"
  }
  static let kind = "reports"
  static let key: [Field] = [.id]
  static let isNumbered = true
  var fields: [FieldValue] {
    [
      report.id.field, report.realm.field, report.reporter.field, report.reported.field, report.reason.field,
      report.text.field, report.consent.field, report.createdAt.field, (report.forwarding?.state).field,
      (report.forwarding?.time).field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    report = try Report(
      id: fields.next(), realm: fields.next(), reporter: fields.next(), reported: fields.next(),
      reason: fields.next(), text: fields.next(), consent: fields.next(), messages: [], createdAt: fields.next(),
      forwarding: Self.forwarding(&fields))
  }

  private static func forwarding(_ fields: inout FieldReader) throws -> Report.Forwarding? {
    let (state, time): (Report.Forwarding.State?, Timestamp?) = (try fields.next(), try fields.next())
    guard let state, let time else { return nil }
    return Report.Forwarding(state, at: time)
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
    case report, ordinal, message, text, dialog
  }
  static let kind = "report_messages"
  static let key: [Field] = [.report, .ordinal]
  var fields: [FieldValue] {
    [report.field, ordinal.field, message.id.field, message.text.field, message.dialog.field]
  }
  init(_ fields: inout FieldReader) throws {
    report = try fields.next()
    ordinal = try fields.next()
    message = try Report.Message(id: fields.next(), text: fields.next(), dialog: fields.next())
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

  /// Returns reports that wait to be forwarded, of all realms, the one that is due first at the beginning.
  public func reportsToForward(limit: Int) throws -> [Report] {
    try records(
      ReportRow.self, .equal(.forwarding, Report.Forwarding.State.waiting), by: .forwardingAt, limit: limit
    ).map { try whole($0.report) }
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

  /// Sets what has become of a report that is to be forwarded.
  public func set(_ forwarding: Report.Forwarding, of report: Int64) throws {
    try update(
      ReportRow.self, .equal(.id, report),
      to: [.forwarding: forwarding.state.field, .forwardingAt: forwarding.time.field])
  }

  /// Removes a report. Returns `false` if there is none.
  public func removeReport(_ id: Int64) throws -> Bool {
    try remove(ReportedMessage.self, .equal(.report, id))
    return try remove(ReportRow.self, .equal(.id, id)) > 0
  }
}
