/// Of two copies of a message, the newer one.
func newer(_ one: Message, _ other: Message) -> Message { (other.version ?? 0) >= (one.version ?? 0) ? other : one }

/// A gapless piece of a dialog's messages, oldest first. A value without IO.
struct Timeline: Equatable, Sendable {
  private(set) var messages: [Message] = []
  private(set) var hasOlder = true
  /// Whether the newest messages are not loaded.
  private(set) var hasNewer = false
  private var olderCursor: String?
  private(set) var newerCursor: String?
  /// How many messages may be held; grows by what is loaded on purpose.
  private var bound = Limits.liveMessages

  /// The changes that an event makes to the messages.
  enum Change: Sendable {
    case arrived(Message)
    case changed(Message)
    case removed(_ id: String)
    case cleared
  }

  mutating func apply(_ event: Change) {
    switch event {
    case .arrived(let message): arrive(message)
    case .changed(let message): change(message.id) { newer($0, message) }
    case .removed(let id): remove(id)
    case .cleared: clear()
    }
  }

  /// Where the messages before the first one are asked for.
  var before: String? { olderCursor ?? messages.first?.id }

  /// Takes a message that arrived. It is left out where it would make a gap.
  mutating func arrive(_ message: Message) {
    guard !hasNewer else { return }
    insertArrived(message)
    if messages.count > bound + 50 { trim(bound) }
  }

  /// Inserts what arrived, also late in a replay: what is older than the piece comes with `addOlder`, and would make a gap here.
  private mutating func insertArrived(_ message: Message) {
    if hasOlder, let first = messages.first, message.seq < first.seq { return }
    insert(message)
  }

  private mutating func insert(_ message: Message) {
    var index = messages.count
    while index > 0, messages[index - 1].seq > message.seq { index -= 1 }
    if index > 0, messages[index - 1].id == message.id {
      messages[index - 1] = newer(messages[index - 1], message)
    } else {
      messages.insert(message, at: index)
    }
  }

  mutating func change(_ id: String, _ change: (Message) -> Message) {
    guard let index = messages.lastIndex(where: { $0.id == id }) else { return }
    messages[index] = change(messages[index])
  }

  mutating func remove(_ id: String) { messages.removeAll { $0.id == id } }

  mutating func clear() {
    self = Timeline()
    hasOlder = false
  }

  /// Replaces everything by a page, newest first, which may be older than the events that arrived while it was asked for.
  mutating func replace(_ page: [Message], older: String?, newer newerCursor: String?, arrived: [Change]) {
    let known = Dictionary(messages.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    messages = page.reversed().map { message in known[message.id].map { newer($0, message) } ?? message }
    (olderCursor, self.newerCursor) = (older, newerCursor)
    (hasOlder, hasNewer) = (older != nil, newerCursor != nil)
    bound = Limits.liveMessages + messages.count
    for event in arrived { apply(event) }
  }

  mutating func addOlder(_ page: Page<Message>, arrived: [Change] = []) {
    bound += page.items.count
    olderCursor = page.nextCursor
    hasOlder = page.nextCursor != nil
    page.items.forEach { insert($0) }
    for event in arrived { apply(event) }
  }

  mutating func addNewer(_ page: Page<Message>, arrived: [Change]) {
    bound += page.items.count
    newerCursor = page.nextCursor
    hasNewer = page.nextCursor != nil
    page.items.forEach { insert($0) }
    for event in arrived { apply(event) }
  }

  mutating func trim(_ keep: Int) {
    guard messages.count > keep else { return }
    messages.removeFirst(messages.count - keep)
    olderCursor = nil
    hasOlder = true
  }
}

/// What the members of a dialog have received and read: from it comes a message's place on the ladder. A marker names a message; what it
/// covers is known once that message's number is.
struct Reached: Equatable, Sendable {
  private struct One: Equatable {
    var delivered, read: String?
    var deliveredSeq = 0
    var readSeq = 0
  }

  private var members: [String: One] = [:]

  mutating func mark(_ marker: Marker) {
    members[marker.userId, default: One()].delivered = marker.delivered ?? members[marker.userId]?.delivered
    members[marker.userId, default: One()].read = marker.read ?? members[marker.userId]?.read
  }

  mutating func resolve(_ messages: some Sequence<Message>) {
    guard !members.isEmpty else { return }
    for message in messages {
      for (userId, one) in members {
        if one.delivered == message.id { members[userId]?.deliveredSeq = max(one.deliveredSeq, message.seq) }
        if one.read == message.id { members[userId]?.readSeq = max(one.readSeq, message.seq) }
      }
    }
  }

  /// The step of a message of `userId`, and who has read it.
  func step(_ seq: Int, of userId: String) -> (status: MessageStatus, readers: [String]) {
    let others = members.filter { $0.key != userId }
    let readers = others.filter { $0.value.readSeq >= seq }.map(\.key).sorted()
    if !readers.isEmpty { return (.read, readers) }
    return (others.contains { $0.value.deliveredSeq >= seq } ? .delivered : .sent, [])
  }
}
