import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's starred messages that they may still read, the newest message first.
enum ListStars: ServedOperation {
  typealias Input = ListStarsInput
  typealias Output = PageBody<MessageBody>
  static let name = "star.list"
  static let method = Method.get
  static let path = "/v1/stars"

  static func perform(_ input: ListStarsInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let limit = try Checks.limit(input.limit)
    let before = try call.position(ofCursor: input.cursor) ?? .end
    let rendering = call.rendering
    let parley = call.parley
    return .ok(
      try await call.readMessages { reader -> Output in
        // Messages that have become unreadable leave a shorter page.
        let (page, end) = try reader.stars(of: caller.id, before: before, limit: limit + 1).page(limit)
        var last = end
        var bytes = 0
        var readings: [DialogID: (messages: MessageAccess, room: ReadableRoom?)?] = [:]
        var namings: [DialogID: ParticipantNaming] = [:]
        var items: [MessageBody] = []
        for (index, star) in page.enumerated() {
          if bytes >= Limits.pageBytesMax {
            last = page.dropFirst(index - 1).first
            break
          }
          if readings[star.dialog] == nil {
            let reading = try reader.messages(in: star.dialog, for: caller)
            readings[star.dialog] = .some(reading)
            namings[star.dialog] = reading?.room?.naming(parley)
          }
          guard case .some(.some(let reading)) = readings[star.dialog],
            let entry = try reader.entry(star.message, in: reading.messages), entry.state?.retraction == nil
          else { continue }
          bytes += entry.byteCount
          if let item = rendering.message(entry, namings[star.dialog] ?? .open) { items.append(item) }
        }
        return PageBody(items: items, nextCursor: last.map { rendering.cursor($0.message) })
      })
  }
}
