import Administration
import ArgumentParser

struct DialogMembers: ListCommand {
  typealias Operation = ListDialogMembers
  static let configuration = CommandConfiguration(
    commandName: "members",
    abstract: "Lists a dialog's members, or those with one role.",
    discussion: """
      The column Called has the nick in the dialog. Where members do not see addresses, a member with neither a name nor a \
      nick is called Guest with a number, even if they are no guest: the column Member shows who it is.

      Examples:
        parley dialog members team@conference.localhost
        parley dialog members team --role banned
        parley dialog members team --json
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Option(name: .long, help: "Only those with this role; banned people are listed with theirs only.")
  var role: DialogRole?
  @OptionGroup var options: CommandOptions

  static let none = "There are no such members."
  static let table = TextTable("Member", "Role", "Called", "Since")

  func input(in context: CommandContext, after cursor: Int64?) -> Operation.Input {
    .init(dialog: dialog, role: role, after: cursor, limit: 500)
  }

  func cells(_ member: DialogMemberRow) -> [String] {
    [member.jid, member.role, member.nick ?? "", member.since ?? ""]
  }
}
