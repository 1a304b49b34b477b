import Administration
import ArgumentParser

struct FederationClose: AdminCommand {
  typealias Operation = CloseFederation
  static let configuration = CommandConfiguration(
    commandName: "close",
    abstract: "Closes the streams with a remote domain; messages that wait for it are kept.",
    discussion: """
      Example:
        parley federation close example.net
      """)

  @Argument(help: "The remote domain.") var domain: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ closed: Operation.Output) -> String { "Closed \(closed.count) streams." }
}

struct FederationRetry: AdminCommand {
  typealias Operation = RetryFederation
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Tries to reach a remote domain at once, without waiting for the next attempt.",
    discussion: """
      Example:
        parley federation retry example.net
      """)

  @Argument(help: "The remote domain.") var domain: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ tried: Operation.Output) -> String { "Trying \(tried.count) links." }
}
