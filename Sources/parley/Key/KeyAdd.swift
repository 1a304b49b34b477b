import Administration
import ArgumentParser

struct KeyAdd: AdminCommand {
  typealias Operation = AddKey
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Creates a key and prints its secret. It is shown only once.",
    discussion: """
      Scopes: users:read, users:write, sessions:write (log users in), dialogs:read, dialogs:write, messages:read, \
      messages:write, messages:moderate, reports, announcements, notifications, webhooks, audit, holds, federation:read, federation:write, \
      server, keys (create keys that have no further scopes); * is all but keys.

      Examples:
        parley key add backend --scope users:read --scope users:write
        parley key add everything --scope '*' --json
      """)

  @Argument(help: "The key's name.") var name: String
  @Option(name: .long, help: "A scope of the key; may be given several times.") var scope: [String]
  @Option(name: .long, help: "The domain that it is valid for (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(domain: domain, name: name, scopes: scope) }

  func text(_ made: Operation.Output) -> String {
    "\(made.secret)\nKey \(made.key.id), may \(made.key.scopes.joined(separator: ", "))."
  }
}
