import Dialogs

/// The position up to which a client has received what it was sent, as a value. Theory:
///
/// Messages that arrive while a user has no session are sent to the next session (RFC 6121 8.5.2.2), so the log must
/// know how far the user's clients have received them. A client *confirms* by acknowledging (XEP-0198), or by answering
/// a ping that was sent behind the messages; one ping is under way at a time. The log is updated now and then rather
/// than each time, since a repeated delivery costs less than a write per message.
struct DeliveryConfirmation: Equatable {
  private struct Ping: Equatable {
    let id: String
    let upTo: Position
  }
  /// The position up to which inbound messages were sent to this client.
  private(set) var told: Position
  /// The position up to which the client has confirmed them.
  private(set) var confirmed: Position
  /// The position up to which the log knows them to be confirmed.
  private var posted = Position.zero
  private var unposted = 0
  private var ping: Ping?

  init(told: Position = .zero, confirmed: Position = .zero) {
    self.told = told
    self.confirmed = confirmed
  }

  /// Whether messages were sent that the client has not confirmed.
  var isOwed: Bool { told > confirmed }

  /// Begins where the user's confirmed messages end.
  mutating func begin(at position: Position) {
    told = max(told, position)
    confirmed = max(confirmed, position)
  }

  mutating func tell(_ position: Position) { told = max(told, position) }

  /// Notes a confirmation. Returns `false` if it is not news.
  mutating func confirm(_ position: Position) -> Bool {
    guard position > confirmed else { return false }
    confirmed = position
    unposted += 1
    return true
  }

  /// Notes that a ping is about to be sent. Returns `false` if one is under way.
  mutating func begin(ping id: String) -> Bool {
    guard ping == nil else { return false }
    ping = Ping(id: id, upTo: told)
    return true
  }

  /// Returns the position confirmed by the answer to a request of this id; `nil` if the request was not the ping.
  mutating func answered(_ id: String) -> Position? {
    guard let ping, ping.id == id else { return nil }
    self.ping = nil
    return ping.upTo
  }

  /// Returns the position to tell the log now; `nil` if it is known there, or if the client has confirmed fewer than
  /// `count` times since.
  mutating func due(after count: Int = 1) -> Position? {
    guard unposted >= count, confirmed > posted else { return nil }
    unposted = 0
    posted = confirmed
    return confirmed
  }
}
