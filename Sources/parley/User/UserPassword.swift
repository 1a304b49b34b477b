import Administration
import ArgumentParser

struct UserPassword: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Changes a user's password, and ends their sessions and logins.",
    discussion: """
      Examples:
        parley user password alice@localhost
        parley user password alice@localhost --password-stdin < secret.txt
        parley user password alice@localhost --generate
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var password: PasswordOptions
  @OptionGroup var options: CommandOptions

  private struct Changed: Encodable {
    let user: UserRow
    let password: String?
  }

  func run() async throws {
    let secret = try password.password(for: jid)
    try await options.withData { context in
      let user = try await context.call(
        SetPassword.self, SetPassword.Input(jid: context.address(jid), password: secret.text))
      try options.output.print(
        Changed(user: user, password: secret.isGenerated ? secret.text : nil),
        "Changed the password of \(user.jid)." + (secret.isGenerated ? "\nPassword: \(secret.text)" : ""))
    }
  }
}
