// Key-value data: bytes that the rules keep for a user, a room or a realm under a key, where they need no more than that.

/// The nodes and items that are the keys of users' and rooms' values.
public enum ValueKey {
  public static let vCard = "vcard"
  public static let avatar = "avatar"
  public static let bytes = "bytes"
  public static let mediaType = "type"
  /// Fields of the profile that are stored nowhere else.
  public static let profile = "profile"
  /// The full name in UTF-8.
  public static let fullName = "full-name"
  /// A mark that the profile was written to its nodes.
  public static let shown = "shown"
  /// The private data of clients (XEP-0049), by name.
  public static let privateXML = "private"
  /// The content of a list of bookmarks beside rooms, under `bytes`.
  public static let bookmarks = "bookmarks"
  /// The notes of what imports have brought (docs/decisions/0036), by kind.
  public static let imported = "imported"
  /// A mark that the user has registered, alone or invited by another user, under `bytes`.
  static let registered = "registered"
  /// The reasons of a room's bans of addresses that are no user's, by address.
  public static let bans = "bans"
  /// A mark that a room does not have all of its first members yet, under `bytes`.
  static let unfilled = "unfilled"
  /// `ArchivePreferences`, under `bytes`.
  static let archive = "archive"
}

/// The bytes of a user under a node and an item.
struct UserKeyValue {
  let user: UserID
  let node: String
  let item: String
  let bytes: [UInt8]
}

extension UserKeyValue: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, node, item, bytes
  }
  static let kind = "vault"
  static let key: [Field] = [.user, .node, .item]
  var fields: [FieldValue] {
    [user.field, node.field, item.field, bytes.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(user: fields.next(), node: fields.next(), item: fields.next(), bytes: fields.next())
  }
}

/// The bytes of a room under a node and an item.
struct RoomKeyValue {
  let room: DialogID
  let node: String
  let item: String
  let bytes: [UInt8]
}

extension RoomKeyValue: Record {
  enum Field: String, CaseIterable, Sendable {
    case room, node, item, bytes
  }
  static let kind = "room_vault"
  static let key: [Field] = [.room, .node, .item]
  var fields: [FieldValue] {
    [room.field, node.field, item.field, bytes.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(room: fields.next(), node: fields.next(), item: fields.next(), bytes: fields.next())
  }
}

/// The bytes of a realm under an item.
struct RealmKeyValue {
  let realm: RealmID
  let item: String
  let bytes: [UInt8]
}

extension RealmKeyValue: Record {
  enum Field: String, CaseIterable, Sendable {
    case realm, item, bytes
  }
  static let kind = "realm_vault"
  static let key: [Field] = [.realm, .item]
  var fields: [FieldValue] {
    [realm.field, item.field, bytes.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(realm: fields.next(), item: fields.next(), bytes: fields.next())
  }
}

extension RecordReader {
  /// Returns the value under a node and an item; `nil` if there is none.
  public func value(of user: UserID, node: String, item: String) throws -> [UInt8]? {
    try record(UserKeyValue.self, .equal(.user, user), .equal(.node, node), .equal(.item, item))?.bytes
  }

  /// Returns the number of the user's values under `node`.
  public func valueCount(of user: UserID, node: String) throws -> Int {
    try count(UserKeyValue.self, .equal(.user, user), .equal(.node, node))
  }

  /// Returns all values of the user under `node`.
  public func values(of user: UserID, node: String) throws -> [[UInt8]] {
    try records(UserKeyValue.self, .equal(.user, user), .equal(.node, node)).map(\.bytes)
  }

  public func value(of room: DialogID, node: String, item: String) throws -> [UInt8]? {
    try record(RoomKeyValue.self, .equal(.room, room), .equal(.node, node), .equal(.item, item))?.bytes
  }

  public func value(of realm: RealmID, item: String) throws -> [UInt8]? {
    try record(RealmKeyValue.self, .equal(.realm, realm), .equal(.item, item))?.bytes
  }
}

extension RecordWriter {
  /// Stores a value; `nil` deletes it.
  public func setValue(of user: UserID, node: String, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      try put(UserKeyValue(user: user, node: node, item: item, bytes: bytes))
    } else {
      try remove(UserKeyValue.self, .equal(.user, user), .equal(.node, node), .equal(.item, item))
    }
  }

  /// Stores a value; `nil` deletes it.
  public func setValue(of room: DialogID, node: String, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      try put(RoomKeyValue(room: room, node: node, item: item, bytes: bytes))
    } else {
      try remove(RoomKeyValue.self, .equal(.room, room), .equal(.node, node), .equal(.item, item))
    }
  }

  /// Stores a value; `nil` deletes it.
  public func setValue(of realm: RealmID, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      try put(RealmKeyValue(realm: realm, item: item, bytes: bytes))
    } else {
      try remove(RealmKeyValue.self, .equal(.realm, realm), .equal(.item, item))
    }
  }
}
