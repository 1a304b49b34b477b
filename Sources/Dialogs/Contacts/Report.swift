/// What a user reports of somebody they block (XEP-0377), for the operators alone.
public struct Report: Hashable, Sendable {
  /// What happens to it beyond this server, if anything: only what the reporter allowed (XEP-0377 3).
  public struct Consent: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// To the server that the messages came from.
    public static let origin = Consent(rawValue: 1)
    /// To those who keep lists.
    public static let thirdParty = Consent(rawValue: 2)
  }

  /// A message that the report names.
  public struct Message: Hashable, Sendable {
    /// As the reporter named it.
    public let id: String
    /// What it said; nil where the reporter could not read it, or nobody but the two can (ciphertext).
    public let text: String?
    public init(id: String, text: String?) {
      self.id = id
      self.text = text
    }
  }

  /// 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let reporter: UserID
  /// The address that was blocked.
  public let reported: String
  /// A URN; `urn:xmpp:reporting:spam` and `urn:xmpp:reporting:abuse` are defined.
  public let reason: String
  /// In the reporter's words; may be empty.
  public let text: String
  public let consent: Consent
  public let messages: [Message]
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

/// A report as it comes with a block.
public struct ReportDraft: Hashable, Sendable {
  public var reported: BlockPattern
  public var reason: String
  public var text: String
  public var consent: Report.Consent
  /// Ids of messages in the reporter's own archive.
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
