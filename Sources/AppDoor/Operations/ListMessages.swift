import AppProtocol
import Dialogs

/// A dialog's messages, newest first. Reading them marks nothing as read.
enum ListMessages: ServedOperation {
  typealias Input = HistoryInput
  typealias Output = PageBody<MessageBody>
  static let name = "message.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/messages"

  static func perform(_ input: HistoryInput, _ call: Call) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    let limit = try Checks.limit(input.limit)
    if input.before != nil && input.after != nil {
      throw Problem(.malformed, "before-and-after", "Give before or after, not both.", field: "after")
    }
    let before = try position(input.before, "before", call)
    let after = try position(input.after, "after", call)
    let (members, _) = try await call.door.dialogs.members(input.dialogId, for: caller.user)
    let ascending = after != nil
    let entries = try await call.parley.read {
      try $0.history(
        of: members.id, after: after ?? .zero, before: before ?? .end, limit: limit + 1, ascending: ascending)
    }
    let page = entries.prefix(limit)
    let items = page.compactMap { call.rendering.message($0) }
    return .ok(
      PageBody(
        items: ascending ? items.reversed() : items,
        nextCursor: entries.count > limit ? page.last.map { call.rendering.cursor($0.position) } : nil))
  }

  /// A message's id or a cursor: each opens only as what it is.
  private static func position(_ text: String?, _ field: String, _ call: Call) throws(Problem) -> Position? {
    guard let text else { return nil }
    if let position = call.parley.position(ofCursor: text, in: call.realm.id) { return position }
    if let id = PublicID(text), let position = call.parley.position(of: id, in: call.realm.id) { return position }
    throw Problem(.malformed, "cursor-unknown", "\(field) is neither a message's id nor a cursor.", field: field)
  }
}
