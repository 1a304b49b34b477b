import Administration
import ArgumentParser

/// A command that performs one operation and prints its output.
protocol AdminCommand: AsyncParsableCommand {
  associatedtype Operation: AdminOperation
  var options: CommandOptions { get }
  func input(in context: CommandContext) -> Operation.Input
  /// Returns the output for people; with `--json` the output itself is printed.
  func text(_ output: Operation.Output) -> String
  /// Whether the exit status is 0; otherwise it is 1.
  func hasSucceeded(_ output: Operation.Output) -> Bool
}

extension AdminCommand {
  func hasSucceeded(_ output: Operation.Output) -> Bool { true }

  func run() async throws { try await perform() }

  func perform() async throws {
    try await options.withData { context in
      let output = try await context.call(Operation.self, input(in: context))
      try options.output.print(output, text(output))
      if !hasSucceeded(output) { throw ExitCode(1) }
    }
  }
}
