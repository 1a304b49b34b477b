import Accounts
import Dialogs
import HTTPPort

/// Begins an archive of all of the caller's data, or returns the one in progress.
enum CreateExport: ServedOperation {
  typealias Input = NoInput
  typealias Output = ExportBody
  static let name = "export.create"
  static let method = Method.post
  static let path = "/v1/users/me/exports"
  static let successes = [202]

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<ExportBody> {
    let task = try await call.accounts.beginExport(of: try call.user().user)
    call.accounts.finishInBackground(task)
    return Outcome(status: 202, output: try await body(task, call))
  }

  static func body(_ task: AccountTask, _ call: RequestContext) async throws(Problem) -> ExportBody {
    let place = try await call.accounts.exportURL(task)
    let status =
      switch task.state {
      case .pending: "pending"
      case .done, .incomplete: "done"
      case .failed: "failed"
      }
    return ExportBody(
      id: String(task.id), status: status, createdAt: task.createdAt,
      finishedAt: task.finishedAt, url: place?.url,
      expiresAt: place?.expires,
      size: task.size, incomplete: task.state == .incomplete ? true : nil)
  }
}
