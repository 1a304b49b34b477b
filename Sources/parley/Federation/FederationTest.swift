import Administration
import ArgumentParser
import Basics

struct FederationTest: AdminCommand {
  typealias Operation = TestFederation
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Tests a remote domain step by step: DNS, connections, TLS, certificate, authentication, ping.",
    discussion: """
      Exit status 1: a step has failed.

      Examples:
        parley federation test example.net
        parley federation test example.net --from example.org --json
      """)

  @Argument(help: "The remote domain.") var domain: String
  @Option(name: .long, help: "The local domain that connects (default: the first).") var from: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, from: from) }

  func text(_ test: Operation.Output) -> String { test.lines.map { Line.safe($0) }.joined(separator: "\n") }

  func hasSucceeded(_ test: Operation.Output) -> Bool { test.hasPassed }
}
