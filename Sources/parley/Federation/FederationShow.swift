import Administration
import ArgumentParser
import Basics

struct FederationShow: AdminCommand {
  typealias Operation = ShowFederation
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a remote domain: its rules, its links, and why the last stream failed.",
    discussion: """
      Examples:
        parley federation show example.net
        parley federation show example.net --json
      """)

  @Argument(help: "The remote domain.") var domain: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ shown: Operation.Output) -> String { shown.lines.map { Line.safe($0) }.joined(separator: "\n") }
}
