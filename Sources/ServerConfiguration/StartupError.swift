/// Why a command cannot go on: what to tell the operator, and the exit status.
public struct StartupError: Error, Hashable, Sendable, CustomStringConvertible {
  /// 0 is success.
  public enum Status: Int32, Sendable {
    /// The command was right and did not work out.
    case failure = 1
    /// The command line or the configuration is wrong.
    case usage = 2
  }

  /// One line for each thing that is wrong; nearly always one.
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

  /// Everything that is wrong with the configuration.
  public init(_ mistakes: [ConfigurationError]) {
    self.lines = mistakes.map(\.description)
    self.status = .usage
  }

  public var description: String { lines.joined(separator: "\n") }
}
