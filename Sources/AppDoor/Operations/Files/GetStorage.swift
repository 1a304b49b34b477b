import Accounts
import Dialogs
import HTTPPort

/// Returns the caller's use of file storage.
enum GetStorage: ServedOperation {
  typealias Input = NoInput
  typealias Output = StorageBody
  static let name = "me.storage"
  static let method = Method.get
  static let path = "/v1/users/me/storage"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<StorageBody> {
    let caller = try call.user().user
    guard let (use, policy) = try await UserFiles(call.parley).use(of: caller.id) else {
      throw CreateAttachment.unsupported
    }
    return .ok(
      StorageBody(
        bytes: use.bytes, bytesMax: policy.userBytesMax, files: use.count, filesMax: Limits.blobsPerUserMax,
        dayBytes: use.recentBytes, dayBytesMax: policy.userDayBytesMax, fileBytesMax: policy.bytesMax,
        slots: use.awaited))
  }
}
