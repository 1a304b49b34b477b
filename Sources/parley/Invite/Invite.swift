import ArgumentParser

struct Invite: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Invitations: links that make an account, once, within a week.",
    discussion: """
      Examples:
        parley invite create
        parley invite create nina --contact alice
        parley invite list
        parley invite revoke 7
      """,
    subcommands: [InviteCreate.self, InviteList.self, InviteRevoke.self])
}
