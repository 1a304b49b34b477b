import Accounts
import Dialogs
import HTTPPort

/// Returns the state and URL of one of the caller's exports.
enum GetExport: ServedOperation {
  typealias Input = ExportInput
  typealias Output = ExportBody
  static let name = "export.get"
  static let method = Method.get
  static let path = "/v1/users/me/exports/{exportId}"

  static func perform(_ input: ExportInput, _ call: RequestContext) async throws(Problem) -> Outcome<ExportBody> {
    let exports = try await call.accounts.exports(of: try call.user().user.id)
    guard let task = exports.first(where: { String($0.id) == input.exportId }) else {
      throw Problem(.missing, "export-unknown", "There is no such export.", field: "exportId")
    }
    return .ok(try await CreateExport.body(task, call))
  }
}
