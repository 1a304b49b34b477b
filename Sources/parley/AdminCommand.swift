import Administration
import ArgumentParser

/// A command that performs one operation and prints its output.
protocol AdminCommand: AsyncParsableCommand {
  associatedtype Operation: AdminOperation
  /// Whether a missing data folder is created; otherwise it is an error.
  static var createsData: Bool { get }
  var options: CommandOptions { get }
  func input(in context: CommandContext) -> Operation.Input
  /// Returns the output for people; with `--json` the output itself is printed.
  func text(_ output: Operation.Output) -> String
  /// Whether the exit status is 0; otherwise it is 1.
  func hasSucceeded(_ output: Operation.Output) -> Bool
}

extension AdminCommand {
  static var createsData: Bool { false }

  func hasSucceeded(_ output: Operation.Output) -> Bool { true }

  func run() async throws { try await perform() }

  func perform() async throws {
    try await options.withData(creating: Self.createsData) { context in
      let output = try await context.call(Operation.self, input(in: context))
      try options.output.print(output, text(output))
      if !hasSucceeded(output) { throw ExitCode(1) }
    }
  }
}
