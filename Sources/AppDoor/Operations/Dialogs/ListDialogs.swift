import Accounts
import Addresses
import Dialogs
import HTTPPort
import JSON

/// Lists the caller's dialogs, the most recently active first, all or those of a kind; or, with `scope=public`, the
/// listed ones. `cursor` is taken before the page: with the events after it, the list stays current.
enum ListDialogs: ServedOperation {
  typealias Input = ListDialogsInput
  typealias Output = DialogPageBody
  static let name = "dialog.list"
  static let method = Method.get
  static let path = "/v1/dialogs"
  static let isConditional = true

  /// The cursor is not part of the tag: an older one is as good, as it only brings more events.
  static func tagged(_ output: DialogPageBody) -> DialogPageBody {
    var page = output
    page.cursor = ""
    return page
  }

  static func perform(
    _ input: ListDialogsInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<DialogPageBody> {
    let limit = try Checks.limit(input.limit)
    var filter = try filter(input)
    let query = try Checks.query(input.query)
    switch input.scope ?? "mine" {
    case "mine":
      filter.name = query
      return .ok(try await mine(filter, input.cursor, limit, call))
    case "public":
      if filter != DialogFilter() {
        throw Problem(
          .malformed, "filter-misplaced", "type, archived, pinned and unread are of your own dialogs.", field: "scope")
      }
      return .ok(try await directory(query, input.cursor, limit, call))
    default:
      throw Problem(.malformed, "scope-unknown", "scope is \"mine\" or \"public\".", field: "scope")
    }
  }

  private static func filter(_ input: ListDialogsInput) throws(Problem) -> DialogFilter {
    var filter = DialogFilter(isArchived: input.archived, isPinned: input.pinned, isUnread: input.unread)
    if let type = input.type {
      filter.kind =
        switch DialogBody.Kind(rawValue: type) {
        case .isPrivate: .privately
        case .group: .group
        case .isPublic: .open
        case nil:
          throw Problem(.malformed, "type-unknown", "type is \"private\", \"group\" or \"public\".", field: "type")
        }
    }
    return filter
  }

  // MARK: The caller's own

  private static func mine(
    _ filter: DialogFilter, _ cursor: String?, _ limit: Int, _ call: RequestContext
  ) async throws(Problem) -> DialogPageBody {
    let caller = try call.user().user
    let before = try call.position(ofCursor: cursor) ?? .end
    let rendering = call.rendering
    return try await call.readMessages { reader in
      let head = try reader.head().position
      let page = try reader.dialogList(of: caller, filter, before: before, limit: limit)
      // The drafts may be as long as the last messages, by which the page has ended early.
      var (items, bytes, next): ([DialogBody], Int, Position?) = ([], 0, page.next)
      for (index, view) in page.views.enumerated() {
        if bytes >= Limits.pageBytesMax {
          next = page.positions[index - 1]
          break
        }
        var body: DialogBody
        switch view {
        case .room(let view): body = try rendering.dialog(view, reader)
        case .privately(let view, let mentions):
          body = rendering.dialog(
            view,
            peer: try reader.user(view.dialog.peer(of: caller.id).id).map { try reader.view(of: $0, for: caller) },
            mentions: mentions,
            updatedAt: view.lastMessage?.time ?? view.dialog.createdAt)
          body.me?.draft = try rendering.draft(of: caller.id, in: view.dialog.id, reader)
        }
        items.append(body)
        bytes += body.me?.draft?.text.utf8.count ?? 0
      }
      return DialogPageBody(
        items: items, nextCursor: next.map { rendering.cursor($0) }, cursor: rendering.cursor(head),
        totalUnread: page.unread, totalMentions: page.mentions)
    }
  }

  // MARK: Public

  /// Lists public dialogs by address; the localpart is the cursor of the next page. A search ends its page behind as many as it may
  /// look at.
  private static func directory(
    _ query: String?, _ cursor: String?, _ limit: Int, _ call: RequestContext
  ) async throws(Problem) -> DialogPageBody {
    let caller = try call.user().user
    let realm = call.realm.id
    let rendering = call.rendering
    if query != nil { try call.accounts.pace(.roomSearch(caller.address.description)) }
    return try await call.readMessages { reader in
      let head = try reader.head().position
      let end = try query == nil ? nil : reader.listedRoomsEnd(in: realm, after: cursor, count: Limits.searchedNamesMax)
      let (page, last) = try reader.rooms(
        in: realm, listed: true, matching: query, after: cursor, through: end, limit: limit + 1
      ).page(limit)
      var (items, bytes, next): ([DialogBody], Int, String?) = ([], 0, last?.address.local ?? end)
      for (index, room) in page.enumerated() {
        if bytes >= Limits.pageBytesMax {
          next = page.dropFirst(index - 1).first?.address.local
          break
        }
        guard let body = try rendering.dialog(try reader.access(to: room, for: caller), for: caller, reader) else {
          continue
        }
        items.append(body)
        if let content = body.lastMessage?.content { bytes += content.text.utf8.count + content.fields.text.utf8.count }
      }
      return DialogPageBody(
        items: items, nextCursor: next, cursor: rendering.cursor(head),
        totalUnread: try reader.unread(of: caller.id),
        totalMentions: try reader.mentions(of: caller.id, in: nil))
    }
  }
}
