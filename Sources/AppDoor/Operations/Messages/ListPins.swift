import Accounts
import Dialogs
import HTTPPort

/// Lists the pinned messages of a dialog that the caller may read, the last pinned first: all at once, unless they are very long.
enum ListPins: ServedOperation {
  typealias Input = ListPinsInput
  typealias Output = PageBody<MessageBody>
  static let name = "pin.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/pins"

  static func perform(_ input: ListPinsInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let after = try call.position(ofCursor: input.cursor)
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    let rendering = call.rendering
    let parley = call.parley
    return .ok(
      try await call.readMessages { reader in
        let (messages, _, naming) = try place.reading(for: caller, parley, reader)
        return try body(of: messages, after: after, naming, rendering, reader)
      })
  }

  /// Returns the pinned messages, at most `Limits.pinsMax`. Blocks: for `Parley.read`.
  ///
  /// - Parameter after: the last message of the page before. If it is not pinned any more, the list begins anew.
  static func body(
    of messages: MessageAccess, after: Position? = nil, _ naming: ParticipantNaming, _ rendering: Rendering,
    _ reader: any StoreReader
  ) throws -> Output {
    var positions = try reader.pins(of: messages)[...]
    if let after, let index = positions.firstIndex(of: after) { positions = positions[(index + 1)...] }
    var (items, bytes): ([MessageBody], Int) = ([], 0)
    for (index, position) in positions.enumerated() {
      if bytes >= Limits.pageBytesMax {
        return PageBody(
          items: items, nextCursor: positions.dropFirst(index - 1).first.map { rendering.cursor($0) })
      }
      guard let entry = try reader.entry(position, in: messages) else { continue }
      bytes += entry.byteCount
      if let item = rendering.message(entry, naming) { items.append(item) }
    }
    return PageBody(items: items)
  }
}
