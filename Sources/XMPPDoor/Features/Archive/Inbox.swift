import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0430: a user's conversations in one answer, private dialogs and the rooms they are a member of, the most
/// recently active first, each with its last message and its unread count: one read of the store.
///
/// Pages (XEP-0059) follow that order: `first` and `last` are ids of the messages that determine the place of their
/// conversations. New messages only move conversations to the front, so that paging back misses none that did not move.
struct ConversationInbox: Feature {
  static let xep = XEP(
    430, "0.2.0", "Inbox",
    note: """
      Also rooms of which the user is a member. Only conversations with archived messages. Entries are not collated.
      """)

  private static let inbox = Name("inbox", NS.inbox)
  private static let entry = Name("entry", NS.inbox)
  private static let fin = Name("fin", NS.inbox)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.inbox)", on: [.account])
    table.iq(.get, Self.inbox, to: [.account], Self.answer)
    table.iq(.get, Self.inbox, to: [.user]) { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
  }

  /// A conversation in the answer.
  private struct Line: Sendable {
    let conversation: Conversation
    /// The message to show; `nil` if there is none.
    let message: Entry?
    /// Whether the reader may see the author's address in a room.
    var showsAddress = false
    var weight: Int { DoorLimits.inboxEntryBytes + (message?.weight ?? 0) }
  }

  private struct Answer: Sendable {
    var page: ConversationPage
    var lines: [Line]
  }

  private static func answer(_ turn: Turn, _ element: Element) throws(StanzaError) {
    let query = try query(element, turn)
    let withMessages = try element.boolean("messages") ?? true
    let user = turn.party
    turn.fetch { reader -> Answer in
      let page = try reader.conversations(of: .own(user), query)
      var (lines, bytes): ([Line], Int) = ([], 0)
      for conversation in query.oldest ? page.conversations.reversed() : page.conversations {
        // Further ones are not sent.
        if bytes > DoorLimits.inboxBytesMax { break }
        var line = Line(conversation: conversation, message: nil)
        if withMessages {
          let (message, showsPeople) = try reader.last(of: conversation, for: user)
          line = Line(conversation: conversation, message: message, showsAddress: showsPeople)
        }
        lines.append(line)
        bytes += line.weight
      }
      return Answer(page: page, lines: query.oldest ? lines.reversed() : lines)
    } reply: { (answer) throws(StanzaError) in
      send(answer, query, to: turn)
    }
  }

  private static func query(_ element: Element, _ turn: Turn) throws(StanzaError) -> ConversationQuery {
    var query = ConversationQuery(limit: DoorLimits.inboxMax)
    query.unreadOnly = try element.boolean("unread-only") ?? false
    guard let set = try element.payload(ResultSetRequest.self) else { return query }
    if set.index != nil { throw StanzaError(.featureNotImplemented, "pages are asked for by id (XEP-0059 2.5)") }
    func place(_ text: String?) throws(StanzaError) -> Position? {
      guard let text else { return nil }
      guard let id = PublicID(text), let position = turn.parley.position(of: id, in: turn.party.realm) else {
        throw StanzaError(.itemNotFound, "there is no such conversation")
      }
      return position
    }
    // The newest come first: `after` means older.
    if let behind = try place(set.after) { query.before = behind }
    if let before = try place(set.before) { query.after = before }
    query.oldest = set.isBackward
    query.limit = set.limit(default: DoorLimits.inboxMax, max: DoorLimits.inboxMax)
    return query
  }

  // MARK: The answer

  private static func send(_ answer: Answer, _ query: ConversationQuery, to turn: Turn) {
    let (account, to, queryID) = (turn.party.address, turn.jid.description, turn.stanza.id)
    var left = DoorLimits.inboxBytesMax
    func fits(_ line: Line) -> Bool {
      // The client's own id comes back with each.
      left -= line.weight + (queryID?.utf8.count ?? 0)
      return left >= 0
    }
    let fitting =
      query.oldest ? answer.lines.reversed().prefix(while: fits).count : answer.lines.prefix(while: fits).count
    let count = max(fitting, min(1, answer.lines.count))
    let lines = query.oldest ? answer.lines.suffix(count) : answer.lines.prefix(count)
    for line in lines {
      turn.session.send { writer in
        Archive.write(from: account, to: to, into: &writer) { write(line, queryID: queryID, turn, into: &$0) }
      }
    }
    turn.reply { writer in
      writer.element(fin) { writer in
        writer.attribute("total", Int(answer.page.total))
        writer.attribute("unread", Int(answer.page.unreadConversations))
        writer.attribute("all-unread", Int(answer.page.unread))
        ResultSetPage(
          first: lines.first?.conversation.activityID.description,
          last: lines.last?.conversation.activityID.description,
          count: Int(query.unreadOnly ? answer.page.unreadConversations : answer.page.total)
        ).write(into: &writer)
      }
    }
  }

  private static func write(_ line: Line, queryID: String?, _ turn: Turn, into writer: inout ElementWriter) {
    writer.element(entry) { writer in
      writer.attribute("unread", Int(line.conversation.unread))
      writer.attribute("jid", line.conversation.chat.description)
      writer.attribute("id", line.conversation.lastID.description)
    }
    guard let message = line.message else { return }
    if line.conversation.isRoom {
      Archive.writeResult(message, queryID: queryID, into: &writer) {
        RoomOutbound.forwarded(message, withAddress: line.showsAddress, turn.parley, into: &$0)
      }
    } else if let said = message.archived {
      Archive.writeResult(
        message, said, queryID: queryID, for: turn.party, { turn.parley.occupantID(of: $0, in: $1) }, into: &writer)
    }
  }
}
