import Accounts
import Dialogs
import HTTPPort
import ServerMetrics

/// Lists a dialog's messages, newest first, for its members, and includes what else an opened dialog shows. Nothing is
/// marked as read.
enum ListMessages: ServedOperation {
  typealias Input = HistoryInput
  typealias Output = HistoryBody
  static let name = "message.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/messages"

  static func perform(_ input: HistoryInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let parts = try OpenedDialog.parts(input.include)
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    let range: Range
    do throws(Problem) { range = try Range(input, call) } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller)
    }
    let rendering = call.rendering
    let body = try await call.readMessages(as: .archive) { reader -> HistoryBody in
      // Read with the messages, so that a member removed meanwhile sees none.
      let reading = try place.reading(for: caller, call.parley, reader)
      let (messages, _, naming) = reading
      // A message of another dialog is unknown here.
      for (position, field) in range.named where try !reader.hasEntry(at: position, in: place.id) {
        throw Range.unknown(field)
      }
      var query = ArchiveQuery(limit: range.limit)
      query.after = range.after ?? .zero
      // What is behind the last shown message is passed over at once.
      query.before = min(range.before, try reader.shown(in: place.id).next)
      query.bytesMax = Limits.pageBytesMax
      query.backwards = !range.ascending
      let page = try reader.history(of: messages, query)
      let entries: [Entry] = range.ascending ? page.entries : page.entries.reversed()
      let end = page.next ?? entries.last?.position
      let opened = OpenedDialog(place, reading, for: caller, rendering)
      return HistoryBody(
        items: page.entries.reversed().compactMap { rendering.message($0, naming) },
        nextCursor: page.complete ? nil : end.map { rendering.cursor($0) },
        opened: try opened.body(parts, authors: entries.map(\.author), reader))
    }
    return .ok(body)
  }

  private struct Range: Sendable {
    let limit: Int
    let before: Position
    let after: Position?
    /// The positions given as a message's id, with their members.
    let named: [(Position, String)]
    var ascending: Bool { after != nil }

    init(_ input: HistoryInput, _ call: RequestContext) throws(Problem) {
      limit = try Checks.limit(input.limit)
      if input.before != nil && input.after != nil {
        throw Problem(.malformed, "before-and-after", "Give before or after, not both.", field: "after")
      }
      var named: [(Position, String)] = []
      before = try Self.position(input.before, "before", call, &named) ?? .end
      // An empty one is the beginning, which no message that a new reader knows stands for.
      after = try input.after == "" ? Position.zero : Self.position(input.after, "after", call, &named)
      self.named = named
    }

    /// Parses a message's id or a cursor: each opens only as what it is.
    private static func position(
      _ text: String?, _ field: String, _ call: RequestContext, _ named: inout [(Position, String)]
    ) throws(Problem) -> Position? {
      guard let text else { return nil }
      if let position = call.parley.position(ofCursor: text, in: call.realm.id) { return position }
      guard let id = PublicID(text), let position = call.parley.position(of: id, in: call.realm.id) else {
        throw unknown(field)
      }
      named.append((position, field))
      return position
    }

    static func unknown(_ field: String) -> Problem {
      Problem(.malformed, "cursor-unknown", "\(field) is neither a message's id nor a cursor.", field: field)
    }
  }
}
