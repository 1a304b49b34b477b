import Administration
import ArgumentParser
import ParleyServer

struct InviteList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists invitations that nobody has used yet.",
    discussion: """
      Examples:
        parley invite list
        parley invite list --domain example.org --json
      """)

  @Option(name: .long, help: "Those of this domain; else of the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let invites = try await administration.call(ListInvites.self, ListInvites.Input(domain: domain))
      var table = TextTable("Invitation", "For", "Name", "By", "Created", "Expires")
      for invite in invites {
        table.add([
          String(invite.id), invite.kind, invite.name ?? "", invite.inviter ?? "", invite.createdAt, invite.expires,
        ])
      }
      try output.print(invites, invites.isEmpty ? "There are no invitations." : String(table.text().dropLast()))
    }
  }
}
