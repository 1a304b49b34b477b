import Administration
import ArgumentParser

struct KeyRevoke: AdminCommand {
  typealias Operation = RevokeKey
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revokes a key: calls with it are refused from now on.",
    discussion: """
      Example:
        parley key revoke 4711
      """)

  @Argument(help: "The key's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The key's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, id: id) }

  func text(_ output: Operation.Output) -> String { "Revoked key \(id)." }
}
