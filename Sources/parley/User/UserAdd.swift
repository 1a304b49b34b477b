import Administration
import ArgumentParser

struct UserAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds a user.",
    discussion: """
      The password is typed, read from standard input, or generated. It must have at least 8 characters, as in apps.

      Examples:
        parley user add alice@localhost
        parley user add alice@localhost --password-stdin < secret.txt
        parley user add alice@localhost --name "Alice Liddell" --generate
      """)

  @Argument(help: "The user's address.") var jid: String
  @Option(name: .long, help: "The name that others see.") var name: String?
  @OptionGroup var password: PasswordOptions
  @OptionGroup var options: CommandOptions

  private struct Added: Encodable {
    let user: UserRow
    let password: String?
  }

  func run() async throws {
    let secret = try password.password(for: jid)
    try await options.withData { context in
      let user = try await context.call(
        AddUser.self, AddUser.Input(jid: context.address(jid), password: secret.text, name: name))
      try options.output.print(
        Added(user: user, password: secret.isGenerated ? secret.text : nil),
        "Added \(user.jid)." + (secret.isGenerated ? "\nPassword: \(secret.text)" : ""))
    }
  }
}
