import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct UserAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds a user.",
    discussion: """
      The password is asked for, read from standard input, or made.

      Examples:
        parley user add alice@localhost
        parley user add alice@localhost --password-stdin < secret.txt
        parley user add alice@localhost --name "Alice Liddell" --generate
      """)

  @Argument(help: "The user's address.") var jid: String
  @Option(name: .long, help: "The name that others see.") var name: String?
  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  private struct Added: Encodable {
    let user: UserRow
    let password: String?
  }

  func run() async throws {
    let secret = try password.password(for: jid)
    try await options.withAdministration(creating: true) { administration, settings in
      let user = try await administration.call(
        AddUser.self, AddUser.Input(jid: options.address(jid, settings), password: secret.text, name: name))
      try output.print(
        Added(user: user, password: secret.isGenerated ? secret.text : nil),
        "Added \(user.jid)." + (secret.isGenerated ? "\nPassword: \(secret.text)" : ""))
    }
  }
}
