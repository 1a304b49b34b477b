import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct UserEmail: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "email",
    abstract: "Gives a user a mail address to sign in and reset the password by.",
    discussion: """
      You vouch for it: nothing is sent to it. It takes the place of the one before.

      Examples:
        parley user email bob@localhost bob@example.com
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The mail address.") var email: String?
  @Flag(name: .long, help: "Takes it away.") var remove = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func validate() throws { try UserAddress.check(email, remove) }

  func run() async throws { try await UserAddress.set(.email, jid, email, options, output) }
}

struct UserPhone: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "phone",
    abstract: "Gives a user a telephone number to sign in and reset the password by.",
    discussion: """
      You vouch for it: nothing is sent to it. It takes the place of the one before.

      Examples:
        parley user phone bob@localhost +390458000000
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The number, with a plus and the country's code.") var phone: String?
  @Flag(name: .long, help: "Takes it away.") var remove = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func validate() throws { try UserAddress.check(phone, remove) }

  func run() async throws { try await UserAddress.set(.phone, jid, phone, options, output) }
}

/// The common part of both commands.
enum UserAddress {
  static func check(_ address: String?, _ remove: Bool) throws {
    if (address == nil) != remove { throw ValidationError("Either an address or --remove is needed.") }
  }

  static func set(
    _ kind: SetAddress.Input.Kind, _ jid: String, _ address: String?, _ options: ConfigurationOptions,
    _ output: OutputOptions
  ) async throws {
    try await options.withAdministration { administration, settings in
      let set = try await administration.call(
        SetAddress.self, SetAddress.Input(jid: options.address(jid, settings), kind: kind, address: address))
      try output.print(set, set.address.map { "\(set.user.jid) has \($0)." } ?? "\(set.user.jid) has none any more.")
    }
  }
}
