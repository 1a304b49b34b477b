import Accounts
import Dialogs
import HTTPPort

/// Lists the pinned messages of a dialog that the caller may read, the last pinned first.
enum ListPins: ServedOperation {
  typealias Input = DialogInput
  typealias Output = PageBody<MessageBody>
  static let name = "pin.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/pins"

  static func perform(_ input: DialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let place = try await call.door.dialogs.place(input.dialogId, for: caller)
    let rendering = call.rendering
    let parley = call.parley
    return .ok(
      try await parley.read { reader in
        let (messages, _, naming) = try place.reading(for: caller, parley, reader)
        return try body(of: messages, naming, rendering, reader)
      })
  }

  /// Returns the pinned messages, at most `Limits.pinsMax`. Blocks: for `Parley.read`.
  static func body(
    of messages: MessageAccess, _ naming: ParticipantNaming, _ rendering: Rendering, _ reader: any StoreReader
  ) throws -> Output {
    PageBody(
      items: try reader.pins(of: messages).compactMap { position in
        try reader.entry(position, in: messages).flatMap { rendering.message($0, naming) }
      })
  }
}
