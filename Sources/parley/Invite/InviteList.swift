import Administration
import ArgumentParser

struct InviteList: ListCommand {
  typealias Operation = ListInvites
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists invitations that nobody has used yet.",
    discussion: """
      Examples:
        parley invite list
        parley invite list --domain example.org --json
      """)

  @Option(name: .long, help: "Only those of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no invitations."
  static let table = TextTable("Invitation", "For", "Name", "By", "Created", "Expires")

  func input(in context: CommandContext, after cursor: Never?) -> Operation.Input { .init(domain: domain) }

  func cells(_ invite: ListInvites.Row) -> [String] {
    [String(invite.id), invite.kind, invite.name ?? "", invite.inviter ?? "", invite.createdAt, invite.expires]
  }
}
