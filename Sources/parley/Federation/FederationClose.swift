import Administration
import ArgumentParser

struct FederationClose: AdminCommand {
  typealias Operation = CloseFederation
  static let configuration = CommandConfiguration(
    commandName: "close",
    abstract: "Closes the streams with a domain elsewhere; what waits for it stays.",
    discussion: """
      Example:
        parley federation close example.net
      """)

  @Argument(help: "The domain elsewhere.") var domain: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ closed: Operation.Output) -> String { "Closed \(closed.count) streams." }
}

struct FederationRetry: AdminCommand {
  typealias Operation = RetryFederation
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Tries to reach a domain elsewhere at once, without waiting for the next attempt.",
    discussion: """
      Example:
        parley federation retry example.net
      """)

  @Argument(help: "The domain elsewhere.") var domain: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ tried: Operation.Output) -> String { "Tries \(tried.count) links." }
}
