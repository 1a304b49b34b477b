import Dialogs

/// The position up to which a client has received what it was sent, as a value. Theory:
///
/// Messages that arrive while a user has no session are sent to the next session (RFC 6121 8.5.2.2), so the log must
/// know how far the user's clients have received them. A client *confirms* by acknowledging (XEP-0198), or by answering
/// a request that was sent behind the messages, be it by an error; one is under way at a time. It asks for the client's
/// version first, since go-sendxmpp ends at a ping. Libraries that leave that to their application answer the ping that
/// follows by themselves. The log is updated now and then rather than each time, since a repeated delivery costs less
/// than a write per message.
struct DeliveryConfirmation: Equatable {
  enum Request: Equatable {
    /// XEP-0092.
    case version
    /// XEP-0199.
    case ping
  }
  private struct Question: Equatable {
    let id: String
    let upTo: Position
    var request = Request.version
    var ticks = 0
  }
  /// The position up to which inbound messages were sent to this client.
  private(set) var told: Position
  /// The position up to which the client has confirmed them.
  private(set) var confirmed: Position
  /// The position up to which the log knows them to be confirmed.
  private var posted = Position.zero
  private var unposted = 0
  private var question: Question?

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

  /// Begins a request of this id. Returns `nil` if one is under way.
  mutating func begin(_ id: String) -> Request? {
    guard question == nil else { return nil }
    question = Question(id: id, upTo: told)
    return .version
  }

  /// Notes that a tick of the connection has passed. Returns the request to send under an id of before, as the client
  /// has not answered the first one during a whole tick: the answer to either counts.
  mutating func tick() -> (id: String, request: Request)? {
    guard var asked = question, asked.request == .version else { return nil }
    asked.ticks += 1
    if asked.ticks == 2 { asked.request = .ping }
    question = asked
    return asked.request == .ping ? (asked.id, .ping) : nil
  }

  /// Returns the position confirmed by the answer to a request of this id; `nil` if this was not asked.
  mutating func answered(_ id: String) -> Position? {
    guard let question, question.id == id else { return nil }
    self.question = nil
    return question.upTo
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
