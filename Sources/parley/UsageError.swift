import ArgumentParser
import ServerConfiguration

/// Errors of usage, which the argument parser reports on several lines.
enum UsageError {
  /// Returns an error on one line: what is wrong, the subcommand that is nearest to an unknown one, and the command that
  /// prints help.
  ///
  /// - Parameters:
  ///   - message: The parser's message.
  ///   - details: The same with usage, whose last line names the option for help: `See 'parley user --help' for ...`.
  ///   - root: The command that was parsed.
  static func line(_ message: String, details: String, of root: any ParsableCommand.Type) -> String {
    var line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    let pointer = details.split(whereSeparator: \.isNewline).last { $0.hasPrefix("  See '") }
    guard let help = pointer?.split(separator: "'").dropFirst().first else { return line }
    if message.contains("nexpected argument"), let wrong = message.split(separator: "'").dropFirst().first,
      let near = Nearest.name(to: String(wrong), among: subcommands(of: root, at: help))
    {
      // The others are those of the subcommand.
      line = "Unexpected argument '\(wrong)'; did you mean \(near)?"
    } else if !line.hasSuffix("."), !line.hasSuffix("?") {
      line += "."
    }
    return "\(line) See \(help)."
  }

  /// Returns the subcommands of a command, which is given as in `parley user --help`.
  private static func subcommands(of root: any ParsableCommand.Type, at help: Substring) -> [String] {
    var command = root
    for name in help.split(separator: " ").dropFirst() {
      guard let next = command.configuration.subcommands.first(where: { $0._commandName == String(name) })
      else { break }
      command = next
    }
    return command.configuration.subcommands.map { $0._commandName }
  }
}
