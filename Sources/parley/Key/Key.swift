import ArgumentParser

struct KeyCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "App keys, with which backends call /v1/admin.",
    discussion: """
      Examples:
        parley key add backend --scope users:read --scope users:write
        parley key list
        parley key revoke 4711
      """,
    subcommands: [KeyAdd.self, KeyList.self, KeyRevoke.self])
}
