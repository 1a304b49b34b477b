/// One step of a script. Users, rooms and messages are numbers: a room has the number that `create` gave it, a message that of
/// the step that posted it, which is also its text. A step that makes no sense where it stands (a marker for a message that was
/// refused, a stanza of a client that is offline) does nothing, so that any part of a script is a script.
///
/// Its description is Swift source: a printed script can be pasted into a test.
public enum Action: Hashable, Sendable {
  // Sessions: each user has at most one of each door.
  case come(Int, Door)
  case go(Int, Door)
  /// The event loop of the user's app session is busy: deliveries wait in its mailbox until `resume`.
  case stall(Int)
  case resume(Int)
  /// The user's app client reads nothing until `catchUp`.
  case lag(Int)
  case catchUp(Int)
  /// The user's app session reads a page of what it missed, and `show` tells it to the client.
  case fetch(Int)
  case show(Int)

  // Messages
  case say(Int, Door, Chat, message: Int)
  /// The author posts a message again, as a client does that has had no answer.
  case again(message: Int)
  /// The author uses the id of a message for another one.
  case reuse(message: Int, as: Int)
  case forward(Int, Int, to: Chat, message: Int)
  case change(Int, Door, Change, of: Int, message: Int)
  case mark(Int, Mark, Int)
  case hide(Int, Int)
  case clear(Int, Chat)
  case block(Int, Int)
  case unblock(Int, Int)

  // Retention
  /// The entries of a message's dialog up to it go, some in each piece.
  case expire(through: Int, limit: Int)
  /// The entries of a message's dialog up to it go from the view of a user, who wants an age of their own.
  case age(Int, through: Int)
  /// The operators hold a message's dialog, or a user, and release everything.
  case holdDialog(of: Int)
  case holdUser(Int)
  case release

  // Rooms
  case create(Int, room: Int, isOpen: Bool, sinceJoin: Bool)
  case affiliate(Int, Int, RoomAffiliation, room: Int)
  case join(Int, room: Int)
  case enter(Int, room: Int)
  case exit(Int, room: Int)
  case kick(Int, Int, room: Int)
  case configure(Int, room: Int, sinceJoin: Bool, isReadOnly: Bool)
  case destroy(Int, room: Int)

  // What happens around them
  /// The clock moves on by so many milliseconds, or back.
  case wait(Int)
  /// What has been posted since the last commit becomes one batch.
  case commit
  /// Of the next commits so many succeed and then so many fail.
  case fail(Int, after: Int)
  /// The server stops, and starts again on the same database. Most of the time only the core is made anew; where the step
  /// says so the store is, too.
  case restart(reopens: Bool)
  /// The server dies in its next commit, before or after the transaction is durable: nobody is told of it.
  case crash(isDurable: Bool, reopens: Bool)
}

/// The door by which a user acts.
public enum Door: String, Sendable { case app, xmpp }

/// Where a message is posted to.
public enum Chat: Hashable, Sendable {
  case user(Int)
  case room(Int)
}

/// What is done to an earlier message.
public enum Change: String, Sendable, CaseIterable { case reply, edit, react, retract, moderate }

/// A marker, and whether the other side is told.
public enum Mark: String, Sendable, CaseIterable { case delivered, displayed, displayedPrivately }

/// The affiliation of a user with a room, from the lowest to the highest.
public enum RoomAffiliation: Int, Sendable, Comparable {
  case outcast, none, member, admin, owner
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  var isMember: Bool { self >= .member }
}

// Payloads are described as they are written in Swift.
extension Door: CustomDebugStringConvertible { public var debugDescription: String { ".\(rawValue)" } }
extension Change: CustomDebugStringConvertible { public var debugDescription: String { ".\(rawValue)" } }
extension Mark: CustomDebugStringConvertible { public var debugDescription: String { ".\(rawValue)" } }
extension RoomAffiliation: CustomDebugStringConvertible {
  public var debugDescription: String { [".outcast", ".none", ".member", ".admin", ".owner"][rawValue] }
}
extension Chat: CustomDebugStringConvertible {
  public var debugDescription: String {
    switch self {
    case .user(let user): ".user(\(user))"
    case .room(let room): ".room(\(room))"
    }
  }
}
