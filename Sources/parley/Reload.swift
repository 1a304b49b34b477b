import Administration
import ArgumentParser

struct Reload: AdminCommand {
  typealias Operation = ReloadServer
  static let configuration = CommandConfiguration(
    abstract: "Makes the running server read its configuration and certificates again.",
    discussion: """
      It reads the file, the environment and the options that it was started with, as on SIGHUP, and reports which keys have \
      changed, and whether each takes effect now or after a restart. If the configuration has an error, nothing changes: the \
      error is printed with its file, line and key, and the exit status is not 0.

      Examples:
        parley reload
        parley reload --json
      """)

  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { Empty() }

  func text(_ output: Operation.Output) -> String {
    let read = output.file.map { "Read \($0) again." } ?? "Read the configuration again."
    let changes = output.changes.map {
      $0.effect == .now ? "\($0.key) has changed." : "\($0.key) has changed: restart the server to apply it."
    }
    return ([read] + (changes.isEmpty ? ["Nothing has changed."] : changes)).joined(separator: "\n")
  }
}
