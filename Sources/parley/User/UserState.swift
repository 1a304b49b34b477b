import Administration
import ArgumentParser

struct UserDisable: AdminCommand {
  typealias Operation = SetUserState
  static let configuration = CommandConfiguration(
    commandName: "disable",
    abstract: "Disables an account; nothing is deleted.",
    discussion: """
      Example:
        parley user disable alice@localhost
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), state: .disabled) }

  func text(_ user: UserRow) -> String { "Disabled \(user.jid)." }
}

struct UserEnable: AdminCommand {
  typealias Operation = SetUserState
  static let configuration = CommandConfiguration(
    commandName: "enable",
    abstract: "Enables a disabled account.",
    discussion: """
      Example:
        parley user enable alice@localhost
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), state: .active) }

  func text(_ user: UserRow) -> String { "Enabled \(user.jid)." }
}

struct UserDelete: AdminCommand {
  typealias Operation = SetUserState
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes an account permanently. Its name is never used again.",
    discussion: """
      What the user wrote stays with those they wrote to; with --erase it is taken back, wherever it was said, and their files \
      go. On a terminal the command asks for confirmation; otherwise --yes is required. A server that is stopped meanwhile continues when it \
      starts again.

      Examples:
        parley user delete alice@localhost
        parley user delete alice@localhost --erase --yes
      """)

  @Argument(help: "The user's address.") var jid: String
  @Flag(name: .long, help: "Also retracts all of the user's messages.") var erase = false
  @Flag(name: .long, help: "Does not ask for confirmation.") var yes = false
  @OptionGroup var options: CommandOptions

  func run() async throws {
    if !yes { try Terminal.confirm(erase ? "Delete \(jid) and all their messages?" : "Delete \(jid) permanently?") }
    guard erase else { return try await perform() }
    try await options.withData { context in
      let gone = try await context.call(
        DeleteUser.self, DeleteUser.Input(jid: context.address(jid), erase: true))
      try options.output.print(gone, "Erased \(gone.jid).")
    }
  }

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), state: .deleted) }

  func text(_ user: UserRow) -> String { "Deleted \(user.jid)." }
}
