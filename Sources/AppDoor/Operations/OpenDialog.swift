import AppProtocol
import Dialogs

/// The private dialog with a user: the one that is, or a new one.
enum OpenDialog: ServedOperation {
  typealias Input = OpenDialogInput
  typealias Output = DialogBody
  static let name = "dialog.open"
  static let method = Method.post
  static let path = "/v1/dialogs"
  static let successes = [200, 201]

  static func perform(_ input: OpenDialogInput, _ call: Call) async throws(Problem) -> Outcome<DialogBody> {
    let caller = try call.user()
    guard input.type == "private" else {
      throw Problem(.malformed, "dialog-type-unknown", "type must be \"private\".", field: "type")
    }
    let address = try Checks.address(input.userId, domain: call.realm.domain)
    let receipt = try await call.parley.post(.openDialog(address), by: caller.user)
    guard let dialog = receipt.dialog else { throw DialogBook.unknown }
    call.door.dialogs.remember(DialogMembers(dialog))
    let body = try await GetDialog.body(dialog.id, call)
    return receipt.isRepeat ? .ok(body) : .created(body)
  }
}
