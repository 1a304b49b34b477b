import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct UserDisable: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disable",
    abstract: "Closes an account to its user for a while; nothing is lost.",
    discussion: """
      Example:
        parley user disable alice@localhost
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await UserState.set(.disabled, of: jid, options, output) { "Disabled \($0)." }
  }
}

struct UserEnable: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enable",
    abstract: "Opens a disabled account again.",
    discussion: """
      Example:
        parley user enable alice@localhost
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await UserState.set(.active, of: jid, options, output) { "Enabled \($0)." }
  }
}

struct UserDelete: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes an account for good. Its name is never given out again.",
    discussion: """
      What the user wrote stays with those they wrote to; with --erase it is taken back, wherever it was said, and their files \
      go. On a terminal you are asked first; elsewhere --yes is needed. A server that is stopped meanwhile goes on when it \
      starts again.

      Examples:
        parley user delete alice@localhost
        parley user delete alice@localhost --erase --yes
      """)

  @Argument(help: "The user's address.") var jid: String
  @Flag(name: .long, help: "Takes back all that they said, too.") var erase = false
  @Flag(name: .long, help: "Does not ask.") var yes = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    if !yes { try Terminal.confirm(erase ? "Erase \(jid) and all they said?" : "Delete \(jid) for good?") }
    guard erase else { return try await UserState.set(.deleted, of: jid, options, output) { "Deleted \($0)." } }
    try await options.withAdministration { administration, settings in
      let gone = try await administration.call(
        DeleteUser.self, DeleteUser.Input(jid: options.address(jid, settings), erase: true))
      try output.print(gone, "Erased \(gone.jid).")
    }
  }
}

/// The common part of the three commands.
enum UserState {
  static func set(
    _ state: SetUserState.Input.State, of jid: String, _ options: ConfigurationOptions, _ output: OutputOptions,
    _ text: (String) -> String
  ) async throws {
    try await options.withAdministration { administration, settings in
      let user = try await administration.call(
        SetUserState.self, SetUserState.Input(jid: options.address(jid, settings), state: state))
      try output.print(user, text(user.jid))
    }
  }
}
