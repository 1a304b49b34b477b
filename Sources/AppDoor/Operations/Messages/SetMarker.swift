import Accounts
import Basics
import Dialogs
import HTTPPort

/// Marks a dialog as delivered or read up to a message. Marks only move forward: an older message changes nothing and
/// answers the current state.
enum SetMarker: PostingOperation {
  typealias Input = SetMarkerInput
  typealias Output = MarkerBody
  static let name = CommandName.setMarker.rawValue
  static let method = Method.put
  static let path = "/v1/dialogs/{dialogId}/marker"

  static func dialogID(_ input: SetMarkerInput) -> String { input.dialogId }

  static func limit(_ limiters: AppDoor.Limiters, _ session: OpenSession, now: Timestamp) throws(Problem) {
    try limiters.others.take(session.caller.user.id, now: now)
  }

  static func intents(
    _ input: SetMarkerInput, by author: Accounts.Caller, resource: String?, in place: DialogPlace, _ parley: Parley
  ) throws(Problem) -> [Intent] {
    var intents: [Intent] = []
    for (kind, id) in [(Marker.Kind.delivered, input.delivered), (.displayed, input.read)] {
      guard let id else { continue }
      guard let target = PublicID(id), parley.position(of: target, in: author.user.realm) != nil else {
        throw Problem.messageUnknown(field: kind.field)
      }
      let isPrivate = input.isPrivate ?? false
      switch place {
      case .peer(_, let peer):
        intents.append(
          .marker(MarkerDraft(with: peer.address, kind: kind, target: .entry(target), isPrivate: isPrivate)))
      case .room(let room):
        intents.append(
          .room(.marker(.dialog(room.dialog), RoomMarkerDraft(kind: kind, target: target, isPrivate: isPrivate))))
      }
    }
    if intents.isEmpty {
      throw Problem(.malformed, "marker-empty", "Give delivered, read or both.", field: "read")
    }
    return intents
  }

  /// Returns whether the receipt has no mark: a marker that moved nothing wrote no entry.
  static func needsMark(_ receipt: Receipt) -> Bool { mark(receipt) == nil }

  static func outcome(
    _ receipt: Receipt, mark: Mark?, _ author: Party, _ rendering: Rendering
  ) -> Outcome<MarkerBody>? {
    guard let mark = self.mark(receipt) ?? mark else { return nil }
    return .ok(rendering.marker(mark, of: author, .open))
  }

  private static func mark(_ receipt: Receipt) -> Mark? {
    guard case .marker(let marker) = receipt.entry?.fact else { return nil }
    return marker.mark
  }
}
