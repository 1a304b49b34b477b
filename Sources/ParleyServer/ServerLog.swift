import Basics
import JSON
public import Logging
public import ServerConfiguration
import Synchronization

/// The server's log: lines on standard error, with a level that a reload can change.
public final class ServerLog: Sendable {
  public typealias Format = Settings.LogFormat

  private let minimum: Mutex<Logger.Level>
  private let format: Format
  private let file: Int32

  /// Creates a log on a file descriptor; 2 is standard error.
  public init(level: Logger.Level, format: Format = .text, file: Int32 = 2) {
    self.minimum = Mutex(level)
    self.format = format
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

  func write(_ level: Logger.Level, _ label: String, _ message: String, _ metadata: Logger.Metadata) {
    let (time, values) = (SystemClock.now.description, metadata.sorted { $0.key < $1.key })
    let line =
      switch format {
      case .text: Self.text(time, level, label, message, values)
      case .json: Self.json(time, level, label, message, values)
      }
    // One write per line prevents interleaving of threads. Failures are ignored.
    _ = Files.writeAll(Array((line + "\n").utf8), to: file)
  }

  /// Returns a line such as `2026-01-31T12:00:00.000Z info parley: the message key=value`.
  private static func text(
    _ time: String, _ level: Logger.Level, _ label: String, _ message: String, _ values: [Logger.Metadata.Element]
  ) -> String {
    var line = "\(time) \(level.rawValue) \(label): \(Line.safe(message))"
    for (key, value) in values {
      let text = Line.safe("\(value)")
      line += text.contains(" ") ? " \(key)=\"\(text)\"" : " \(key)=\(text)"
    }
    return line
  }

  /// Returns the same as an object; the values of its `metadata` are strings.
  private static func json(
    _ time: String, _ level: Logger.Level, _ label: String, _ message: String, _ values: [Logger.Metadata.Element]
  ) -> String {
    JSONValue.object([
      .init("time", .string(time)), .init("level", .string(level.rawValue)), .init("logger", .string(label)),
      .init("message", .string(message)),
      .init("metadata", .object(values.map { .init($0.key, .string("\($0.value)")) })),
    ]).text
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
