import ArgumentParser

struct Invite: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Invitations: links by which an account can be created, once, within a week.",
    discussion: """
      Examples:
        parley invite create
        parley invite create nina --contact alice
        parley invite list
        parley invite revoke 7
      """,
    subcommands: [InviteCreate.self, InviteList.self, InviteRevoke.self])
}
