import ArgumentParser

struct FederationCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "federation",
    abstract: "Federation: other servers whose users talk with users of this one.",
    discussion: """
      Examples:
        parley federation list
        parley federation show example.net
        parley federation deny '*.spam.example' --note "a wave of strangers"
      """,
    subcommands: [
      FederationList.self, FederationShow.self, FederationTest.self, FederationAllow.self, FederationDeny.self,
      FederationForget.self, FederationRules.self, FederationClose.self, FederationRetry.self, FederationQueue.self,
    ])
}
