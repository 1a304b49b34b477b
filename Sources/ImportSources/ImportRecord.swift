/// One thing that another server kept: what every source yields, and the importer takes.
///
/// Addresses and XML are as the source has them; whoever takes a record checks them.
public enum ImportRecord: Sendable, Equatable, Codable {
  case account(AccountRecord)
  case contact(ContactRecord)
  case request(RequestRecord)
  /// A `<vCard/>` (XEP-0054).
  case vCard(ElementRecord)
  /// One element of a user's private XML (XEP-0049).
  case privateXML(ElementRecord)
  case node(NodeRecord)
  case item(ItemRecord)
  case block(BlockRecord)
  /// One user's copy of a message.
  case copy(MessageCopy)
  /// A message between two users, made of their copies by `HistoryStage`.
  case message(MessageRecord)
  case room(RoomRecord)
  case roomPerson(RoomPersonRecord)
  /// A message of a room's archive.
  case roomMessage(RoomMessageRecord)
  case contactGroup(ContactGroupRecord)
}

public struct AccountRecord: Sendable, Equatable, Codable {
  public var jid: String
  public var password: String?
  public var scram: [SCRAMRecord]

  public init(jid: String, password: String? = nil, scram: [SCRAMRecord] = []) {
    self.jid = jid
    self.password = password
    self.scram = scram
  }
}

/// The keys of a password for one mechanism (RFC 5802 3); bytes are in base 64.
public struct SCRAMRecord: Sendable, Equatable, Codable {
  /// The mechanism, such as `SCRAM-SHA-1`.
  public var mechanism: String
  public var iterations: Int
  public var salt: String
  public var storedKey: String
  public var serverKey: String

  public init(mechanism: String, iterations: Int, salt: String, storedKey: String, serverKey: String) {
    self.mechanism = mechanism
    self.iterations = iterations
    self.salt = salt
    self.storedKey = storedKey
    self.serverKey = serverKey
  }
}

/// A roster item (RFC 6121 2.1.2).
public struct ContactRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var jid: String
  public var name: String?
  public var groups: [String]
  /// `none`, `to`, `from` or `both`.
  public var subscription: String
  public var asks: Bool
  public var isApproved: Bool

  public init(
    owner: String, jid: String, name: String? = nil, groups: [String] = [], subscription: String, asks: Bool = false,
    isApproved: Bool = false
  ) {
    self.owner = owner
    self.jid = jid
    self.name = name
    self.groups = groups
    self.subscription = subscription
    self.asks = asks
    self.isApproved = isApproved
  }
}

/// A subscription request that waits for its answer (RFC 6121 3.1.3).
public struct RequestRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var from: String
  /// The stanza's children.
  public var children: String?

  public init(owner: String, from: String, children: String? = nil) {
    self.owner = owner
    self.from = from
    self.children = children
  }
}

public struct ElementRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var xml: String

  public init(owner: String, xml: String) {
    self.owner = owner
    self.xml = xml
  }
}

/// A node of an account (XEP-0163).
public struct NodeRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var name: String
  /// The configuration, a data form (XEP-0060 16.4.4); `nil` for the defaults.
  public var form: String?
  /// The affiliations of others, by address.
  public var affiliations: [String: String]

  public init(owner: String, name: String, form: String? = nil, affiliations: [String: String] = [:]) {
    self.owner = owner
    self.name = name
    self.form = form
    self.affiliations = affiliations
  }
}

/// An item of a node. Those of one node come in the order of their publication.
public struct ItemRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var node: String
  /// The configuration of the node, which decides who may read the item.
  public var form: String?
  public var id: String?
  public var payload: String?

  public init(owner: String, node: String, form: String? = nil, id: String?, payload: String?) {
    self.owner = owner
    self.node = node
    self.form = form
    self.id = id
    self.payload = payload
  }
}

public struct BlockRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var jids: [String]

  public init(owner: String, jids: [String]) {
    self.owner = owner
    self.jids = jids
  }
}

/// A message in one user's archive or offline storage.
public struct MessageCopy: Sendable, Equatable, Codable {
  public var owner: String
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var time: Int64
  /// The bare address of the other user.
  public var peer: String
  /// Whether the other user has written it.
  public var isInbound: Bool
  /// Whether it waits for the owner, who has not received it.
  public var isOffline: Bool
  /// The stanza's id; empty if there is none.
  public var id: String
  /// The children by which two copies are recognised as one message.
  public var digest: UInt64
  public var xml: String

  public init(
    owner: String, time: Int64, peer: String, isInbound: Bool, isOffline: Bool, id: String, digest: UInt64, xml: String
  ) {
    self.owner = owner
    self.time = time
    self.peer = peer
    self.isInbound = isInbound
    self.isOffline = isOffline
    self.id = id
    self.digest = digest
    self.xml = xml
  }
}

/// A message of the past between two users.
public struct MessageRecord: Sendable, Equatable, Codable {
  /// The local user.
  public var owner: String
  public var time: Int64
  public var peer: String
  public var isInbound: Bool
  public var isInAuthorsArchive: Bool
  public var isInAddresseesArchive: Bool
  public var isOffline: Bool
  public var xml: String

  public init(
    owner: String, time: Int64, peer: String, isInbound: Bool, isInAuthorsArchive: Bool, isInAddresseesArchive: Bool,
    isOffline: Bool, xml: String
  ) {
    self.owner = owner
    self.time = time
    self.peer = peer
    self.isInbound = isInbound
    self.isInAuthorsArchive = isInAuthorsArchive
    self.isInAddresseesArchive = isInAddresseesArchive
    self.isOffline = isOffline
    self.xml = xml
  }
}

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

/// Users who have each other as contacts by an operator's order.
public struct ContactGroupRecord: Sendable, Equatable, Codable {
  public var domain: String
  public var name: String
  public var label: String?
  public var members: [String]
  public var hasEveryone: Bool

  public init(domain: String, name: String, label: String?, members: [String], hasEveryone: Bool) {
    self.domain = domain
    self.name = name
    self.label = label
    self.members = members
    self.hasEveryone = hasEveryone
  }
}

/// The place of a record in its source, for the report.
public struct Place: Sendable, Equatable, Codable, CustomStringConvertible {
  public var file: String
  /// The line, from 1; `nil` where lines mean nothing.
  public var line: Int?
  /// The user and kind of data, or the key of a database's row.
  public var key: String?

  public init(file: String, line: Int? = nil, key: String? = nil) {
    self.file = file
    self.line = line
    self.key = key
  }

  public var description: String {
    var text = file
    if let line { text += ", line \(line)" }
    if let key { text += ": \(key)" }
    return text
  }
}
