/// A fatal error of a command: the text for the operator and the exit status.
public struct StartupError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The exit status; 0 is success.
  public enum Status: Int32, Sendable {
    /// The command was valid and failed.
    case failure = 1
    /// The command line or the configuration is invalid.
    case usage = 2
  }

  /// A line per error; nearly always one.
  public let lines: [String]
  public let status: Status

  public init(_ line: String, _ status: Status = .failure) {
    self.lines = [line]
    self.status = status
  }

  public init(lines: [String], _ status: Status) {
    self.lines = lines
    self.status = status
  }

  /// Creates the error from all errors of the configuration.
  public init(_ errors: [ConfigurationError]) {
    self.lines = errors.map(\.description)
    self.status = .usage
  }

  public var description: String { lines.joined(separator: "\n") }
}
