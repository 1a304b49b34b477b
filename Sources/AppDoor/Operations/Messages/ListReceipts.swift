import Dialogs
import HTTPPort

/// Lists the users who have received or read a message. In larger groups only its author may.
enum ListReceipts: ServedOperation {
  typealias Input = MessagePartsInput
  typealias Output = PageBody<ReceiptBody>
  static let name = "receipt.list"
  static let method = Method.get
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/receipts"

  static func perform(_ input: MessagePartsInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    let limit = try Checks.limit(input.limit)
    let (target, caller, naming, parley) = (change.target, change.caller, change.naming, call.parley)
    switch change.place {
    case .peer(let messages, let peer):
      // For a message of the peer the caller is the receiver.
      let receiver = target.author.id == caller.id ? peer : caller
      if receiver.id == target.author.id { return .ok(PageBody(items: [])) }
      return .ok(
        try await parley.read { reader in
          PageBody(items: [try receipt(of: target, for: receiver, in: messages, naming, reader)])
        })
    case .room(let room):
      let after = try call.member(ofCursor: input.cursor, in: room)
      return .ok(
        try await parley.read { reader in
          let readable = try reader.access(to: room.dialog, for: caller).get()
          let message = try reader.message(target.position, in: readable.messages, of: readable)
          guard let message else { throw MessageChange.unknown }
          guard message.showsReceipts else {
            throw Problem(
              .forbidden, "message-foreign",
              "In a dialog of more than \(Limits.markersToldMax) members only its author may see whom a message reached.",
              field: "messageId")
          }
          let (page, last) = try reader.members(
            of: readable.members.only(Set(Affiliation.allCases.filter(\.isMember))), after: after, limit: limit + 1
          ).page(limit)
          // Later members were not among the recipients.
          let receivers = page.filter { $0.party.id != target.author.id && $0.since < target.position }
          return PageBody(
            items: try receivers.map { try receipt(of: target, for: $0.party, in: readable.messages, naming, reader) },
            nextCursor: last.map { parley.memberCursor($0.party.id, in: room) })
        })
    }
  }

  private static func receipt(
    of target: Entry, for receiver: Party, in messages: MessageAccess, _ naming: ParticipantNaming,
    _ reader: any StoreReader
  ) throws -> ReceiptBody {
    // A private marker is for its author alone.
    let isOwn = receiver.id == messages.viewer
    let known = try isOwn ? reader.mark(receiver.id, in: messages.dialog) : reader.mark(receiver.id, of: messages)
    let mark = known ?? Mark(dialog: messages.dialog, user: receiver.id)
    var body = ReceiptBody(
      userId: naming.id(receiver), delivered: mark.delivered >= target.position,
      read: mark.displayed >= target.position)
    // Only the last marker of each member is stored.
    if mark.position > .zero, let entry = try reader.entry(mark.position, in: messages),
      case .marker(let marker) = entry.fact, marker.target == target.position
    {
      let time = entry.time
      if marker.kind == .displayed { body.readAt = time } else { body.deliveredAt = time }
    }
    return body
  }
}
