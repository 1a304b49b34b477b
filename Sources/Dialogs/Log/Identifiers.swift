/// The server's internal ids. None of them is ever sent to a client: the protocols use `PublicID`s, which reveal
/// nothing.

/// A realm: one app, one XMPP domain, one key set.
public struct RealmID: Hashable, Sendable, Comparable {
  public let number: Int64
  public init(_ number: Int64) { self.number = number }
  /// Whether its users live on another server, which is reached by a link of the hub. Such ids are negative, so that
  /// this is known without a lookup.
  public var isRemote: Bool { number < 0 }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A user of one realm, or its pubsub service (`PubsubServices`). The id is never reused, not even after the user is
/// deleted.
public struct UserID: Hashable, Sendable, Comparable {
  public let number: Int64
  public init(_ number: Int64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A conversation, or a user's own `self` dialog.
public struct DialogID: Hashable, Sendable, Comparable {
  public let number: Int64
  public init(_ number: Int64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// The position of an entry in the whole log: increasing, never reused. The first entry has position 1; `zero` means
/// "before everything".
public struct Position: Hashable, Sendable, Comparable {
  public let number: Int64
  public init(_ number: Int64) { self.number = number }
  public static let zero = Position(0)
  public static let end = Position(.max)
  public var next: Position { Position(number + 1) }
  public var previous: Position { Position(number - 1) }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// One bound XMPP or WebSocket session of this process.
public struct SessionID: Hashable, Sendable {
  public let number: UInt64
  public init(_ number: UInt64) { self.number = number }
}
