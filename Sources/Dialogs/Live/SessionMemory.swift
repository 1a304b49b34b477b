public import Basics

/// The bounds of the memory that the sessions of both doors take in all, beside what each may take.
public struct SessionMemory: Sendable {
  /// The output that clients do not read. The user with the most loses the session that has read nothing for the longest
  /// first; a server and a component count as a user.
  public var unread = MemoryBound()
  /// Stanzas and messages over WebSockets that are not complete, with input that waits to be read. The user with the most loses the
  /// oldest session first; the servers of a zone (`DomainZone`) count as a user, and so does a component.
  public var unfinished = MemoryBound()
  /// The stanzas that are kept until clients acknowledge them. The user with the most loses the oldest session first.
  public var unacknowledged = MemoryBound()
  /// Answers that wait for an event: long polls, streams of events, and sessions over requests. The user with the most loses the
  /// oldest first.
  public var answers = MemoryBound()
  /// The memory that is kept for users who are online (`Hub.countMemory`): contacts and blocks, presences, the addresses of directed
  /// presence, places in rooms. Users of one network count together. At the bound, the user with the most in the network with the most
  /// loses the session with the most first.
  public var online = MemoryBound()
  /// The stanzas that are stored nowhere and wait in the links to other servers, by author: a user here, or a zone elsewhere.
  /// At a bound the newest fails.
  public var links = WaitingBytes()
  /// The sessions of people elsewhere in rooms and calls here, with their places in rooms, by the zones of their domains. At a bound the
  /// next one does not enter.
  public var residents = WaitingBytes()

  public init() {}
}
