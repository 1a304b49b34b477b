// The vault: bytes that a user, a room or a realm keeps under a name, for the rules that need no more than that.

/// The bytes of a user under a node and an item.
struct UserVaultItem {
  let user: UserID
  let node: String
  let item: String
  let bytes: [UInt8]
}

extension UserVaultItem: Record {
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
struct RoomVaultItem {
  let room: DialogID
  let node: String
  let item: String
  let bytes: [UInt8]
}

extension RoomVaultItem: Record {
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
struct RealmVaultItem {
  let realm: RealmID
  let item: String
  let bytes: [UInt8]
}

extension RealmVaultItem: Record {
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
  public func vault(_ user: UserID, node: String, item: String) throws -> [UInt8]? {
    try record(UserVaultItem.self, .equal(.user, user), .equal(.node, node), .equal(.item, item))?.bytes
  }

  /// Returns the number of the user's items under `node`.
  public func vaultCount(_ user: UserID, node: String) throws -> Int {
    try count(UserVaultItem.self, .equal(.user, user), .equal(.node, node))
  }

  /// Returns all items of the user under `node`.
  public func vaultItems(of user: UserID, node: String) throws -> [[UInt8]] {
    try records(UserVaultItem.self, .equal(.user, user), .equal(.node, node)).map(\.bytes)
  }

  public func vault(_ room: DialogID, node: String, item: String) throws -> [UInt8]? {
    try record(RoomVaultItem.self, .equal(.room, room), .equal(.node, node), .equal(.item, item))?.bytes
  }

  public func vault(_ realm: RealmID, item: String) throws -> [UInt8]? {
    try record(RealmVaultItem.self, .equal(.realm, realm), .equal(.item, item))?.bytes
  }
}

extension RecordWriter {
  /// Stores an item; `nil` deletes it.
  public func setVault(_ user: UserID, node: String, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      try put(UserVaultItem(user: user, node: node, item: item, bytes: bytes))
    } else {
      try remove(UserVaultItem.self, .equal(.user, user), .equal(.node, node), .equal(.item, item))
    }
  }

  /// Stores an item; `nil` deletes it.
  public func setVault(_ room: DialogID, node: String, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      try put(RoomVaultItem(room: room, node: node, item: item, bytes: bytes))
    } else {
      try remove(RoomVaultItem.self, .equal(.room, room), .equal(.node, node), .equal(.item, item))
    }
  }

  /// Stores an item; `nil` deletes it.
  public func setVault(_ realm: RealmID, item: String, _ bytes: [UInt8]?) throws {
    if let bytes {
      try put(RealmVaultItem(realm: realm, item: item, bytes: bytes))
    } else {
      try remove(RealmVaultItem.self, .equal(.realm, realm), .equal(.item, item))
    }
  }
}
