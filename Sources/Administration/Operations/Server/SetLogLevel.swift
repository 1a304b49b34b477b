import Basics
package import Dialogs
import HTTPPort
import Logging

/// Changes the level of the running server's log, until the next start or reload.
package enum SetLogLevel: AdminOperation {
  package static let name = "log.setLevel"
  package static let routes = [AdminRoute(.put, "/log-level", .server)]
  package static let needsServer = true

  package struct Input: Codable, Sendable {
    let level: String
    package init(level: String) { self.level = level }
  }

  package typealias Output = ShowLogLevel.Output

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    guard let level = Logger.Level(rawValue: input.level.lowercased()) else {
      let all = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(
        .malformed, "level-unknown", "There is no level \(Line.safe(input.level)). Levels are \(all).", field: "level")
    }
    let server = try context.running()
    server.logLevel = level
    return Output(server)
  }
}
