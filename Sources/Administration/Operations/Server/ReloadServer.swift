package import Dialogs
import HTTPPort

/// Makes the running server read its configuration and certificates again, as SIGHUP does. A configuration with an
/// error changes nothing, and is refused with the file, line and key.
package enum ReloadServer: AdminOperation {
  package static let name = "server.reload"
  package static let routes = [AdminRoute(.post, "/reloads", .server)]
  package static let needsServer = true

  /// A key whose value has changed.
  package struct Change: Codable, Hashable, Sendable {
    package enum Effect: String, Codable, Sendable {
      case now
      /// The former value is in effect until the next start.
      case restart
    }
    package let key: String
    package let effect: Effect

    package init(key: String, effect: Effect) {
      self.key = key
      self.effect = effect
    }
  }

  package typealias Input = Empty

  package struct Output: Codable, Hashable, Sendable {
    /// The path of the file that was read; nil for none, and for a caller over HTTP.
    package let file: String?
    package let changes: [Change]

    package init(file: String?, changes: [Change]) {
      self.file = file
      self.changes = changes
    }
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let done = try context.running().reload()
    return context.isOperator ? done : Output(file: nil, changes: done.changes)
  }
}
