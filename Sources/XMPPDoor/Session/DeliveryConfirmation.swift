import Dialogs

/// How much of what it was told a client has, as a value. Theory:
///
/// What comes for a user while nobody is there is told to the next session that
/// is (RFC 6121 8.5.2.2), so the log must know how far the user's clients have
/// it. A client *confirms* by acknowledging (XEP-0198), or by answering a ping
/// that stood behind the messages; one ping is under way at a time. The log is
/// told of it now and then, not each time, since being told again costs less
/// than a write per message.
struct DeliveryConfirmation: Equatable {
  private struct Ping: Equatable {
    let id: String
    let upTo: Position
  }
  /// Inbound messages up to here were told to this client.
  private(set) var told: Position
  /// And up to here it has them.
  private(set) var confirmed: Position
  /// And up to here the log knows.
  private var posted = Position.zero
  private var unposted = 0
  private var ping: Ping?

  init(told: Position = .zero, confirmed: Position = .zero) {
    self.told = told
    self.confirmed = confirmed
  }

  /// Something was told that the client has not confirmed.
  var isOwed: Bool { told > confirmed }

  /// The session begins where the user's confirmed messages end.
  mutating func begin(at position: Position) {
    told = max(told, position)
    confirmed = max(confirmed, position)
  }

  mutating func tell(_ position: Position) { told = max(told, position) }

  /// False: that was known.
  mutating func confirm(_ position: Position) -> Bool {
    guard position > confirmed else { return false }
    confirmed = position
    unposted += 1
    return true
  }

  /// A ping is about to be sent. False: one is under way.
  mutating func begin(ping id: String) -> Bool {
    guard ping == nil else { return false }
    ping = Ping(id: id, upTo: told)
    return true
  }

  /// The client has answered a request. What it has by that; nil: it was no ping of ours.
  mutating func answered(_ id: String) -> Position? {
    guard let ping, ping.id == id else { return nil }
    self.ping = nil
    return ping.upTo
  }

  /// What the log is to be told now. `count`: only if the client has confirmed so often.
  mutating func due(after count: Int = 1) -> Position? {
    guard unposted >= count, confirmed > posted else { return nil }
    unposted = 0
    posted = confirmed
    return confirmed
  }
}
