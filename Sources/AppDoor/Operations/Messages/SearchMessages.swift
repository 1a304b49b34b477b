import Accounts
import Addresses
import Dialogs
import HTTPPort
import ServerMetrics

/// Searches the messages that the caller may read by text or content, newest first. A page with a `nextCursor` may be
/// short, even empty: the number of read candidates is bounded.
enum SearchMessages: ServedOperation {
  typealias Input = SearchMessagesInput
  typealias Output = PageBody<MessageBody>
  static let name = "message.search"
  static let method = Method.get
  static let path = "/v1/messages"

  static func perform(_ input: SearchMessagesInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    var query = MessageQuery(limit: try Checks.limit(input.limit))
    query.text = try Checks.query(input.query)
    query.kind = try kind(input.type, hasText: query.text != nil)
    if query.text == nil && query.kind == nil {
      throw Problem(.malformed, "search-empty", "Give query or type.", field: "query")
    }
    if let position = try call.position(ofCursor: input.cursor) { query.before = position }
    var place: DialogPlace?
    if let id = input.dialogId {
      place = try await call.door.dialogs.place(id, for: caller)
      query.dialog = place?.id
    }
    let author = try input.from.map { from throws(Problem) in try address(from, call) }
    if query.text != nil { try await MessageIndex(call.parley).update() }
    let (parley, rendering) = (call.parley, call.rendering)
    return .ok(
      try await call.readMessages(as: .search) { [query, place] reader in
        var query = query
        if case .room(let room)? = place { _ = try reader.access(to: room.dialog, for: caller).get() }
        if let author {
          // There is no user of this name.
          guard let user = try reader.user(author) else { return PageBody(items: []) }
          query.author = user.id
        }
        let found = try reader.find(query, for: caller)
        var namings: [DialogID: ParticipantNaming] = [:]
        let items = try found.entries.compactMap { entry -> MessageBody? in
          guard let room = found.rooms[entry.dialog] else { return rendering.message(entry, .open) }
          if namings[room.id] == nil {
            namings[room.id] = try reader.access(to: room, for: caller).readable?.naming(parley)
          }
          return namings[room.id].flatMap { rendering.message(entry, $0) }
        }
        return PageBody(items: items, nextCursor: found.next.map { rendering.cursor($0) })
      })
  }

  private static func kind(_ type: String?, hasText: Bool) throws(Problem) -> Content.Kind? {
    guard let type else { return nil }
    let kinds = hasText ? MessageQuery.indexedKinds + [.text] : MessageQuery.indexedKinds
    guard let kind = kinds.first(where: { $0.wire?.rawValue == type }) else {
      let words = kinds.compactMap { $0.wire?.rawValue }.joined(separator: ", ")
      throw Problem(.malformed, "content-type-unsuitable", "type is one of \(words).", field: "type")
    }
    return kind
  }

  private static func address(_ from: String, _ call: RequestContext) throws(Problem) -> BareJID {
    from == "me" ? try call.user().user.address : try Checks.address(from, domain: call.realm.domain, field: "from")
  }
}
