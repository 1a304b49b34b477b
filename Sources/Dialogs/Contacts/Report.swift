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
