import Administration
import ArgumentParser
import Basics

struct FederationAllow: AdminCommand {
  typealias Operation = SetFederationRule
  static let configuration = CommandConfiguration(
    commandName: "allow",
    abstract: "Admits a remote domain, regardless of the configuration's lists.",
    discussion: """
      Examples:
        parley federation allow example.net
        parley federation allow '*.example.net' --note "our partner"
      """)

  @Argument(help: "The domain, or *.example.net for all its subdomains.") var domain: String
  @Option(name: .long, help: "A note for other operators.") var note: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, isAllowed: true, note: note) }

  func text(_ rule: FederationRuleRow) -> String { "\(rule.domain) is admitted." }
}

struct FederationDeny: AdminCommand {
  typealias Operation = SetFederationRule
  static let configuration = CommandConfiguration(
    commandName: "deny",
    abstract: "Refuses a remote domain: its streams are closed, and waiting messages are returned.",
    discussion: """
      Messages from it that have arrived are kept.

      Examples:
        parley federation deny spam.example
        parley federation deny '*.spam.example' --note "a wave of strangers"
      """)

  @Argument(help: "The domain, or *.example.net for all its subdomains.") var domain: String
  @Option(name: .long, help: "A note for other operators.") var note: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, isAllowed: false, note: note) }

  func text(_ rule: FederationRuleRow) -> String { "\(rule.domain) is refused." }
}

struct FederationForget: AdminCommand {
  typealias Operation = RemoveFederationRule
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Removes a rule of allow or deny, so that the configuration's lists decide again.",
    discussion: """
      Example:
        parley federation forget rule.example
      """)

  @Argument(help: "The rule's domain, as parley federation rules shows it.") var domain: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain) }

  func text(_ output: Operation.Output) -> String { "There is no rule for \(domain) any more." }
}

struct FederationRules: ListCommand {
  typealias Operation = ListFederationRules
  static let configuration = CommandConfiguration(
    commandName: "rules",
    abstract: "Lists the rules of allow and deny.",
    discussion: """
      Examples:
        parley federation rules
        parley federation rules --json
      """)

  @OptionGroup var options: CommandOptions

  static let none = "There are no rules."
  static let table = TextTable("Domain", "Rule", "Since", "Note")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { Empty() }

  func cells(_ rule: FederationRuleRow) -> [String] {
    [rule.domain, rule.isAllowed ? "allow" : "deny", rule.changedAt.description, rule.note ?? ""]
  }
}
