import Basics
import Dialogs
import XMLStream
import XMPP

/// The history that a client wants when it enters (XEP-0045 7.2.14). Every given bound holds, and so do the server's
/// own: `DoorLimits.historyMax`, `historyBytesMax`, and `historyDefault` where the client gives none.
struct HistoryRequest: Hashable, Sendable {
  /// The most characters of the complete stanzas.
  var charactersMax: Int?
  var stanzasMax: Int?
  /// The greatest age in seconds.
  var seconds: Int?
  var since: Timestamp?

  init(charactersMax: Int? = nil, stanzasMax: Int? = nil, seconds: Int? = nil, since: Timestamp? = nil) {
    self.charactersMax = charactersMax
    self.stanzasMax = stanzasMax
    self.seconds = seconds
    self.since = since
  }

  /// Reads `<history/>`. An attribute that is no number, negative, or no date is ignored.
  init(_ element: Element) {
    charactersMax = Self.number(element, "maxchars")
    stanzasMax = Self.number(element, "maxstanzas")
    seconds = Self.number(element, "seconds")
    since = element.withAttribute("since") { Timestamp($0) }.flatMap { $0 }
  }

  private static func number(_ element: Element, _ attribute: StaticString) -> Int? {
    guard let value = try? element.integer(attribute), value >= 0 else { return nil }
    return value
  }

  /// The most messages to read.
  var limit: Int {
    if charactersMax == 0 || seconds == 0 { return 0 }
    if let stanzasMax { return min(stanzasMax, DoorLimits.historyMax) }
    let isBounded = charactersMax != nil || seconds != nil || since != nil
    return isBounded ? DoorLimits.historyMax : DoorLimits.historyDefault
  }

  /// Returns the request within the bound of a room.
  func bounded(by most: Int?) -> HistoryRequest {
    guard let most else { return self }
    var request = self
    request.stanzasMax = min(limit, most)
    return request
  }

  /// Returns the time of the oldest message to send; `nil` if age does not matter.
  func earliest(now: Timestamp) -> Timestamp? {
    // Arithmetic on a client's number must not overflow: more seconds than there have been are all of them.
    let past = seconds.map { Timestamp(milliseconds: now.milliseconds - 1_000 * Int64(min($0, 1 << 40))) }
    guard let past, let since else { return past ?? since }
    return max(past, since)
  }

  /// Returns how many of the messages are sent: that many from the start of the list, which is the newest of them.
  ///
  /// - Parameter newestFirst: the time of each message, and the bytes of its whole stanza. Bytes are counted as
  ///   characters: never fewer, so the client gets no more than it asked for.
  func select(_ newestFirst: some Sequence<(time: Timestamp, byteCount: Int)>, now: Timestamp) -> Int {
    let (limit, earliest) = (limit, earliest(now: now))
    var left = min(charactersMax ?? .max, DoorLimits.historyBytesMax)
    var count = 0
    for (time, byteCount) in newestFirst {
      guard count < limit, byteCount <= left else { break }
      if let earliest, time < earliest { break }
      left -= byteCount
      count += 1
    }
    return count
  }
}
