import Addresses
import AppProtocol
import Dialogs

/// The caller's dialogs, the liveliest first; or, with `scope=public`, those that
/// anybody may find. `cursor` is taken before the page: with the events from there
/// on, the list stays true.
enum ListDialogs: ServedOperation {
  typealias Input = ListDialogsInput
  typealias Output = DialogPageBody
  static let name = "dialog.list"
  static let method = Method.get
  static let path = "/v1/dialogs"

  static func perform(_ input: ListDialogsInput, _ call: Call) async throws(Problem) -> Outcome<DialogPageBody> {
    let limit = try Checks.limit(input.limit)
    switch input.scope ?? "mine" {
    case "mine":
      if input.query != nil {
        throw Problem(.malformed, "query-misplaced", "query searches scope=public.", field: "query")
      }
      return .ok(try await mine(input.cursor, limit, call))
    case "public":
      return .ok(try await directory(input.query.flatMap { $0.isEmpty ? nil : $0 }, input.cursor, limit, call))
    default:
      throw Problem(.malformed, "scope-unknown", "scope is \"mine\" or \"public\".", field: "scope")
    }
  }

  // MARK: One's own

  /// Private dialogs and the others have lists of their own in the store; positions
  /// are of the whole log, so that the two merge into one.
  private enum Row {
    case privately(DialogView)
    case room(RoomView)

    var last: Position {
      switch self {
      case .privately(let view): view.dialog.last
      case .room(let view): view.room.last
      }
    }
  }

  private static func mine(
    _ cursor: String?, _ limit: Int, _ call: Call
  ) async throws(Problem) -> DialogPageBody {
    let caller = try call.user().user
    var before = Position.end
    if let cursor {
      guard let position = call.parley.position(ofCursor: cursor, in: call.realm.id) else {
        throw Problem(.malformed, "cursor-unknown", "cursor is not one of this server's.", field: "cursor")
      }
      before = position
    }
    let rendering = call.rendering
    return try await call.parley.read { [before] reader in
      let head = try reader.head().position
      let rows =
        try reader.dialogs(of: caller.id, before: before, limit: limit + 1).map { Row.privately($0) }
        + reader.rooms(of: caller.id, before: before, limit: limit + 1).map { Row.room($0) }
      let sorted = rows.sorted { $0.last > $1.last }
      let page = sorted.prefix(limit)
      let items = try page.map { row in
        switch row {
        case .room(let view): return try rendering.dialog(view, reader)
        case .privately(let view):
          return rendering.dialog(
            view, peer: try reader.user(view.dialog.peer(of: caller.id).id),
            mentions: try reader.mentions(of: caller.id, in: view.dialog.id),
            updatedAt: view.lastMessage?.time ?? view.dialog.createdAt)
        }
      }
      return DialogPageBody(
        items: items, nextCursor: sorted.count > limit ? page.last.map { rendering.cursor($0.last) } : nil,
        cursor: rendering.cursor(head), totalUnread: try reader.unread(of: caller.id),
        totalMentions: try reader.mentions(of: caller.id, in: nil))
    }
  }

  // MARK: Everybody's

  /// By address; the name before the @ is what the next page begins behind.
  private static func directory(
    _ query: String?, _ cursor: String?, _ limit: Int, _ call: Call
  ) async throws(Problem) -> DialogPageBody {
    let caller = try call.user().user
    let realm = call.realm.id
    let rendering = call.rendering
    return try await call.parley.read { reader in
      let head = try reader.head().position
      let rooms = try reader.rooms(in: realm, listed: true, matching: query, after: cursor, limit: limit + 1)
      let page = rooms.prefix(limit)
      let items = try page.compactMap { room in
        try RoomSight.of(room, for: caller, reader).map { try rendering.dialog($0, reader) }
      }
      return DialogPageBody(
        items: items, nextCursor: rooms.count > limit ? page.last?.address.local : nil,
        cursor: rendering.cursor(head), totalUnread: try reader.unread(of: caller.id),
        totalMentions: try reader.mentions(of: caller.id, in: nil))
    }
  }
}
