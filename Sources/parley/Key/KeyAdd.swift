import Administration
import ArgumentParser
import ParleyServer

struct KeyAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Makes a key and prints its secret. Nobody can be shown it again.",
    discussion: """
      Scopes: users:read, users:write, sessions:write (log users in), dialogs:read, dialogs:write, messages:read, \
      messages:write, messages:moderate, reports, announcements, webhooks, audit; * is all of them.

      Examples:
        parley key add backend --scope users:read --scope users:write
        parley key add everything --scope '*' --json
      """)

  @Argument(help: "What the key is called, for people.") var name: String
  @Option(name: .long, help: "What it may do; may be given several times.") var scope: [String]
  @Option(name: .long, help: "The domain that it reaches; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration(creating: true) { administration, _ in
      let made = try await administration.call(AddKey.self, AddKey.Input(domain: domain, name: name, scopes: scope))
      try output.print(made, "\(made.secret)\nKey \(made.key.id), may \(made.key.scopes.joined(separator: ", ")).")
    }
  }
}
