import Administration
import ArgumentParser
import ParleyServer

struct DialogMembers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "members",
    abstract: "Lists a dialog's members, or those with one role.",
    discussion: """
      Examples:
        parley dialog members team@conference.localhost
        parley dialog members team --role banned
        parley dialog members team --json
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Option(name: .long, help: "Only those with this role; banned people are listed with theirs only.")
  var role: DialogRole?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      var members: [DialogMemberRow] = []
      var after: Int64?
      repeat {
        let page = try await administration.call(
          ListDialogMembers.self, ListDialogMembers.Input(dialog: dialog, role: role, after: after, limit: 500))
        members += page.items
        after = page.nextCursor
      } while after != nil
      var table = TextTable("Member", "Role", "Called", "Since")
      for member in members { table.add([member.jid, member.role, member.nick ?? "", member.since ?? ""]) }
      try output.print(members, members.isEmpty ? "There is nobody." : String(table.text().dropLast()))
    }
  }
}
