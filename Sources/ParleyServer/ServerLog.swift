import Basics
public import Logging
import Synchronization

/// The server's log: lines on standard error, with a level that a reload can change.
public final class ServerLog: Sendable {
  private let minimum: Mutex<Logger.Level>
  private let file: Int32

  /// Creates a log on a file descriptor; 2 is standard error.
  public init(level: Logger.Level, file: Int32 = 2) {
    self.minimum = Mutex(level)
    self.file = file
  }

  public var level: Logger.Level {
    get { minimum.withLock { $0 } }
    set { minimum.withLock { $0 = newValue } }
  }

  /// Returns a logger that also drops messages below `least`, for verbose libraries.
  public func logger(_ label: String, least: Logger.Level = .trace) -> Logger {
    Logger(label: label, factory: { Handler(log: self, label: $0, least: least) })
  }

  /// Writes a line such as `2026-01-31T12:00:00.000Z info parley: the message key=value`.
  func write(_ level: Logger.Level, _ label: String, _ text: String, _ metadata: Logger.Metadata) {
    var line = "\(SystemClock.now.description) \(level.rawValue) \(label): \(Line.safe(text))"
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      let text = Line.safe("\(value)")
      line += text.contains(" ") ? " \(key)=\"\(text)\"" : " \(key)=\(text)"
    }
    line += "\n"
    // One write per line prevents interleaving of threads. Failures are ignored.
    _ = Files.writeAll(Array(line.utf8), to: file)
  }

  private struct Handler: LogHandler {
    let log: ServerLog
    let label: String
    var metadata: Logger.Metadata = [:]
    /// The logger's own level, if one was set.
    var own: Logger.Level?
    let least: Logger.Level

    init(log: ServerLog, label: String, least: Logger.Level) {
      self.log = log
      self.label = label
      self.least = least
    }

    var logLevel: Logger.Level {
      get { own ?? max(least, log.level) }
      set { own = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      var all = metadata
      if let more = event.metadata { all.merge(more) { _, new in new } }
      log.write(event.level, label, "\(event.message)", all)
    }
  }
}
