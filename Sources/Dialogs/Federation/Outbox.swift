// The outbox holds everything that users elsewhere must get, until their server has taken it. Theory:
//
// A user of another server has no feed here. What would be a row of their feed is a row of the outbox instead: written
// in the entry's own transaction, ordered by position, and removed when the other server has taken it (XEP-0198, or an
// answered ping behind it). So it survives a crash of either side, and an outage shorter than the time after which the
// server gives up. Rows belong to a pair of domains, because a stream between servers is authenticated for a pair (RFC
// 6120 13.7.1): their order is the order of the pair, and so of each two users.
//
// What has no entry (subscription stanzas, errors for what was accepted before) is a row that contains the stanza, at a
// position of its own. Presence, IQs and chat states are no rows: they are only of use at once.
//
// A row that is given up becomes an entry in its author's feed (`Fact.undelivered`): the author is told in order with
// everything else, also when coming back later. So is one that waits for some time (`QueuedMessages.swift`).

public import Addresses
public import Basics

/// Something that a domain elsewhere has not taken yet.
public struct OutboxRow: Sendable {
  /// The content of a row. A door renders it when it is sent.
  public enum Item: Sendable {
    /// A message, a marker, a call's message, or the invitation of a room, which is an entry of the invited user's
    /// `self` dialog; as the log has it now, with `Entry.state`.
    case entry(Entry)
    /// A stanza that is no entry, with its sender's and its recipient's addresses.
    case stanza(RelayedStanza)

    /// The address that it is sent from: a room's, if a room sends it.
    package var sender: BareJID {
      switch self {
      case .stanza(let stanza): return stanza.sender
      case .entry(let entry):
        if case .invitation(let invitation) = entry.fact { return invitation.room.address }
        return entry.author.address
      }
    }
  }

  public let position: Position
  /// The time at which the server gives up.
  public let expiresAt: Timestamp
  public let item: Item

  public init(position: Position, expiresAt: Timestamp, item: Item) {
    self.position = position
    self.expiresAt = expiresAt
    self.item = item
  }
}

/// The state of a pair of domains for which rows wait, which survives a restart.
public struct OutboxPair: Hashable, Sendable {
  public let pair: DomainPair
  /// The number of rows that wait.
  public var rows: Int
  /// The time at which the oldest of them expires.
  public var expiresAt: Timestamp
  /// The number of attempts to connect that have failed since the last one that succeeded.
  public var failures: Int
  /// The time of the next attempt; `nil` if none is due.
  public var nextAttemptAt: Timestamp?
  /// The reason of the last failure, for operators; `nil` after a success.
  public var reason: String?

  public init(
    pair: DomainPair, rows: Int, expiresAt: Timestamp, failures: Int = 0, nextAttemptAt: Timestamp? = nil,
    reason: String? = nil
  ) {
    self.pair = pair
    self.rows = rows
    self.expiresAt = expiresAt
    self.failures = failures
    self.nextAttemptAt = nextAttemptAt
    self.reason = reason
  }
}

/// A link's report of what became of the rows of its pair.
public enum OutboxIntent: Sendable {
  /// Adds a stanza to the rows of the pair of its addresses' domains. A full outbox refuses it (`outbox-full`).
  case owe(RelayedStanza)
  /// Notes where a report goes that is to be forwarded, and adds its stanza to the rows.
  case forward(report: Int64, ReportForwarding.Way)
  /// Notes that the rows up to a position wait already for `Limits.queuedAfter`: the authors of messages are told.
  case overdue(DomainPair, through: Position)
  /// Removes the rows up to a position: the other server has taken them. Rows behind it stay.
  case taken(DomainPair, through: Position)
  /// Gives up the rows at these positions, and tells their authors. Other rows stay.
  case bounce(DomainPair, positions: ClosedRange<Position>, FederationFailure)
  /// Records an attempt to connect: a failed one, if rows wait, or one that succeeded (`failures` is 0).
  case attempted(DomainPair, failures: Int, next: Timestamp?, reason: String?)
  /// Records that a certificate of the domain was found valid.
  case verified(DomainPair)
  /// Removes what is known of the certificates of pairs' domains, unless one was found valid at `before` or later: another thread may
  /// have reported that meanwhile. Also removes the pairs of which nothing is known any more and for which nothing waits.
  case unverified([DomainPair], before: Timestamp)
  /// Records that the server of `from` could not deliver a message: the author is told as for `bounce`. `message` is the
  /// id that the message was sent with. An unknown id, or one of a message to somebody else, is ignored.
  case failed(message: String, to: BareJID, FederationFailure)
  /// Gives up the rows of a pair whose time is over.
  case expire(DomainPair)
}

/// The reason why something did not reach a user elsewhere: a stanza error without its XML (RFC 6120 8.3).
public struct FederationFailure: Error, Hashable, Sendable {
  /// The error's type (RFC 6120 8.3.2).
  public enum Kind: UInt8, Sendable {
    case auth = 1
    case cancel = 2
    case modify = 3
    case wait = 4
    case `continue` = 5
  }
  public let kind: Kind
  /// The name of the defined condition (RFC 6120 8.3.3): `remote-server-timeout`. It is also the app protocol's code.
  public let condition: String
  /// The explanation for people; of another server at most `Limits.failureTextMax` bytes of it.
  public let text: String

  public init(_ kind: Kind, _ condition: String, _ text: String) {
    self.kind = kind
    self.condition = condition
    self.text = text
  }

  /// The other server was not reached in time.
  public static func timedOut(_ domain: String) -> Self {
    Self(.wait, "remote-server-timeout", "\(domain) could not be reached for too long. The message was not delivered.")
  }

  /// There is no such server, or it serves no XMPP.
  public static func notFound(_ domain: String) -> Self {
    Self(.cancel, "remote-server-not-found", "There is no XMPP server at \(domain). The message was not delivered.")
  }
}

/// A message that its author was told is not delivered: an entry in the author's `self` dialog.
public struct Undelivered: Sendable {
  /// The dialog and the position of the message.
  public let dialog: DialogID
  public let target: Position
  /// The user elsewhere whom it was for.
  public let peer: Party
  /// The author's resource that sent it; `nil` for an app's message.
  public let fromResource: String?
  public let toResource: String?
  /// The id that the stanza was sent with.
  public let stanzaID: String
  public let failure: FederationFailure
  /// The message with its new state; `nil` if it is not shown, or if the entry was read from the log: then the message
  /// must be read.
  public let outcome: Entry?

  public init(
    dialog: DialogID, target: Position, peer: Party, fromResource: String?, toResource: String?, stanzaID: String,
    failure: FederationFailure, outcome: Entry? = nil
  ) {
    self.dialog = dialog
    self.target = target
    self.peer = peer
    self.fromResource = fromResource
    self.toResource = toResource
    self.stanzaID = stanzaID
    self.failure = failure
    self.outcome = outcome
  }
}
