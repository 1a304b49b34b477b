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
      try await parley.read { reader in
        // Messages that have become unreadable leave a shorter page.
        let (page, last) = try reader.stars(of: caller.id, before: before, limit: limit + 1).page(limit)
        var readings: [DialogID: (messages: MessageAccess, room: ReadableRoom?)?] = [:]
        var namings: [DialogID: ParticipantNaming] = [:]
        let items = try page.compactMap { star -> MessageBody? in
          if readings[star.dialog] == nil {
            let reading = try reader.messages(in: star.dialog, for: caller)
            readings[star.dialog] = .some(reading)
            namings[star.dialog] = reading?.room?.naming(parley)
          }
          guard case .some(.some(let reading)) = readings[star.dialog],
            let entry = try reader.entry(star.message, in: reading.messages), entry.state?.retraction == nil
          else { return nil }
          return rendering.message(entry, namings[star.dialog] ?? .open)
        }
        return PageBody(items: items, nextCursor: last.map { rendering.cursor($0.message) })
      })
  }
}
