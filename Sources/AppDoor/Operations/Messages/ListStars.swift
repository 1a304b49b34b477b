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
        var sights: [DialogID: (horizon: Position, naming: ParticipantNaming)?] = [:]
        let items = try page.compactMap { star -> MessageBody? in
          if sights[star.dialog] == nil {
            let place = try DialogResolver.Page.read(star.dialog, reader).flatMap { try? $0.place(for: caller) }
            sights[star.dialog] = .some(place.flatMap { try? $0.sight(of: caller, parley, reader) })
          }
          guard case .some(.some(let sight)) = sights[star.dialog], star.message > sight.horizon,
            try !reader.isHidden(star.message, in: star.dialog, for: caller.id),
            let entry = try reader.entry(star.message, in: star.dialog), entry.state?.retraction == nil
          else { return nil }
          return rendering.message(entry, sight.naming)
        }
        return PageBody(items: items, nextCursor: last.map { rendering.cursor($0.message) })
      })
  }
}
