import AppProtocol
import Dialogs

/// The caller's dialogs, the liveliest first. `cursor` is taken before the
/// page: with the events from there on, the list stays true.
enum ListDialogs: ServedOperation {
  typealias Input = PageInput
  typealias Output = DialogPageBody
  static let name = "dialog.list"
  static let method = Method.get
  static let path = "/v1/dialogs"

  static func perform(_ input: PageInput, _ call: Call) async throws(Problem) -> Outcome<DialogPageBody> {
    let caller = try call.user().user
    let limit = try Checks.limit(input.limit)
    var before = Position.end
    if let cursor = input.cursor {
      guard let position = call.parley.position(ofCursor: cursor, in: call.realm.id) else {
        throw Problem(.malformed, "cursor-unknown", "cursor is not one of this server's.", field: "cursor")
      }
      before = position
    }
    let rendering = call.rendering
    return .ok(
      try await call.parley.read { [before] reader in
        let head = try reader.head().position
        let views = try reader.dialogs(of: caller.id, before: before, limit: limit + 1)
        let page = views.prefix(limit)
        let items = try page.map { view in
          rendering.dialog(
            view, peer: try reader.user(view.dialog.peer(of: caller.id).id),
            updatedAt: view.lastMessage?.time ?? view.dialog.createdAt)
        }
        return DialogPageBody(
          items: items, nextCursor: views.count > limit ? page.last.map { rendering.cursor($0.dialog.last) } : nil,
          cursor: rendering.cursor(head), totalUnread: try reader.unread(of: caller.id))
      })
  }
}
