/// A room of XEP-0045.
public struct RoomRecord: Sendable, Equatable, Codable {
  public var jid: String
  /// The configuration as the fields of its form (XEP-0045 10.1.3), without `muc#roomconfig_`. What is not named is as in an
  /// instant room.
  public var fields: [String: String]
  /// The owners, of whom the first that is known here makes the room.
  public var owners: [String]
  public var subject: String
  /// The nick of who set the subject.
  public var subjectNick: String?
  /// The time of the first message in milliseconds, which `HistoryStage` sets; `nil` if there are none.
  public var time: Int64?

  public init(
    jid: String, fields: [String: String], owners: [String], subject: String = "", subjectNick: String? = nil,
    time: Int64? = nil
  ) {
    self.jid = jid
    self.fields = fields
    self.owners = owners
    self.subject = subject
    self.subjectNick = subjectNick
    self.time = time
  }
}

/// The affiliation of somebody in a room (XEP-0045 5.2).
public struct RoomPersonRecord: Sendable, Equatable, Codable {
  public var room: String
  public var jid: String
  /// `owner`, `admin`, `member` or `outcast`.
  public var affiliation: String
  /// The nick that is registered (XEP-0045 7.10).
  public var nick: String?
  public var reason: String?

  public init(room: String, jid: String, affiliation: String, nick: String? = nil, reason: String? = nil) {
    self.room = room
    self.jid = jid
    self.affiliation = affiliation
    self.nick = nick
    self.reason = reason
  }
}

public struct RoomMessageRecord: Sendable, Equatable, Codable {
  public var room: String
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var time: Int64
  public var nick: String
  /// The author's address; `nil` if the archive does not have it.
  public var author: String?
  public var xml: String

  public init(room: String, time: Int64, nick: String, author: String?, xml: String) {
    self.room = room
    self.time = time
    self.nick = nick
    self.author = author
    self.xml = xml
  }
}
