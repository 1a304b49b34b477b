import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's exports, the newest first.
enum ListExports: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<ExportBody>
  static let name = "export.list"
  static let method = Method.get
  static let path = "/v1/users/me/exports"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    var items: [ExportBody] = []
    for task in try await call.accounts.exports(of: try call.user().user.id) {
      items.append(try await CreateExport.body(task, call))
    }
    return .ok(PageBody(items: items))
  }
}
