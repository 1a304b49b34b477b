package import Dialogs
import HTTPPort
import Logging

/// Shows the level of the running server's log.
package enum ShowLogLevel: AdminOperation {
  package static let name = "log.level"
  package static let routes = [AdminRoute(.get, "/log-level", .server)]
  package static let needsServer = true

  package typealias Input = Empty

  package struct Output: Codable, Hashable, Sendable {
    package let level: String
    /// The level of `log.level`, which the next start or reload sets again.
    package let configured: String

    init(_ server: any RunningServer) {
      level = server.logLevel.rawValue
      configured = server.configuredLogLevel.rawValue
    }
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    Output(try context.running())
  }
}
