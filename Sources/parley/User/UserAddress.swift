import Administration
import ArgumentParser

struct UserEmail: AdminCommand {
  typealias Operation = SetAddress
  static let configuration = CommandConfiguration(
    commandName: "email",
    abstract: "Sets a user's mail address, for sign-in and password reset.",
    discussion: """
      It replaces the former one. It is not verified: nothing is sent to it.

      Examples:
        parley user email bob@localhost bob@example.com
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The mail address.") var email: String?
  @Flag(name: .long, help: "Removes it instead.") var remove = false
  @OptionGroup var options: CommandOptions

  func validate() throws { try UserAddress.check(email, remove) }

  func input(in context: CommandContext) -> Operation.Input {
    .init(jid: context.address(jid), kind: .email, address: email)
  }

  func text(_ set: Operation.Output) -> String { UserAddress.text(set) }
}

struct UserPhone: AdminCommand {
  typealias Operation = SetAddress
  static let configuration = CommandConfiguration(
    commandName: "phone",
    abstract: "Sets a user's telephone number, for sign-in and password reset.",
    discussion: """
      It replaces the former one. It is not verified: nothing is sent to it.

      Examples:
        parley user phone bob@localhost +390458000000
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The number, with a plus and the country's code.") var phone: String?
  @Flag(name: .long, help: "Removes it instead.") var remove = false
  @OptionGroup var options: CommandOptions

  func validate() throws { try UserAddress.check(phone, remove) }

  func input(in context: CommandContext) -> Operation.Input {
    .init(jid: context.address(jid), kind: .phone, address: phone)
  }

  func text(_ set: Operation.Output) -> String { UserAddress.text(set) }
}

/// The common part of both commands.
enum UserAddress {
  static func check(_ address: String?, _ remove: Bool) throws {
    if (address == nil) != remove { throw ValidationError("Give either an address or --remove.") }
  }

  static func text(_ set: SetAddress.Output) -> String {
    set.address.map { "\(set.user.jid) has \($0)." } ?? "\(set.user.jid) has none any more."
  }
}
