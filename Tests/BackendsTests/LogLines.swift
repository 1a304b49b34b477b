import Logging
import Synchronization

/// What was logged: the level, the message, and the host and the reason of each line.
final class LogLines: Sendable {
  private let list = Mutex<[String]>([])
  var all: [String] { list.withLock { $0 } }
  var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      var parts = [event.level.rawValue, "\(event.message)"]
      for key in ["host", "reason"] {
        if let value = event.metadata?[key] { parts.append("\(value)") }
      }
      let line = parts.joined(separator: " | ")
      lines.list.withLock { $0.append(line) }
    }
  }
}
